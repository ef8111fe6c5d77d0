//===- RetentionState.cpp - Memory and links under some choices -----------===//
#include "strata/lib/Plan/RetentionState.h"

#include <algorithm>
#include <numeric>

namespace strata::plan {

PeriodRange getFreedPeriods(const RetentionProblem &problem, const RetainedTensor &tensor,
                            Retention choice) {
  if (choice == Retention::Recompute && tensor.recomputeSeconds >= 0)
    return {tensor.produced + 1, tensor.used - 1};
  if (choice == Retention::Offload && problem.outRate > 0 && problem.inRate > 0)
    return {tensor.produced + problem.window + 1, tensor.used - problem.window - 1};
  return {};
}

RetentionState::RetentionState(const RetentionProblem &problem)
    : problem(problem), choices(problem.tensors.size(), Retention::Keep) {
  size_t periods = problem.periodSeconds.size();
  bytes.assign(periods, 0);
  // Sums of steps: a tensor is added where it begins and taken away behind its end.
  std::vector<uint64_t> begins(periods + 1, 0), ends(periods + 1, 0);
  for (const RetainedTensor &tensor : problem.tensors) {
    begins[tensor.produced] += tensor.bytes;
    ends[tensor.used + 1] += tensor.bytes;
  }
  uint64_t alive = 0;
  for (size_t period = 0; period < periods; ++period) {
    alive += begins[period] - ends[period];
    bytes[period] = alive;
  }
  out = {problem.outRate, std::vector<double>(periods, 0), std::vector<double>(periods, 0)};
  in = {problem.inRate, std::vector<double>(periods, 0), std::vector<double>(periods, 0)};
}

void RetentionState::add(size_t number, int sign) {
  const RetainedTensor &tensor = problem.tensors[number];
  PeriodRange freed = getFreedPeriods(problem, tensor, choices[number]);
  for (int64_t period = freed.first; period <= freed.last; ++period)
    bytes[period] += sign > 0 ? uint64_t(0) - tensor.bytes : tensor.bytes;
  double part = sign * double(tensor.bytes);
  if (choices[number] == Retention::Offload) {
    out.ready[tensor.produced + 1] += part;
    out.due[tensor.produced + problem.window] += part;
    in.ready[tensor.used - problem.window] += part;
    in.due[tensor.used - 1] += part;
  }
}

void RetentionState::set(size_t tensor, Retention choice) {
  add(tensor, -1);
  choices[tensor] = choice;
  add(tensor, 1);
}

double RetentionState::computeRecompute() const {
  double seconds = 0;
  for (size_t i = 0; i < choices.size(); ++i)
    if (choices[i] == Retention::Recompute)
      seconds += problem.tensors[i].recomputeSeconds;
  return seconds;
}

int64_t RetentionState::findPeak() const {
  return std::max_element(bytes.begin(), bytes.end()) - bytes.begin();
}

double RetentionState::computeStall() const {
  struct Queue {
    const Link &link;
    double ready = 0, due = 0, gone = 0;
    void go(double seconds) { gone = std::min(ready, gone + link.rate * seconds); }
    double getLate() const { return due > gone ? (due - gone) / link.rate : 0; }
  };
  Queue queues[] = {{out}, {in}};
  double stall = 0;
  for (size_t period = 0; period < problem.periodSeconds.size(); ++period) {
    double late = 0;
    for (Queue &queue : queues) {
      queue.ready += queue.link.ready[period];
      queue.due += queue.link.due[period];
      queue.go(problem.periodSeconds[period]);
      late = std::max(late, queue.getLate());
    }
    // While the program waits for one direction the other one goes on.
    for (Queue &queue : queues)
      queue.go(late);
    stall += late;
  }
  return stall;
}

RetentionPlan evaluateRetention(const RetentionProblem &problem,
                                const std::vector<Retention> &choices) {
  RetentionState state(problem);
  for (size_t i = 0; i < choices.size(); ++i)
    if (choices[i] != Retention::Keep)
      state.set(i, choices[i]);
  RetentionPlan plan;
  plan.choices = choices;
  if (!problem.periodSeconds.empty())
    plan.peakBytes = state.getBytes(state.findPeak());
  plan.recomputeSeconds = state.computeRecompute();
  plan.stallSeconds = state.computeStall();
  plan.seconds = std::accumulate(problem.periodSeconds.begin(), problem.periodSeconds.end(), 0.0) +
                 plan.recomputeSeconds + plan.stallSeconds;
  return plan;
}

} // namespace strata::plan
