//===- Rotations.cpp - Rotary embedding and Hadamard transform ------------===//
#include "strata/lib/Reference/Ops.h"

#include <cmath>

using namespace mlir;

namespace strata::reference {

Status run(StepState &state, RopeOp op) {
  const Tensor &input = state.tensor(op.getInput());
  if (input.dim(0) != state.tokens())
    return errorAt(op, "expected " + llvm::Twine(state.tokens()) + " tokens but got " +
                           llvm::Twine(input.dim(0)));
  int64_t offset = op.getOffset(), width = op.getWidth(), pairs = width / 2,
          features = input.shape.back();
  if (offset + width > features)
    return errorAt(op, "expected at least " + llvm::Twine(offset + width) + " features but got " +
                           llvm::Twine(features));
  RopeAttr table = op.getTable();
  bool interleaved = table.getLayout() == RopeLayout::Interleaved;
  SmallVector<double> frequencies = table.getFrequencies(width);
  double factor = table.getAttentionFactor();

  Tensor result = input;
  state.resources.workers.forEach(input.dim(0), double(input.rowElements()), [&](int64_t token) {
    for (int64_t i = 0; i < pairs; ++i) {
      double angle = double(state.input.positions[token]) * frequencies[i];
      double cosine = std::cos(angle) * factor, sine = std::sin(angle) * factor;
      if (op.getInverse())
        sine = -sine;
      int64_t first = offset + (interleaved ? 2 * i : i);
      int64_t second = offset + (interleaved ? 2 * i + 1 : i + pairs);
      for (int64_t head = 0; head < input.rowElements(); head += features) {
        double a = input.row(token)[head + first], b = input.row(token)[head + second];
        result.row(token)[head + first] = float(a * cosine - b * sine);
        result.row(token)[head + second] = float(b * cosine + a * sine);
      }
    }
  });
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

Status run(StepState &state, HadamardOp op) {
  const Tensor &input = state.tensor(op.getInput());
  int64_t width = input.shape.back();
  Tensor result = Tensor::ofFloats(input.shape);
  state.resources.workers.forEach(input.elements() / width, double(width) * 8, [&](int64_t row) {
    const float *in = input.floats.data() + row * width;
    std::vector<double> values(in, in + width);
    // Sylvester's order: H_2W = [[H_W, H_W], [H_W, −H_W]].
    for (int64_t half = 1; half < width; half *= 2)
      for (int64_t i = 0; i < width; i += 2 * half)
        for (int64_t j = i; j < i + half; ++j) {
          double a = values[j], b = values[j + half];
          values[j] = a + b;
          values[j + half] = a - b;
        }
    for (int64_t i = 0; i < width; ++i)
      result.floats[row * width + i] = float(values[i] / std::sqrt(double(width)));
  });
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

} // namespace strata::reference
