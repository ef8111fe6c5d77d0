//===- Interpreter.h - Walks @step op by op ---------------------*- C++ -*-===//
#ifndef STRATA_LIB_REFERENCE_INTERPRETER_H
#define STRATA_LIB_REFERENCE_INTERPRETER_H

#include "strata/lib/Reference/StepState.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace strata::reference {

/// Runs the function @step of a verified module, whatever it returns, and keeps its caches.
class Interpreter {
public:
  /// `module` and `checkpoint` outlive the interpreter; the checkpoint may be null if the module
  /// names no weights.
  static Expected<std::unique_ptr<Interpreter>>
  create(mlir::ModuleOp module, const Checkpoint *checkpoint, const rt::ExecutorOptions &options);

  /// Runs a step. Gives the tensors among the results, in order. Fills `output` but for the logits.
  /// `activations`: one f32 tensor for each such argument of @step.
  Expected<std::vector<Tensor>> run(const rt::StepInput &input, rt::StepOutput &output,
                                    std::vector<Tensor> activations = {});

  void setObserver(Observer observer) { resources_.observer = std::move(observer); }
  /// Caches, widened weights, and the most that tensors took in a step.
  uint64_t memoryBytes() const;

private:
  Interpreter(mlir::func::FuncOp step, WeightStore weights, const rt::ExecutorOptions &options);

  Status checkInput(const rt::StepInput &input, const rt::StepOutput &output) const;
  Status setActivations(StepState &state, std::vector<Tensor> activations);
  Status runOp(StepState &state, mlir::Operation *op);
  Status runKernel(StepState &state, KernelOp kernel);
  void trace(mlir::Operation *op, std::chrono::steady_clock::time_point begin);

  mlir::func::FuncOp step_;
  rt::ExecutorOptions options_;
  Resources resources_;
  /// Which indexer or router an op is.
  llvm::DenseMap<mlir::Operation *, int64_t> numbers_;
  size_t indexers_ = 0, mixtures_ = 0;
  /// How many of the indexers are arguments with rows.
  size_t importedIndexers_ = 0;
  /// The values that have no use after an op.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> dying_;
  uint64_t peakTensorBytes_ = 0;
};

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_INTERPRETER_H
