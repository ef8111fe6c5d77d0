//===- ElementwiseKernels.cpp - Rows copied, looked up and combined -------===//
#include "strata/passes/Lower/KernelBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace strata;

static MemRefType getIntegers(MemRefType like) { return getIntegersType(like.getContext()); }

/// output = combine(a, b), element by element.
static SymbolRefAttr buildBinary(ModuleOp kernels, KernelName name, MemRefType a, MemRefType b,
                                 MemRefType output,
                                 llvm::function_ref<Value(KernelBuilder &, Value, Value)> combine) {
  a = getKernelArgumentType(a);
  b = getKernelArgumentType(b);
  output = getKernelArgumentType(output);
  name.view(a).view(b).view(output);
  return getOrBuildKernel(kernels, name, {a, b, output}, [&](KernelBuilder &builder) {
    builder.forEachItem([&](Value item) {
      builder.forEachRow(output, item, [&](ArrayRef<Value> leading) {
        KernelRow left = builder.row(builder.argument(0), leading),
                  right = builder.row(builder.argument(1), leading);
        KernelRow destination = builder.row(builder.argument(2), leading);
        builder.forEachChunk(output.getShape().back(), [&](Value position, int64_t lanes) {
          Value x = builder.load(left, position, lanes), y = builder.load(right, position, lanes);
          builder.store(combine(builder, x, y), destination, position);
        });
      });
    });
  });
}

SymbolRefAttr KernelModule::add(MemRefType a, MemRefType b, MemRefType output) {
  return buildBinary(
      kernels, KernelName("add"), a, b, output,
      [](KernelBuilder &builder, Value x, Value y) { return builder.addFloats(x, y); });
}

SymbolRefAttr KernelModule::multiply(MemRefType a, MemRefType b, MemRefType output) {
  return buildBinary(
      kernels, KernelName("multiply"), a, b, output,
      [](KernelBuilder &builder, Value x, Value y) { return builder.multiplyFloats(x, y); });
}

/// silu(x) = x / (1 + e^−x), the only activation so far.
static Value activate(KernelBuilder &b, Value x) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  Value power = b.exponential(b.multiplyFloats(x, b.splat(-1, lanes)));
  return b.divideFloats(x, b.addFloats(power, b.splat(1, lanes)));
}

SymbolRefAttr KernelModule::gate(Activation activation) {
  auto elements = MemRefType::get({ShapedType::kDynamic}, Float32Type::get(kernels.getContext()));
  KernelName name(stringifyActivation(activation));
  return getOrBuildKernel(kernels, name, {elements, elements, elements}, [&](KernelBuilder &b) {
    constexpr int64_t kLanes = 16;
    KernelRow gate = b.row(b.argument(0), {}), up = b.row(b.argument(1), {}),
              output = b.row(b.argument(2), {});
    auto combine = [&](int64_t lanes) {
      return [&, lanes](Value position) {
        Value activated = activate(b, b.load(gate, position, lanes));
        b.store(b.multiplyFloats(activated, b.load(up, position, lanes)), output, position);
      };
    };
    Value whole = b.multiply(b.quotient(b.subtract(b.end(), b.begin()), kLanes), kLanes);
    Value tail = b.add(b.begin(), whole);
    b.loop(b.begin(), tail, kLanes, combine(kLanes));
    b.loop(tail, b.end(), 1, combine(1));
  });
}

SymbolRefAttr KernelModule::sequence(ArrayRef<Call> calls, int64_t tile) {
  KernelName name("sequence");
  name.integer("tile", tile);
  SmallVector<Type> arguments;
  for (const Call &call : calls) {
    auto kernel = kernels.lookupSymbol<func::FuncOp>(call.kernel.getLeafReference());
    name.word(kernel.getSymName());
    for (auto [index, number] : llvm::enumerate(call.arguments)) {
      name.integer("a", number);
      if (number >= arguments.size())
        arguments.resize(number + 1);
      arguments[number] = kernel.getArgumentTypes()[index];
    }
  }
  return getOrBuildKernel(kernels, name, arguments, [&](KernelBuilder &b) {
    b.loop(b.begin(), b.end(), tile, [&](Value first) {
      Value last = b.minimum(b.add(first, tile), b.end());
      for (const Call &call : calls) {
        SmallVector<Value> operands;
        for (unsigned number : call.arguments)
          operands.push_back(b.argument(number));
        operands.append({first, last});
        func::CallOp::create(b, call.kernel.getLeafReference(), TypeRange(), operands);
      }
    });
  });
}

SymbolRefAttr KernelModule::copy(MemRefType input, MemRefType output) {
  input = getKernelArgumentType(input);
  output = getKernelArgumentType(output);
  KernelName name("copy");
  name.view(input).view(output);
  return getOrBuildKernel(kernels, name, {input, output}, [&](KernelBuilder &b) {
    b.forEachItem([&](Value item) {
      b.forEachRow(output, item, [&](ArrayRef<Value> leading) {
        b.copy(b.row(b.argument(0), leading), b.row(b.argument(1), leading),
               output.getShape().back());
      });
    });
  });
}

SymbolRefAttr KernelModule::embedding(MemRefType table, MemRefType output) {
  table = getKernelArgumentType(table);
  output = getKernelArgumentType(output);
  KernelName name("embedding");
  name.view(table).view(output);
  return getOrBuildKernel(
      kernels, name, {getIntegers(table), table, output}, [&](KernelBuilder &b) {
        b.forEachItem([&](Value item) {
          KernelRow source = b.row(b.argument(1), {b.loadIndex(b.argument(0), item)});
          KernelRow destination = b.row(b.argument(2), {item});
          b.forEachChunk(output.getShape().back(), [&](Value position, int64_t lanes) {
            b.store(b.load(source, position, lanes), destination, position);
          });
        });
      });
}

SymbolRefAttr KernelModule::gatherRows(MemRefType input, MemRefType output) {
  input = getKernelArgumentType(input);
  output = getKernelArgumentType(output);
  KernelName name("gather_rows");
  name.view(input).view(output);
  return getOrBuildKernel(
      kernels, name, {getIntegers(input), input, output}, [&](KernelBuilder &b) {
        b.forEachItem([&](Value item) {
          KernelRow source = b.row(b.argument(1), {b.loadIndex(b.argument(0), item)});
          b.copy(source, b.row(b.argument(2), {item}), output.getShape().back());
        });
      });
}

SymbolRefAttr KernelModule::combineExperts(MemRefType weights, MemRefType expertRows,
                                           MemRefType output) {
  weights = getKernelArgumentType(weights);
  expertRows = getKernelArgumentType(expertRows);
  output = getKernelArgumentType(output);
  int64_t chosen = weights.getShape().back();
  KernelName name("combine_experts");
  name.view(weights).view(expertRows).view(output);
  SmallVector<Type> arguments{getIntegers(weights), weights, expertRows, output};
  return getOrBuildKernel(kernels, name, arguments, [&](KernelBuilder &b) {
    b.forEachItem([&](Value item) {
      Value firstEntry = b.multiply(item, chosen);
      b.forEachChunk(output.getShape().back(), [&](Value position, int64_t lanes) {
        auto addExpert = [&](Value number, ValueRange sums) {
          Value row = b.loadIndex(b.argument(0), b.add(firstEntry, number));
          Value weight = b.broadcast(b.loadFloat(b.argument(1), {item, number}), lanes);
          Value x = b.load(b.row(b.argument(2), {row}), position, lanes);
          return SmallVector<Value>{b.addFloats(sums[0], b.multiplyFloats(weight, x))};
        };
        Value total = b.loop(b.index(0), b.index(chosen), 1, b.splat(0, lanes), addExpert).front();
        b.store(total, b.row(b.argument(3), {item}), position);
      });
    });
  });
}
