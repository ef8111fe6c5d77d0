//===- StepPlan.cpp - How the tokens of a batch come in steps -------------===//
#include "StepPlan.h"

#include <algorithm>
#include <numeric>

namespace strata::test {

StepPlan planOneShot(const TokenBatch &batch) {
  StepPlan plan = planChunks(batch, {INT64_MAX});
  plan.name = "one shot";
  return plan;
}

StepPlan planChunks(const TokenBatch &batch, std::vector<int64_t> chunks) {
  StepPlan plan;
  plan.name = "chunks";
  for (int64_t chunk : chunks)
    plan.name += " " + std::to_string(chunk);
  std::vector<int64_t> done(batch.size(), 0);
  for (size_t number = 0;; ++number) {
    int64_t chunk = chunks[std::min(number, chunks.size() - 1)];
    std::vector<Segment> step;
    for (size_t s = 0; s < batch.size(); ++s) {
      int64_t count = std::min(chunk, int64_t(batch[s].size()) - done[s]);
      if (count > 0)
        step.push_back({int64_t(s), done[s], count});
      done[s] += count;
    }
    if (step.empty())
      return plan;
    plan.steps.push_back(std::move(step));
  }
}

StepPlan planAlone(const TokenBatch &batch) {
  StepPlan plan;
  plan.name = "each sequence alone";
  plan.reusesPages = true;
  for (size_t s = 0; s < batch.size(); ++s)
    if (!batch[s].empty())
      plan.steps.push_back({{int64_t(s), 0, int64_t(batch[s].size())}});
  return plan;
}

StepPlan planRandomly(const TokenBatch &batch, RandomNumbers &random) {
  StepPlan plan;
  plan.name = "random steps";
  plan.seed = random.next();
  plan.wantedPercent = random.oneOf({0, 20, 50, 100});
  std::vector<int64_t> done(batch.size(), 0), order(batch.size());
  std::iota(order.begin(), order.end(), 0);
  auto isDone = [&](int64_t s) { return done[size_t(s)] == int64_t(batch[size_t(s)].size()); };
  while (!std::all_of(order.begin(), order.end(), isDone)) {
    std::vector<Segment> step;
    random.shuffle(order);
    for (int64_t s : order) {
      int64_t left = int64_t(batch[size_t(s)].size()) - done[size_t(s)];
      if (left == 0 || random.chance(25))
        continue;
      int64_t count = random.chance(40) ? 1 : random.between(1, left);
      step.push_back({s, done[size_t(s)], count});
      done[size_t(s)] += count;
    }
    if (!step.empty() || random.chance(20))
      plan.steps.push_back(std::move(step));
  }
  return plan;
}

std::string describe(const StepPlan &plan) {
  std::string text = plan.name + ", " + std::to_string(plan.wantedPercent) + " % wanted:";
  for (const std::vector<Segment> &step : plan.steps) {
    text += " (";
    for (const Segment &segment : step)
      text += (&segment == step.data() ? "" : ", ") + std::to_string(segment.sequence) + "[" +
              std::to_string(segment.begin) + "+" + std::to_string(segment.count) + "]";
    text += ")";
  }
  return text + "\n";
}

StepBuilder::StepBuilder(const TokenBatch &batch, const StepPlan &plan, int64_t pageSize)
    : batch_(batch), plan_(plan), pageSize_(pageSize), random_(plan.seed) {
  std::vector<int64_t> counts;
  int64_t sum = 0, most = 0;
  for (const std::vector<int32_t> &tokens : batch) {
    counts.push_back((int64_t(tokens.size()) + pageSize - 1) / pageSize);
    sum += counts.back();
    most = std::max(most, counts.back());
  }
  pages_ = 1 + (plan.reusesPages ? most : sum); // one that is nobody's
  std::vector<int32_t> numbers(static_cast<size_t>(pages_));
  std::iota(numbers.begin(), numbers.end(), 0);
  random_.shuffle(numbers);
  auto next = numbers.begin();
  for (int64_t count : counts) {
    pagesOf_.emplace_back(next, next + count);
    if (!plan.reusesPages)
      next += count;
  }
  slots_.resize(batch.size());
  std::iota(slots_.begin(), slots_.end(), 0);
  random_.shuffle(slots_);
  for (const std::vector<Segment> &step : plan.steps) {
    int64_t tokens = 0;
    for (const Segment &segment : step)
      tokens += segment.count;
    maxTokens_ = std::max(maxTokens_, tokens);
  }
}

rt::StepInput StepBuilder::build(const std::vector<Segment> &step,
                                 std::vector<TokenPlace> &places) {
  constexpr int32_t kNoPage = 0x3fffffff; // far outside of every cache
  rt::StepInput input;
  places.clear();
  for (const Segment &segment : step) {
    for (int64_t i = random_.between(0, 2); i > 0; --i)
      input.pages.push_back(kNoPage);
    const std::vector<int32_t> &pages = pagesOf_[size_t(segment.sequence)];
    int64_t end = segment.begin + segment.count;
    int32_t pageBegin = int32_t(input.pages.size());
    input.pages.insert(input.pages.end(), pages.begin(),
                       pages.begin() + (end + pageSize_ - 1) / pageSize_);
    for (int64_t position = segment.begin; position < end; ++position) {
      if (random_.chance(plan_.wantedPercent) && int64_t(input.wanted.size()) < plan_.mostWanted)
        input.wanted.push_back(int32_t(input.tokenIds.size()));
      input.tokenIds.push_back(batch_[size_t(segment.sequence)][size_t(position)]);
      input.positions.push_back(int32_t(position));
      input.sequences.push_back(slots_[size_t(segment.sequence)]);
      input.pageBegin.push_back(pageBegin);
      places.push_back({segment.sequence, position});
    }
  }
  return input;
}

} // namespace strata::test
