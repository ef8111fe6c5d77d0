//===- Dense.cpp - Batch, weights and dense layers ------------------------===//
#include "strata/lib/Reference/Ops.h"
#include "strata/lib/Reference/Products.h"

#include <algorithm>

using namespace mlir;

namespace strata::reference {

static std::vector<const float *> rowPointers(const Tensor &tensor) {
  std::vector<const float *> rows;
  for (int64_t n = 0; n < tensor.dim(0); ++n)
    rows.push_back(tensor.row(n));
  return rows;
}

static Tensor tokenInts(const std::vector<int32_t> &values) {
  return Tensor{Shape{int64_t(values.size())}, {}, values};
}

Status run(StepState &state, TokenIdsOp op) {
  state.set(op.getIds(), tokenInts(state.input.tokenIds));
  return Status::success();
}

Status run(StepState &state, PositionsOp op) {
  state.set(op.getPositions(), tokenInts(state.input.positions));
  return Status::success();
}

Status run(StepState &state, WeightOp op) {
  state.setWeight(op.getValue());
  return Status::success();
}

Status run(StepState &state, EmbeddingOp op) {
  const Tensor &ids = state.tensor(op.getIds());
  WeightView table = state.rows(op.getTable());
  Tensor result = Tensor::ofFloats({ids.dim(0), table.columns()});
  for (auto [n, id] : llvm::enumerate(ids.integers)) {
    if (id < 0 || id >= table.rows())
      return errorAt(op, "token " + llvm::Twine(n) + ": expected an id from 0 to " +
                             llvm::Twine(table.rows() - 1) + " but got " + llvm::Twine(id));
    table.forRows(0, id, id + 1, [&, n = n](int64_t, const float *values) {
      std::copy_n(values, table.columns(), result.row(n));
    });
  }
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

Status run(StepState &state, LinearOp op) {
  const Tensor &input = state.tensor(op.getInput());
  WeightView weight = state.rows(op.getWeight());
  if (Status status =
          state.expectShape(op, "an input", op.getInput(), {input.dim(0), weight.columns()});
      !status.ok())
    return status;
  std::vector<float> bias(weight.rows(), 0);
  if (op.getBias()) {
    if (Status status = state.expectShape(op, "a bias", op.getBias(), {weight.rows()});
        !status.ok())
      return status;
    bias = state.vector(op.getBias());
  }
  Tensor result = Tensor::ofFloats({input.dim(0), weight.rows()});
  multiply(state.resources.workers, weight, 0, rowPointers(input),
           [&](int64_t n, int64_t m, double value) {
             result.row(n)[m] = float(value + double(bias[m]));
           });
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

/// result[m] = Σ_k input[k] · weight[head, k, m] for all tokens.
static void multiplyTransposed(const WeightView &weight, int64_t head, const Tensor &input,
                               Tensor &result) {
  int64_t tokens = input.dim(0), inputs = weight.rows(), outputs = weight.columns();
  std::vector<double> sums(tokens * outputs, 0.0);
  weight.forRows(head, 0, inputs, [&](int64_t k, const float *values) {
    for (int64_t n = 0; n < tokens; ++n) {
      double factor = input.row(n)[head * inputs + k];
      double *row = sums.data() + n * outputs;
      for (int64_t m = 0; m < outputs; ++m)
        row[m] += factor * double(values[m]);
    }
  });
  for (int64_t n = 0; n < tokens; ++n)
    std::copy_n(sums.data() + n * outputs, outputs, result.row(n) + head * outputs);
}

Status run(StepState &state, HeadLinearOp op) {
  const Tensor &input = state.tensor(op.getInput());
  WeightView weight = state.rows(op.getWeight());
  int64_t tokens = input.dim(0), heads = weight.members();
  int64_t inputs = op.getTransposed() ? weight.rows() : weight.columns();
  int64_t outputs = op.getTransposed() ? weight.columns() : weight.rows();
  if (Status status = state.expectShape(op, "an input", op.getInput(), {tokens, heads, inputs});
      !status.ok())
    return status;
  Tensor result = Tensor::ofFloats({tokens, heads, outputs});
  double work = double(tokens) * double(inputs) * double(outputs);
  state.resources.workers.forEach(heads, work, [&](int64_t head) {
    if (op.getTransposed())
      return multiplyTransposed(weight, head, input, result);
    weight.forRows(head, 0, outputs, [&](int64_t m, const float *values) {
      for (int64_t n = 0; n < tokens; ++n)
        result.row(n)[head * outputs + m] =
            float(dot(input.row(n) + head * inputs, values, inputs));
    });
  });
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

Status run(StepState &state, GatedMlpOp op) {
  const Tensor &input = state.tensor(op.getInput());
  WeightView gate = state.rows(op.getGate()), up = state.rows(op.getUp()),
             down = state.rows(op.getDown());
  int64_t features = down.rows(), width = gate.rows();
  for (auto [what, value, expected] :
       {std::tuple("an input", op.getInput(), Shape{input.dim(0), features}),
        std::tuple("gate", op.getGate(), Shape{width, features}),
        std::tuple("up", op.getUp(), Shape{width, features}),
        std::tuple("down", op.getDown(), Shape{features, width})})
    if (Status status = state.expectShape(op, what, value, expected); !status.ok())
      return status;
  Tensor result = Tensor::ofFloats({input.dim(0), features});
  applyGatedMlp(state.resources.workers, gate, up, down, 0, op.getActivation(), rowPointers(input),
                [&](int64_t n, int64_t m, double value) { result.row(n)[m] = float(value); });
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

Status run(StepState &state, GatedLinearOp op) {
  const Tensor &input = state.tensor(op.getInput());
  WeightView gate = state.rows(op.getGate()), up = state.rows(op.getUp());
  int64_t width = gate.rows(), features = gate.columns();
  for (auto [what, value, expected] :
       {std::tuple("an input", op.getInput(), Shape{input.dim(0), features}),
        std::tuple("up", op.getUp(), Shape{width, features})})
    if (Status status = state.expectShape(op, what, value, expected); !status.ok())
      return status;
  Tensor result = Tensor::ofFloats({input.dim(0), width});
  llvm::copy(
      applyGate(state.resources.workers, gate, up, 0, op.getActivation(), rowPointers(input)),
      result.floats.begin());
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

Status run(StepState &state, LogitsOp op) {
  const Tensor &input = state.tensor(op.getInput());
  WeightView weight = state.rows(op.getWeight());
  if (Status status =
          state.expectShape(op, "an input", op.getInput(), {state.tokens(), weight.columns()});
      !status.ok())
    return status;
  std::vector<const float *> wanted;
  for (int32_t token : state.input.wanted)
    wanted.push_back(input.row(token));
  Tensor result = Tensor::ofFloats({int64_t(wanted.size()), weight.rows()});
  multiply(state.resources.workers, weight, 0, wanted,
           [&](int64_t n, int64_t m, double value) { result.row(n)[m] = float(value); });
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

} // namespace strata::reference
