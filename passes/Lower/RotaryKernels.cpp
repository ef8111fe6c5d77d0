//===- RotaryKernels.cpp - Rotation by position and Hadamard --------------===//
#include "strata/passes/Lower/KernelBuilder.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace strata;

namespace {
/// Rotates one row: the elements [offset, offset + width) by row `angles` of the table.
struct Rotation {
  KernelBuilder &b;
  KernelRow source, destination, angles;
  RopeLayout layout;
  int64_t offset, width;
  bool inverse;

  int64_t pairs() const { return width / 2; }

  /// The `lanes` cosines (or sines) of the pairs from `pair` on; turning back negates the sines.
  std::pair<Value, Value> loadAngles(Value pair, int64_t lanes) {
    Value cosines = b.load(angles, pair, lanes);
    Value sines = b.load(angles, b.add(pair, pairs()), lanes);
    if (inverse)
      sines = b.multiplyFloats(sines, b.splat(-1, lanes));
    return {cosines, sines};
  }

  void rotateHalves() {
    b.forEachChunk(pairs(), [&](Value pair, int64_t lanes) {
      auto [cosines, sines] = loadAngles(pair, lanes);
      Value first = b.add(pair, offset), second = b.add(pair, offset + pairs());
      Value x = b.load(source, first, lanes), y = b.load(source, second, lanes);
      b.store(b.subtractFloats(b.multiplyFloats(x, cosines), b.multiplyFloats(y, sines)),
              destination, first);
      b.store(b.addFloats(b.multiplyFloats(y, cosines), b.multiplyFloats(x, sines)), destination,
              second);
    });
  }

  void rotateInterleaved() {
    b.forEachChunk(width, [&](Value position, int64_t lanes) {
      Value pair = b.quotient(position, 2);
      auto [cosines, sines] = loadAngles(pair, lanes / 2);
      Value elements = b.load(source, b.add(position, offset), lanes);
      SmallVector<int64_t> even, odd, interleaved;
      for (int64_t i = 0; i < lanes / 2; ++i) {
        even.push_back(2 * i);
        odd.push_back(2 * i + 1);
        interleaved.append({i, i + lanes / 2});
      }
      Value x = b.shuffle(elements, elements, even), y = b.shuffle(elements, elements, odd);
      Value turnedX = b.subtractFloats(b.multiplyFloats(x, cosines), b.multiplyFloats(y, sines));
      Value turnedY = b.addFloats(b.multiplyFloats(y, cosines), b.multiplyFloats(x, sines));
      b.store(b.shuffle(turnedX, turnedY, interleaved), destination, b.add(position, offset));
    });
  }
};
} // namespace

SymbolRefAttr KernelModule::rope(MemRefType input, RopeLayout layout, int64_t offset, int64_t width,
                                 bool inverse, MemRefType output) {
  input = getKernelArgumentType(input);
  output = getKernelArgumentType(output);
  MLIRContext *context = input.getContext();
  KernelName name(inverse ? "rope_inverse" : "rope");
  name.word(stringifyRopeLayout(layout))
      .view(input)
      .view(output)
      .integer("at", offset)
      .integer("width", width);
  auto table = MemRefType::get({ShapedType::kDynamic, width}, Float32Type::get(context));
  return getOrBuildKernel(kernels, name, {input, table, output}, [&](KernelBuilder &b) {
    int64_t features = input.getShape().back();
    b.forEachItem([&](Value item) {
      b.forEachRow(input, item, [&](ArrayRef<Value> leading) {
        KernelRow source = b.row(b.argument(0), leading),
                  destination = b.row(b.argument(2), leading);
        auto behind = [&](KernelRow row, int64_t elements) {
          row.indices.back() = b.index(elements);
          return row;
        };
        b.copy(source, destination, offset);
        Rotation rotation{b,      source, destination, b.row(b.argument(1), {item}),
                          layout, offset, width,       inverse};
        if (layout == RopeLayout::Half)
          rotation.rotateHalves();
        else
          rotation.rotateInterleaved();
        int64_t rotatedEnd = offset + width;
        b.copy(behind(source, rotatedEnd), behind(destination, rotatedEnd), features - rotatedEnd);
      });
    });
  });
}

/// The butterflies of strides below 16 (and below the number of lanes) within one vector.
static Value transformWithinChunk(KernelBuilder &b, Value vector, int64_t lanes) {
  for (int64_t stride = 1; stride < lanes; stride *= 2) {
    SmallVector<int64_t> partners(lanes);
    SmallVector<float> signs(lanes);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      partners[lane] = lane ^ stride;
      signs[lane] = lane & stride ? -1.0f : 1.0f;
    }
    auto type = cast<ShapedType>(vector.getType());
    Value signVector =
        arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<float>(signs)));
    vector = b.addFloats(b.shuffle(vector, vector, partners), b.multiplyFloats(vector, signVector));
  }
  return vector;
}

SymbolRefAttr KernelModule::hadamard(MemRefType input, MemRefType output) {
  input = getKernelArgumentType(input);
  output = getKernelArgumentType(output);
  int64_t width = input.getShape().back();
  KernelName name("hadamard");
  name.view(input).view(output);
  return getOrBuildKernel(kernels, name, {input, output}, [&](KernelBuilder &b) {
    KernelRow buffer = b.row(b.stackBuffer(width, b.getF32Type()), {});
    double scale = 1 / std::sqrt(static_cast<double>(width));
    b.forEachItem([&](Value item) {
      b.forEachRow(input, item, [&](ArrayRef<Value> leading) {
        KernelRow source = b.row(b.argument(0), leading),
                  destination = b.row(b.argument(1), leading);
        b.forEachChunk(width, [&](Value position, int64_t lanes) {
          b.store(transformWithinChunk(b, b.load(source, position, lanes), lanes), buffer,
                  position);
        });
        for (int64_t stride = chunkLanes; stride < width; stride *= 2)
          b.loop(b.index(0), b.index(width), 2 * stride, [&](Value block) {
            b.loop(block, b.add(block, stride), chunkLanes, [&](Value low) {
              Value high = b.add(low, stride);
              Value x = b.load(buffer, low, chunkLanes), y = b.load(buffer, high, chunkLanes);
              b.store(b.addFloats(x, y), buffer, low);
              b.store(b.subtractFloats(x, y), buffer, high);
            });
          });
        b.forEachChunk(width, [&](Value position, int64_t lanes) {
          Value x = b.load(buffer, position, lanes);
          b.store(b.multiplyFloats(x, b.splat(scale, lanes)), destination, position);
        });
      });
    });
  });
}
