//===- ReferenceExecutor.h - The meaning of a model, as an executor -*- C++ -*-===//
#ifndef STRATA_LIB_REFERENCE_REFERENCEEXECUTOR_H
#define STRATA_LIB_REFERENCE_REFERENCEEXECUTOR_H

#include "strata/lib/Reference/Interpreter.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace strata::reference {

/// Runs a module of the phase `input` op by op: f32 values, sums in f64. Rows and experts that come
/// in or go out are numbered in the order of the ops `select` and `top_k`, and `route`.
class ReferenceExecutor final : public rt::Executor {
public:
  /// `module`, which is verified, and `checkpoint` outlive the executor. The checkpoint may be null
  /// if the module names no weights.
  static Expected<std::unique_ptr<ReferenceExecutor>>
  create(mlir::ModuleOp module, const Checkpoint *checkpoint, const rt::ExecutorOptions &options);
  /// From MLIR text or bytecode, which is parsed and verified.
  static Expected<std::unique_ptr<ReferenceExecutor>>
  parse(llvm::StringRef bytes, const Checkpoint *checkpoint, const rt::ExecutorOptions &options);

  const rt::ModelDescription &model() const override { return model_; }
  Status step(const rt::StepInput &input, rt::StepOutput &output) override;
  uint64_t memoryBytes() const override { return interpreter_->memoryBytes(); }

  void setObserver(Observer observer) { interpreter_->setObserver(std::move(observer)); }

private:
  ReferenceExecutor() = default;

  std::unique_ptr<mlir::MLIRContext> context_;    ///< of a module that was parsed
  mlir::OwningOpRef<mlir::ModuleOp> ownedModule_; ///< a module that was parsed
  std::unique_ptr<Interpreter> interpreter_;
  rt::ModelDescription model_;
};

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_REFERENCEEXECUTOR_H
