//===- LowerFused.cpp - Kernels of several ops ----------------------------===//
#include "strata/passes/Lower/StepLowering.h"

using namespace mlir;
using namespace strata;

LogicalResult StepLowering::lowerOp(KernelOp op) {
  switch (op.getKind()) {
  case KernelKind::Rows:
    return lowerRows(op);
  case KernelKind::Products:
    return lowerProducts(op);
  case KernelKind::Heads:
    return lowerHeads(op);
  }
  llvm_unreachable("a kind without lowering");
}

LogicalResult StepLowering::lowerOp(YieldOp op) {
  for (auto [inner, outer] : llvm::zip(op.getValues(), op->getParentOp()->getResults()))
    commands.map(outer, get(inner));
  return success();
}

LogicalResult StepLowering::lowerRows(KernelOp kernel) {
  commands.beginSequence();
  if (failed(lowerBlock(kernel.getBody().front())))
    return failure();
  commands.setSource(kernel);
  commands.endSequence(kernels);
  return success();
}

/// One product of several weights, or one product and the sum that takes it up.
LogicalResult StepLowering::lowerProducts(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  SmallVector<Value> weights, outputs;
  Value input, residual;
  for (auto linear : body.getOps<LinearOp>()) {
    if ((input && input != get(linear.getInput())) || linear.getBias())
      return linear.emitOpError() << "can't be lowered: expected the kernel's products to share an "
                                     "input and have no bias";
    input = get(linear.getInput());
    weights.push_back(get(linear.getWeight()));
  }
  auto sums = llvm::to_vector(body.getOps<arith::AddFOp>());
  if (weights.empty() || sums.size() > 1 || (sums.size() == 1 && weights.size() != 1))
    return kernel.emitOpError()
           << "can't be lowered: expected several products, or one product and one sum";
  for (auto linear : body.getOps<LinearOp>()) {
    Value result = linear.getResult();
    if (!sums.empty()) {
      arith::AddFOp sum = sums.front();
      if (sum.getLhs() != result && sum.getRhs() != result)
        return sum.emitOpError()
               << "can't be lowered: expected the sum of the kernel's product and a residual";
      residual = get(sum.getLhs() == result ? sum.getRhs() : sum.getLhs());
      result = sum.getResult();
    }
    Value output = commands.makeOutput(result);
    commands.map(result, output);
    outputs.push_back(output);
  }
  commands.setSource(kernel);
  commands.product(input, weights, {}, residual, outputs, commands.tokens(), /*transposed=*/false,
                   compute);
  return lower(body.getTerminator());
}
