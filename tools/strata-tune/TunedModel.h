//===- TunedModel.h - One checkpoint under many schedules -------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATATUNE_TUNEDMODEL_H
#define STRATA_TOOLS_STRATATUNE_TUNEDMODEL_H

#include "CommandLine.h"
#include "SharingEstimate.h"

#include "strata/lib/Checkpoint/Checkpoint.h"
#include "strata/lib/Import/ImportModel.h"
#include "strata/lib/Support/File.h"
#include "strata/lib/Target/EmitPackage.h"
#include "strata/runtime/core/Score.h"

#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace strata::tune {

/// A checkpoint and a text. The model is imported once, with all indexers that the checkpoint has;
/// each schedule is compiled from that in process and runs on the mapped weights.
class TunedModel {
public:
  /// Reads both and checks that they fit each other.
  static Expected<std::unique_ptr<TunedModel>> open(const CommandLine &commandLine);

  /// The pattern with all indexers: a letter for each layer that attends to rows, F where the
  /// checkpoint has an indexer, S elsewhere.
  const std::string &declared() const { return declared_; }
  int64_t windows() const;
  /// What FLOPs are told for: as asked, or the model's positions.
  int64_t context() const { return context_; }

  /// The mean negative log-likelihood of each of the windows, in nats per byte.
  Expected<std::vector<double>> score(const std::string &pattern,
                                      const std::vector<int64_t> &windows);
  /// All indexers on all windows, and their recall matrix from the first ones.
  Expected<std::vector<double>> scoreDeclared(Matrix &recall);

  /// FLOPs of decoding one token at batch 1 with `context()` tokens of context: products with
  /// weights, keys and values.
  Expected<double> flops(const std::string &pattern);

private:
  struct Loaded;

  explicit TunedModel(CommandLine commandLine);
  Status importAll();
  Status findIndexers();
  /// The module after the phases up to `to`, under a schedule.
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> derive(const std::string &pattern, Phase to);
  Expected<std::string> compile(const std::string &pattern);
  Expected<std::unique_ptr<Loaded>> load(const std::string &pattern, int64_t windows);
  Expected<std::vector<double>> run(Loaded &loaded, const std::vector<int64_t> &windows,
                                    rt::RecallSums *recall);

  CommandLine commandLine_;
  mlir::MLIRContext mlirContext_;
  std::optional<Checkpoint> checkpoint_;
  std::optional<MappedFile> text_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  KernelCache kernels_; ///< schedules differ in what calls them, hardly in what there is
  std::string declared_;
  int64_t context_ = 0;
};

} // namespace strata::tune

#endif // STRATA_TOOLS_STRATATUNE_TUNEDMODEL_H
