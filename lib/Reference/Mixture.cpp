//===- Mixture.cpp - Router and experts -----------------------------------===//
#include "strata/lib/Reference/Choice.h"
#include "strata/lib/Reference/Ops.h"
#include "strata/lib/Reference/Products.h"

#include <cmath>

using namespace mlir;

namespace strata::reference {

/// Router logits → scores, in place.
static void scoreLogits(Scoring scoring, MutableArrayRef<float> logits) {
  if (scoring == Scoring::Sigmoid) {
    for (float &value : logits)
      value = float(1 / (1 + std::exp(-double(value))));
    return;
  }
  double maximum = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float value : logits)
    sum += std::exp(double(value) - maximum);
  for (float &value : logits)
    value = float(std::exp(double(value) - maximum) / sum);
}

/// What a group of experts is chosen by.
static float scoreGroup(GroupScore kind, ArrayRef<float> choices) {
  float best = -std::numeric_limits<float>::infinity(), second = best;
  for (float value : choices) { // a NaN is never greater
    if (value > best)
      second = std::exchange(best, value);
    else if (value > second)
      second = value;
  }
  return kind == GroupScore::Maximum ? best : best + second;
}

/// The experts of the chosen groups.
static std::vector<int32_t> findCandidates(RouteOp op, ArrayRef<float> choices) {
  int64_t groups = op.getGroups(), groupSize = int64_t(choices.size()) / groups;
  std::vector<float> groupScores;
  for (int64_t group = 0; group < groups; ++group)
    groupScores.push_back(
        scoreGroup(op.getGroupScore(), choices.slice(group * groupSize, groupSize)));
  std::vector<int32_t> candidates;
  for (int32_t group : chooseBest(groupScores, numbersBelow(groups), op.getTopGroups()))
    for (int64_t i = 0; i < groupSize; ++i)
      candidates.push_back(int32_t(group * groupSize + i));
  return candidates;
}

Status run(StepState &state, RouteOp op, int64_t mixture) {
  const Tensor &input = state.tensor(op.getInput());
  WeightView router = state.rows(op.getRouter());
  int64_t tokens = input.dim(0), experts = router.rows(),
          k = op.getExperts().getType().getDimSize(1);
  if (Status status = state.expectShape(op, "an input", op.getInput(), {tokens, router.columns()});
      !status.ok())
    return status;
  std::vector<float> correction(experts, 0);
  if (op.getCorrection())
    correction = state.vector(op.getCorrection());
  const int32_t *imported =
      state.input.importedExperts.empty() ? nullptr : state.input.importedExperts[mixture];
  if (imported && tokens != state.tokens())
    return errorAt(op, "expected " + llvm::Twine(state.tokens()) +
                           " tokens for imported experts but got " + llvm::Twine(tokens));

  Tensor scores = Tensor::ofFloats({tokens, experts});
  std::vector<const float *> rows;
  for (int64_t n = 0; n < tokens; ++n)
    rows.push_back(input.row(n));
  multiply(state.resources.workers, router, 0, rows,
           [&](int64_t n, int64_t m, double value) { scores.row(n)[m] = float(value); });

  double scale = op.getScale().convertToDouble();
  Tensor chosen = Tensor::ofIntegers({tokens, k}), weights = Tensor::ofFloats({tokens, k});
  for (int64_t n = 0; n < tokens; ++n) {
    MutableArrayRef<float> tokenScores(scores.row(n), experts);
    scoreLogits(op.getScoring(), tokenScores);
    std::vector<float> choices(experts);
    for (int64_t expert = 0; expert < experts; ++expert)
      choices[expert] = tokenScores[expert] + correction[expert];
    std::vector<int32_t> own;
    if (!imported)
      own = chooseBest(choices, findCandidates(op, choices), k);
    ArrayRef<int32_t> selected = imported ? ArrayRef(imported + n * k, k) : ArrayRef(own);
    double sum = 0;
    for (int32_t expert : selected) {
      if (expert < 0 || expert >= experts)
        return errorAt(op, "token " + llvm::Twine(n) + ": expected an expert from 0 to " +
                               llvm::Twine(experts - 1) + " but got " + llvm::Twine(expert));
      sum += tokenScores[expert];
    }
    double divisor = op.getNormalise() ? sum + 1e-20 : 1;
    for (auto [j, expert] : llvm::enumerate(selected)) {
      chosen.integers[n * k + j] = expert;
      weights.row(n)[j] = float(tokenScores[expert] / divisor * scale);
    }
    if (state.resources.observer.experts)
      state.resources.observer.experts(int(mixture), int(n), choices, selected);
  }
  if (!state.output.experts.empty() && state.output.experts[mixture])
    llvm::copy(chosen.integers, state.output.experts[mixture]);
  state.set(op.getExperts(), std::move(chosen));
  state.set(op.getWeights(), std::move(weights));
  return Status::success();
}

/// Receives element m of what the expert of entry j of a token gives.
using StoreExpertOutput =
    llvm::function_ref<void(int64_t token, int64_t j, int64_t m, double value)>;

/// Applies the chosen experts of every token, expert by expert in ascending order: the weights of
/// each are widened once.
template <typename Op>
static Status applyExperts(StepState &state, Op op, StoreExpertOutput store) {
  const Tensor &input = state.tensor(op.getInput());
  const Tensor &chosen = state.tensor(op.getExperts());
  WeightView gate = state.rows(op.getGate()), up = state.rows(op.getUp()),
             down = state.rows(op.getDown());
  int64_t tokens = input.dim(0), k = chosen.dim(1), experts = gate.members();
  int64_t features = down.rows(), width = gate.rows();
  for (auto [what, value, expected] :
       {std::tuple("an input", Value(op.getInput()), Shape{tokens, features}),
        std::tuple("experts", Value(op.getExperts()), Shape{tokens, k}),
        std::tuple("gate", Value(op.getGate()), Shape{experts, width, features}),
        std::tuple("up", Value(op.getUp()), Shape{experts, width, features}),
        std::tuple("down", Value(op.getDown()), Shape{experts, features, width})})
    if (Status status = state.expectShape(op, what, value, expected); !status.ok())
      return status;

  std::vector<std::vector<std::pair<int64_t, int64_t>>> uses(experts); // token and j
  for (int64_t n = 0; n < tokens; ++n)
    for (int64_t j = 0; j < k; ++j) {
      int32_t expert = chosen.integers[n * k + j];
      if (expert < 0 || expert >= experts)
        return errorAt(op, "token " + llvm::Twine(n) + ": expected an expert from 0 to " +
                               llvm::Twine(experts - 1) + " but got " + llvm::Twine(expert));
      uses[expert].push_back({n, j});
    }
  for (int64_t expert = 0; expert < experts; ++expert) {
    std::vector<const float *> inputs;
    for (auto [token, j] : uses[expert])
      inputs.push_back(input.row(token));
    if (!inputs.empty())
      applyGatedMlp(state.resources.workers, gate, up, down, expert, op.getActivation(), inputs,
                    [&](int64_t i, int64_t m, double value) {
                      store(uses[expert][i].first, uses[expert][i].second, m, value);
                    });
  }
  return Status::success();
}

Status run(StepState &state, MixtureOfExpertsOp op) {
  const Tensor &weights = state.tensor(op.getWeights());
  int64_t tokens = weights.dim(0), k = weights.dim(1), features = state.rows(op.getDown()).rows();
  if (Status status = state.expectShape(op, "weights", op.getWeights(),
                                        {state.tensor(op.getInput()).dim(0), k});
      !status.ok())
    return status;
  if (Status status = state.expectShape(op, "experts", op.getExperts(), {tokens, k}); !status.ok())
    return status;
  // A token's sum is in ascending order of experts.
  std::vector<double> sums(tokens * features, 0.0);
  Status status = applyExperts(state, op, [&](int64_t token, int64_t j, int64_t m, double value) {
    // An expert's output is f32, as if it stood by itself (strata.expert_outputs).
    sums[token * features + m] += double(weights.row(token)[j]) * double(float(value));
  });
  if (!status.ok())
    return status;
  Tensor result = Tensor::ofFloats({tokens, features});
  llvm::copy(sums, result.floats.begin());
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

Status run(StepState &state, ExpertOutputsOp op) {
  int64_t tokens = state.tensor(op.getInput()).dim(0), k = op.getType().getDimSize(1),
          features = op.getType().getDimSize(2);
  if (Status status = state.expectShape(op, "experts", op.getExperts(), {tokens, k}); !status.ok())
    return status;
  Tensor result = Tensor::ofFloats({tokens, k, features});
  Status status = applyExperts(state, op, [&](int64_t token, int64_t j, int64_t m, double value) {
    result.floats[(token * k + j) * features + m] = float(value);
  });
  if (status.ok())
    state.set(op.getResult(), std::move(result));
  return status;
}

Status run(StepState &state, CombineExpertsOp op) {
  const Tensor &outputs = state.tensor(op.getOutputs()), &weights = state.tensor(op.getWeights());
  int64_t tokens = outputs.dim(0), k = outputs.dim(1), features = outputs.dim(2);
  if (Status status = state.expectShape(op, "weights", op.getWeights(), {tokens, k}); !status.ok())
    return status;
  Tensor result = Tensor::ofFloats({tokens, features});
  for (int64_t n = 0; n < tokens; ++n)
    for (int64_t m = 0; m < features; ++m) {
      double sum = 0;
      for (int64_t j = 0; j < k; ++j)
        sum += double(weights.row(n)[j]) * outputs.floats[(n * k + j) * features + m];
      result.row(n)[m] = float(sum);
    }
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

} // namespace strata::reference
