//===- NormKernels.cpp - RMS and layer norm -------------------------------===//
#include "strata/passes/Lower/KernelBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace strata;

/// Σ term(position, lanes) over a row of `width` elements.
static Value sumRow(KernelBuilder &b, int64_t width,
                    llvm::function_ref<Value(Value position, int64_t lanes)> term) {
  Value lanesSum = b.reduceChunks(width, b.splat(0, chunkLanes),
                                  [&](Value position, int64_t lanes, ValueRange sums) {
                                    return SmallVector<Value>{
                                        b.addFloats(sums[0], b.widen(term(position, lanes)))};
                                  })
                       .front();
  return b.sum(lanesSum);
}

/// 1 / √(meanSquare + epsilon)
static Value inverseRoot(KernelBuilder &b, Value meanSquare, double epsilon) {
  Value root = math::SqrtOp::create(b, b.addFloats(meanSquare, b.real(epsilon)));
  return b.divideFloats(b.real(1), root);
}

SymbolRefAttr KernelModule::rmsNorm(MemRefType input, bool weighted, double epsilon,
                                    MemRefType output) {
  input = getKernelArgumentType(input);
  output = getKernelArgumentType(output);
  int64_t width = input.getShape().back();
  KernelName name("rms_norm");
  name.view(input).view(output).real("eps", epsilon);
  SmallVector<Type> arguments{input};
  if (weighted) {
    name.word("weighted");
    arguments.push_back(getFloatsType(input.getContext(), width));
  }
  arguments.push_back(output);
  return getOrBuildKernel(kernels, name, arguments, [&](KernelBuilder &b) {
    b.forEachItem([&](Value item) {
      b.forEachRow(input, item, [&](ArrayRef<Value> leading) {
        KernelRow source = b.row(b.argument(0), leading);
        KernelRow destination = b.row(b.argument(weighted ? 2 : 1), leading);
        Value squares = sumRow(b, width, [&](Value position, int64_t lanes) {
          Value x = b.load(source, position, lanes);
          return b.multiplyFloats(x, x);
        });
        Value factor = inverseRoot(b, b.divideFloats(squares, b.real(width)), epsilon);
        b.forEachChunk(width, [&](Value position, int64_t lanes) {
          Value x = b.multiplyFloats(b.load(source, position, lanes), b.broadcast(factor, lanes));
          if (weighted)
            x = b.multiplyFloats(x, b.load(b.row(b.argument(1), {}), position, lanes));
          b.store(x, destination, position);
        });
      });
    });
  });
}

SymbolRefAttr KernelModule::layerNorm(MemRefType input, double epsilon, MemRefType output) {
  input = getKernelArgumentType(input);
  output = getKernelArgumentType(output);
  int64_t width = input.getShape().back();
  MemRefType vector = getFloatsType(input.getContext(), width);
  KernelName name("layer_norm");
  name.view(input).view(output).real("eps", epsilon);
  return getOrBuildKernel(kernels, name, {input, vector, vector, output}, [&](KernelBuilder &b) {
    KernelRow weight = b.row(b.argument(1), {}), bias = b.row(b.argument(2), {});
    b.forEachItem([&](Value item) {
      b.forEachRow(input, item, [&](ArrayRef<Value> leading) {
        KernelRow source = b.row(b.argument(0), leading),
                  destination = b.row(b.argument(3), leading);
        Value total = sumRow(b, width, [&](Value position, int64_t lanes) {
          return b.load(source, position, lanes);
        });
        Value mean = b.divideFloats(total, b.real(width));
        auto difference = [&](Value position, int64_t lanes) {
          return b.subtractFloats(b.load(source, position, lanes), b.broadcast(mean, lanes));
        };
        Value squares = sumRow(b, width, [&](Value position, int64_t lanes) {
          Value x = difference(position, lanes);
          return b.multiplyFloats(x, x);
        });
        Value factor = inverseRoot(b, b.divideFloats(squares, b.real(width)), epsilon);
        b.forEachChunk(width, [&](Value position, int64_t lanes) {
          Value x = b.multiplyFloats(difference(position, lanes), b.broadcast(factor, lanes));
          x = b.multiplyFloats(x, b.load(weight, position, lanes));
          b.store(b.addFloats(x, b.load(bias, position, lanes)), destination, position);
        });
      });
    });
  });
}
