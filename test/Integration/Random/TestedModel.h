//===- TestedModel.h - A random model, imported and compiled ----*- C++ -*-===//
#ifndef STRATA_TEST_INTEGRATION_RANDOM_TESTEDMODEL_H
#define STRATA_TEST_INTEGRATION_RANDOM_TESTEDMODEL_H

#include "RandomModel.h"

#include "strata/Pipeline.h"
#include "strata/lib/Reference/ReferenceExecutor.h"
#include "strata/runtime/core/Package.h"

#include "mlir/IR/MLIRContext.h"

#include <optional>

namespace strata::test {

/// A choice that a step makes: the rows of an indexer, or the experts of a router.
struct Choice {
  bool isIndexer;
  size_t number; ///< among indexers or among routers
  int64_t layer;
};

/// Everything that a user's commands would do with a model, in process: checkpoint, import,
/// compilation, package.
class TestedModel {
public:
  /// The checkpoint is written to `folder`, which must stay as long as the model is used, as must
  /// `model`.
  static Expected<std::unique_ptr<TestedModel>> create(const RandomModel &model,
                                                       const std::string &folder);

  /// The same model with each op in a launch of its own.
  Expected<std::unique_ptr<TestedModel>> withoutFusion() const;
  /// The same model with far memory. What is refused is in the error.
  Expected<std::unique_ptr<TestedModel>> withPlacement(const PlacementOptions &placement,
                                                       bool fuse) const;
  /// A schedule that the model was not trained for, in any of the ways to write one; its leaders
  /// own an indexer. Nothing where there is none.
  std::optional<std::string> drawSchedule(RandomNumbers &random) const;
  /// The same model under such a schedule. The reference gets the module after the phase share.
  Expected<std::unique_ptr<TestedModel>> withSchedule(const std::string &schedule) const;

  Expected<std::unique_ptr<reference::ReferenceExecutor>>
  createReference(const rt::ExecutorOptions &options) const;
  Expected<std::unique_ptr<rt::Executor>> createCpu(const rt::ExecutorOptions &options) const;

  const rt::ModelDescription &description() const { return package_->model(); }
  /// All choices in program order.
  const std::vector<Choice> &choices() const { return choices_; }
  /// The routers: what their experts' choice depends on besides the scores.
  struct Router {
    int64_t groups, topGroups;
    bool maximum; ///< a group's score is its best expert's instead of its two best ones'
  };
  const std::vector<Router> &routers() const { return routers_; }

private:
  TestedModel(const RandomModel &model, Checkpoint checkpoint,
              std::shared_ptr<mlir::MLIRContext> context)
      : model_(model), checkpoint_(std::move(checkpoint)), context_(std::move(context)) {}
  /// Passes and package; with another schedule than the declared one the module becomes that of
  /// the phase share.
  Status compile(bool fuse, const std::string &schedule, const PlacementOptions &placement = {});
  Expected<std::unique_ptr<TestedModel>> recompile(bool fuse, const std::string &schedule,
                                                   const PlacementOptions &placement = {}) const;
  void findChoices();

  const RandomModel &model_;
  Checkpoint checkpoint_;
  std::shared_ptr<mlir::MLIRContext> context_;
  mutable mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::string bytes_; ///< of the package
  std::unique_ptr<rt::Package> package_;
  std::vector<Choice> choices_;
  std::vector<Router> routers_;
};

} // namespace strata::test

#endif // STRATA_TEST_INTEGRATION_RANDOM_TESTEDMODEL_H
