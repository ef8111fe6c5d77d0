//===- Norms.cpp - Normalisation over the last dimension ------------------===//
#include "strata/lib/Reference/Ops.h"

#include <cmath>

using namespace mlir;

namespace strata::reference {

/// Calls `body` with each vector of the last dimension of input and result.
template <typename Body>
static void forVectors(StepState &state, const Tensor &input, Tensor &result, Body body) {
  int64_t width = input.shape.back();
  int64_t count = width == 0 ? 0 : input.elements() / width;
  state.resources.workers.forEach(count, double(width), [&](int64_t i) {
    body(input.floats.data() + i * width, result.floats.data() + i * width, width);
  });
}

Status run(StepState &state, RmsNormOp op) {
  const Tensor &input = state.tensor(op.getInput());
  int64_t width = input.shape.back();
  std::vector<float> weight(width, 1);
  if (op.getWeight()) {
    if (Status status = state.expectShape(op, "a weight", op.getWeight(), {width}); !status.ok())
      return status;
    weight = state.vector(op.getWeight());
  }
  double epsilon = op.getEpsilon().convertToDouble();
  Tensor result = Tensor::ofFloats(input.shape);
  forVectors(state, input, result, [&](const float *in, float *out, int64_t width) {
    double squares = 0;
    for (int64_t i = 0; i < width; ++i)
      squares += double(in[i]) * double(in[i]);
    double root = std::sqrt(squares / double(width) + epsilon);
    for (int64_t i = 0; i < width; ++i)
      out[i] = float(double(in[i]) * double(weight[i]) / root);
  });
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

Status run(StepState &state, LayerNormOp op) {
  const Tensor &input = state.tensor(op.getInput());
  int64_t width = input.shape.back();
  for (Value parameter : {op.getWeight(), op.getBias()})
    if (Status status = state.expectShape(op, "weight and bias", parameter, {width}); !status.ok())
      return status;
  std::vector<float> weight = state.vector(op.getWeight()), bias = state.vector(op.getBias());
  double epsilon = op.getEpsilon().convertToDouble();
  Tensor result = Tensor::ofFloats(input.shape);
  forVectors(state, input, result, [&](const float *in, float *out, int64_t width) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < width; ++i)
      sum += in[i];
    double mean = sum / double(width);
    for (int64_t i = 0; i < width; ++i)
      squares += (in[i] - mean) * (in[i] - mean);
    double root = std::sqrt(squares / double(width) + epsilon);
    for (int64_t i = 0; i < width; ++i)
      out[i] = float((in[i] - mean) * weight[i] / root + bias[i]);
  });
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

} // namespace strata::reference
