//===- ReferenceExecutor.cpp - The meaning of a model, as an executor -----===//
#include "strata/lib/Reference/ReferenceExecutor.h"

#include "strata/lib/Reference/InputModule.h"

using namespace mlir;

namespace strata::reference {

Expected<std::unique_ptr<ReferenceExecutor>>
ReferenceExecutor::create(ModuleOp module, const Checkpoint *checkpoint,
                          const rt::ExecutorOptions &options) {
  Expected<rt::ModelDescription> model = describeModel(module);
  if (!model.ok())
    return model.status();
  Expected<std::unique_ptr<Interpreter>> interpreter =
      Interpreter::create(module, checkpoint, options);
  if (!interpreter.ok())
    return interpreter.status();
  std::unique_ptr<ReferenceExecutor> executor(new ReferenceExecutor());
  executor->model_ = std::move(*model);
  executor->interpreter_ = std::move(*interpreter);
  return executor;
}

Expected<std::unique_ptr<ReferenceExecutor>>
ReferenceExecutor::parse(StringRef bytes, const Checkpoint *checkpoint,
                         const rt::ExecutorOptions &options) {
  auto context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  Expected<OwningOpRef<ModuleOp>> module = parseInputModule(bytes, *context);
  if (!module.ok())
    return module.status();
  Expected<std::unique_ptr<ReferenceExecutor>> executor = create(**module, checkpoint, options);
  if (executor.ok()) {
    (*executor)->context_ = std::move(context);
    (*executor)->ownedModule_ = std::move(*module);
  }
  return executor;
}

Status ReferenceExecutor::step(const rt::StepInput &input, rt::StepOutput &output) {
  for (auto [token, position] : llvm::enumerate(input.positions))
    if (position >= model_.maxPositions)
      return Status(StatusCode::InvalidArgument, "token " + std::to_string(token) +
                                                     ": expected a position below " +
                                                     std::to_string(model_.maxPositions) +
                                                     " but got " + std::to_string(position));
  Expected<std::vector<Tensor>> results = interpreter_->run(input, output);
  if (!results.ok())
    return results.status();
  const Tensor &logits = results->front();
  if (logits.dim(0) != int64_t(input.wanted.size()))
    return Status(StatusCode::InvalidArgument,
                  "expected logits of " + std::to_string(input.wanted.size()) + " tokens but got " +
                      std::to_string(logits.dim(0)));
  if (output.logits)
    llvm::copy(logits.floats, output.logits);
  return Status::success();
}

} // namespace strata::reference
