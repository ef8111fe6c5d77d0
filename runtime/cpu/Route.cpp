//===- Route.cpp - Which experts a token goes to --------------------------===//
#include "strata/runtime/cpu/Route.h"

#include "strata/runtime/cpu/Command.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace strata::rt {

static constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

Router::Router(const package::Route &table, const float *correction)
    : table_(table), correction_(correction), scores_(size_t(table.expert_count())),
      choice_(scores_.size()), groupScores_(size_t(table.groups())) {}

void Router::score(const float *logits) {
  size_t experts = scores_.size();
  if (table_.scoring() == package::Scoring::Sigmoid) {
    for (size_t e = 0; e < experts; ++e)
      scores_[e] = float(1 / (1 + std::exp(-double(logits[e]))));
    return;
  }
  double largest = *std::max_element(logits, logits + experts), sum = 0;
  for (size_t e = 0; e < experts; ++e)
    sum += std::exp(logits[e] - largest);
  for (size_t e = 0; e < experts; ++e)
    scores_[e] = float(std::exp(logits[e] - largest) / sum);
}

/// The first `count` indices of `values` in the order of choice.
static void best(const std::vector<float> &values, int64_t count, std::vector<int32_t> &order) {
  order.resize(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int32_t a, int32_t b) {
    return values[size_t(a)] != values[size_t(b)] ? values[size_t(a)] > values[size_t(b)] : a < b;
  });
  order.resize(size_t(count));
}

/// Sets the choice of all experts outside the best groups to −inf.
void Router::dropGroups() {
  size_t size = choice_.size() / groupScores_.size();
  for (size_t group = 0; group < groupScores_.size(); ++group) {
    float first = kMinusInfinity, second = kMinusInfinity;
    for (size_t e = group * size; e < (group + 1) * size; ++e) {
      second = std::max(second, std::min(first, choice_[e]));
      first = std::max(first, choice_[e]);
    }
    bool sum = table_.group_score() == package::GroupScore::TopTwoSum;
    groupScores_[group] = sum ? first + second : first;
    if (std::isnan(groupScores_[group])) // −inf + inf
      groupScores_[group] = kMinusInfinity;
  }
  best(groupScores_, table_.top_groups(), order_);
  std::sort(order_.begin(), order_.end());
  for (size_t group = 0; group < groupScores_.size(); ++group)
    if (!std::binary_search(order_.begin(), order_.end(), int32_t(group)))
      std::fill_n(choice_.begin() + int64_t(group * size), size, kMinusInfinity);
}

void Router::choose(const float *logits, int32_t *experts) {
  score(logits);
  for (size_t e = 0; e < scores_.size(); ++e) {
    choice_[e] = correction_ ? scores_[e] + correction_[e] : scores_[e];
    if (std::isnan(choice_[e]))
      choice_[e] = kMinusInfinity;
  }
  if (table_.groups() > 1)
    dropGroups();
  best(choice_, table_.experts_per_token(), order_);
  std::sort(order_.begin(), order_.end());
  std::copy(order_.begin(), order_.end(), experts);
}

void Router::weigh(const float *logits, const int32_t *experts, float *weights) {
  score(logits);
  float sum = 0;
  for (int64_t j = 0; j < table_.experts_per_token(); ++j) {
    weights[j] = scores_[size_t(experts[j])];
    sum += weights[j];
  }
  for (int64_t j = 0; j < table_.experts_per_token(); ++j) {
    if (table_.normalise())
      weights[j] /= sum + 1e-20f;
    weights[j] *= float(table_.scale());
  }
}

namespace {

class RouteCommand : public Command {
public:
  RouteCommand(const package::Route &table, const Program &program)
      : table_(table), routers_(size_t(program.options.threads),
                                Router(table, program.weights.values(table.correction()))) {}

  Status run(StepState &state) override {
    Rows logits(state, *table_.logits());
    int32_t *experts = state.array<int32_t>(*table_.experts());
    float *weights = state.array<float>(*table_.weights());
    int64_t perToken = table_.experts_per_token();
    const int32_t *imported = nullptr;
    if (!state.input.importedExperts.empty())
      imported = state.input.importedExperts[size_t(table_.ordinal())];
    if (imported)
      if (Status status = checkImported(imported, state.tokens()); !status.ok())
        return status;
    constexpr int64_t kGrain = 4;
    state.pool.parallelFor(state.tokens(), kGrain, [&](int64_t begin, int64_t end, int thread) {
      Router &router = routers_[size_t(thread)];
      for (int64_t n = begin; n < end; ++n) {
        int32_t *chosen = experts + n * perToken;
        if (imported)
          std::copy_n(imported + n * perToken, perToken, chosen);
        else
          router.choose(logits.row(n), chosen);
        router.weigh(logits.row(n), chosen, weights + n * perToken);
      }
    });
    if (!state.output.experts.empty())
      if (int32_t *copy = state.output.experts[size_t(table_.ordinal())])
        std::copy_n(experts, state.tokens() * perToken, copy);
    return Status::success();
  }

private:
  Status checkImported(const int32_t *experts, int64_t tokens) const {
    int64_t perToken = table_.experts_per_token();
    for (int64_t n = 0; n < tokens; ++n)
      for (int64_t j = 0; j < perToken; ++j) {
        int32_t expert = experts[n * perToken + j];
        if (expert < 0 || expert >= table_.expert_count() ||
            (j > 0 && expert <= experts[n * perToken + j - 1]))
          return Status(
              StatusCode::InvalidArgument,
              "imported experts of mixture " + std::to_string(table_.ordinal()) + ", token " +
                  std::to_string(n) + " of the step: expected ascending numbers below " +
                  std::to_string(table_.expert_count()) + " but got " + std::to_string(expert));
      }
    return Status::success();
  }

  const package::Route &table_;
  std::vector<Router> routers_; ///< one for each thread
};

} // namespace

std::unique_ptr<Command> makeCommand(const package::Route &table, const Program &program) {
  return std::make_unique<RouteCommand>(table, program);
}

} // namespace strata::rt
