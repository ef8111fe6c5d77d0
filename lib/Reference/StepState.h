//===- StepState.h - The values of a running step ---------------*- C++ -*-===//
#ifndef STRATA_LIB_REFERENCE_STEPSTATE_H
#define STRATA_LIB_REFERENCE_STEPSTATE_H

#include "strata/lib/Reference/Cache.h"
#include "strata/lib/Reference/Observer.h"
#include "strata/lib/Reference/Tensor.h"
#include "strata/lib/Reference/Weights.h"
#include "strata/lib/Reference/Workers.h"
#include "strata/runtime/core/Executor.h"

#include "llvm/ADT/Twine.h"

#include <memory>
#include <variant>

namespace strata::reference {

/// An error that names the op and where it stands.
Status errorAt(mlir::Operation *op, const llvm::Twine &message,
               StatusCode code = StatusCode::InvalidArgument);

/// What outlives a step.
struct Resources {
  explicit Resources(WeightStore weights, int threads)
      : weights(std::move(weights)), workers(threads) {}

  WeightStore weights;
  std::vector<Cache> caches; ///< one for each cache argument
  Workers workers;
  Observer observer;
};

/// The values of a step that are alive, and what the ops need besides. An op's sizes are checked
/// when it runs: the types leave some open.
class StepState {
public:
  StepState(Resources &resources, const rt::StepInput &input, rt::StepOutput &output)
      : resources(resources), input(input), output(output) {}

  Resources &resources;
  const rt::StepInput &input;
  rt::StepOutput &output;

  int64_t tokens() const { return int64_t(input.tokenIds.size()); }
  /// How many records of its sequence a token sees, its own included.
  int64_t visible(int64_t token) const { return int64_t(input.positions[token]) + 1; }
  /// The mean of `visible` over the tokens.
  double averageVisible() const;

  /// A tensor, or a whole weight. The reference stays valid until the value is dropped.
  const Tensor &tensor(mlir::Value value);
  /// A tensor of rank 2 or 3, or a weight, by rows.
  WeightView rows(mlir::Value value);
  /// A copy of a tensor or weight of rank 1.
  std::vector<float> vector(mlir::Value value);
  int64_t index(mlir::Value value) const { return std::get<int64_t>(values_.at(value)); }
  /// The sizes of a tensor or weight.
  Shape shape(mlir::Value value) const;
  /// The cache that a value stands for; an error if it was appended to since.
  Expected<Cache *> cache(mlir::Operation *user, mlir::Value value);
  /// Like `cache`, for reading: all records that the tokens see must be there.
  Expected<Cache *> filledCache(mlir::Operation *user, mlir::Value value);

  void set(mlir::Value value, Tensor tensor);
  void set(mlir::Value value, int64_t index) { values_[value] = index; }
  void setWeight(mlir::Value value) { values_[value] = WeightUse{}; }
  void setCache(mlir::Value value, int64_t argument) {
    values_[value] = CacheUse{argument, resources.caches[argument].version};
  }
  /// Lets `value` stand for what `other` stands for.
  void setAlias(mlir::Value value, mlir::Value other);
  /// The argument that a cache value came from.
  int64_t cacheArgument(mlir::Value value) const {
    return std::get<CacheUse>(values_.at(value)).argument;
  }
  /// Frees a value that has no further use.
  void drop(mlir::Value value);

  /// The most bytes that tensors took at one time.
  uint64_t peakBytes() const { return peakBytes_; }

  /// An error if a tensor has another shape than expected.
  Status expectShape(mlir::Operation *op, const char *what, mlir::Value value,
                     llvm::ArrayRef<int64_t> expected);

private:
  struct WeightUse {};
  struct CacheUse {
    int64_t argument, version;
  };
  using Entry = std::variant<std::shared_ptr<const Tensor>, int64_t, WeightUse, CacheUse>;

  llvm::DenseMap<mlir::Value, Entry> values_;
  uint64_t bytes_ = 0, peakBytes_ = 0;
};

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_STEPSTATE_H
