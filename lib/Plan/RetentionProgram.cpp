//===- RetentionProgram.cpp - Retention as a linear program ---------------===//
//
// Columns: how much of a tensor is offloaded, and how much computed again (the rest is kept); for
// each period the memory, what each link carries, and the stall. Rows say what changes from one
// period to the next, so that a tensor appears in a few rows only, however long it lives:
//   memory     m[p] = m[p−1] + what is produced or comes back − what ends or goes, m[p] ≤ capacity
//   late       l[p] = l[p−1] + carried[p] − due[p],    l[p] ≥ 0: what is due has gone
//   waiting    w[p] = w[p−1] + ready[p] − carried[p],  w[p] ≥ 0: nothing goes before it can
//   link       carried[p] ≤ rate × (seconds[p] + stall[p])
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Plan/LinearProgram.h"
#include "strata/lib/Plan/RetentionState.h"

#include <algorithm>
#include <numeric>

namespace strata::plan {

/// Bytes and seconds are counted in these, so that the solver's tolerances mean little.
static constexpr double kMegabyte = 1e6, kMillisecond = 1e-3;
/// A part of a tensor below this is none.
static constexpr double kWhole = 1e-6;

namespace {

class RetentionProgram {
public:
  explicit RetentionProgram(const RetentionProblem &problem);
  Expected<RelaxedRetention> solve() const;

private:
  /// Rows of a link, by period.
  struct LinkRows {
    std::vector<int> late, waiting;
  };
  void addRows();
  void addTensor(const RetainedTensor &tensor);
  void addPeriods();

  const RetentionProblem &problem;
  LinearProgram program;
  std::vector<int> memory;
  LinkRows out, in;
  /// Columns of a tensor; −1: it has no such choice.
  struct Columns {
    int offload = -1, recompute = -1;
  };
  std::vector<Columns> columns;
};

} // namespace

RetentionProgram::RetentionProgram(const RetentionProblem &problem) : problem(problem) {
  addRows();
  for (const RetainedTensor &tensor : problem.tensors)
    addTensor(tensor);
  addPeriods();
}

void RetentionProgram::addRows() {
  // What is kept, and all else that doesn't depend on choices, is the rows' bound.
  std::vector<double> change(problem.periodSeconds.size() + 1, 0);
  for (const RetainedTensor &tensor : problem.tensors) {
    change[tensor.produced] += double(tensor.bytes) / kMegabyte;
    change[tensor.used + 1] -= double(tensor.bytes) / kMegabyte;
  }
  for (size_t period = 0; period < problem.periodSeconds.size(); ++period) {
    memory.push_back(program.addRow(change[period], change[period]));
    for (LinkRows *link : {&out, &in}) {
      link->late.push_back(program.addRow(0, 0));
      link->waiting.push_back(program.addRow(0, 0));
    }
  }
}

void RetentionProgram::addTensor(const RetainedTensor &tensor) {
  double size = double(tensor.bytes) / kMegabyte;
  PeriodRange offloaded = getFreedPeriods(problem, tensor, Retention::Offload);
  PeriodRange recomputed = getFreedPeriods(problem, tensor, Retention::Recompute);
  Columns entry;
  bool hasBoth = offloaded.size() && recomputed.size();
  int once = hasBoth ? program.addRow(-LinearProgram::kUnlimited, 1) : -1;
  // m[p] − m[p−1] + freed = change: what is freed comes off where its range begins.
  auto getMemory = [&](const PeriodRange &freed) {
    std::vector<LinearProgram::Entry> entries{{memory[freed.first], size},
                                              {memory[freed.last + 1], -size}};
    if (hasBoth)
      entries.push_back({once, 1});
    return entries;
  };
  if (offloaded.size()) {
    std::vector<LinearProgram::Entry> entries = getMemory(offloaded);
    entries.push_back({out.waiting[tensor.produced + 1], -size});
    entries.push_back({out.late[tensor.produced + problem.window], size});
    entries.push_back({in.waiting[tensor.used - problem.window], -size});
    entries.push_back({in.late[tensor.used - 1], size});
    entry.offload = program.addColumn(0, 0, 1, entries);
  }
  if (recomputed.size())
    entry.recompute =
        program.addColumn(tensor.recomputeSeconds / kMillisecond, 0, 1, getMemory(recomputed));
  columns.push_back(entry);
}

void RetentionProgram::addPeriods() {
  size_t periods = problem.periodSeconds.size();
  /// A quantity that goes on from one period to the next.
  auto addLevel = [&](const std::vector<int> &rows, size_t period, double most) {
    std::vector<LinearProgram::Entry> entries{{rows[period], 1}};
    if (period + 1 < periods)
      entries.push_back({rows[period + 1], -1});
    program.addColumn(0, 0, most, entries);
  };
  for (size_t period = 0; period < periods; ++period) {
    addLevel(memory, period, double(problem.capacity) / kMegabyte);
    std::vector<LinearProgram::Entry> stall;
    for (const auto &[link, rate] : {std::pair(&out, problem.outRate / kMegabyte),
                                     std::pair(&in, problem.inRate / kMegabyte)}) {
      addLevel(link->late, period, LinearProgram::kUnlimited);
      addLevel(link->waiting, period, LinearProgram::kUnlimited);
      int row = program.addRow(-LinearProgram::kUnlimited, rate * problem.periodSeconds[period]);
      program.addColumn(0, 0, LinearProgram::kUnlimited,
                        {{link->late[period], -1}, {link->waiting[period], 1}, {row, 1}});
      stall.push_back({row, -rate});
    }
    program.addColumn(1 / kMillisecond, 0, LinearProgram::kUnlimited, stall);
  }
}

/// Takes memory from the period that needs most until it fits: of the candidates there those that
/// add the fewest seconds for a byte. Whether it fits then.
static bool makeFit(const RetentionProblem &problem, RetentionState &state,
                    const std::vector<size_t> &candidates) {
  for (int64_t peak = state.findPeak(); state.getBytes(peak) > problem.capacity;
       peak = state.findPeak()) {
    double stall = state.computeStall(), bestPrice = 0;
    int64_t best = -1;
    Retention bestChoice = Retention::Keep;
    // A tensor that is larger than what is to go counts for what is to go.
    double excess = double(state.getBytes(peak) - problem.capacity);
    for (size_t i : candidates) {
      const RetainedTensor &tensor = problem.tensors[i];
      Retention now = state.get(i);
      bool isThere =
          now == Retention::Keep ||
          (now == Retention::Offload && !getFreedPeriods(problem, tensor, now).contains(peak));
      if (!isThere || !tensor.bytes)
        continue;
      for (Retention choice : {Retention::Recompute, Retention::Offload}) {
        if (!getFreedPeriods(problem, tensor, choice).contains(peak))
          continue;
        state.set(i, choice);
        double seconds = state.computeStall() - stall;
        state.set(i, now);
        if (choice == Retention::Recompute)
          seconds += tensor.recomputeSeconds;
        double price = seconds / std::min(double(tensor.bytes), excess);
        if (best < 0 || price < bestPrice) {
          best = int64_t(i);
          bestPrice = price;
          bestChoice = choice;
        }
      }
    }
    if (best < 0)
      return false;
    state.set(size_t(best), bestChoice);
  }
  return true;
}

Expected<RelaxedRetention> RetentionProgram::solve() const {
  Expected<LinearProgram::Solution> solution = program.solve();
  if (!solution.ok())
    return solution.status();
  RelaxedRetention relaxed;
  relaxed.lowerBound =
      std::accumulate(problem.periodSeconds.begin(), problem.periodSeconds.end(), 0.0) +
      solution->cost * kMillisecond;
  RetentionState state(problem);
  std::vector<size_t> divided, all(problem.tensors.size());
  std::iota(all.begin(), all.end(), size_t(0));
  for (size_t i = 0; i < columns.size(); ++i) {
    auto get = [&](int column) { return column < 0 ? 0.0 : solution->columns[column]; };
    double offload = get(columns[i].offload), recompute = get(columns[i].recompute);
    double most = std::max({offload, recompute, 1 - offload - recompute});
    // What it divides stays until that is seen not to fit.
    if (most < 1 - kWhole)
      divided.push_back(i);
    else if (offload == most)
      state.set(i, Retention::Offload);
    else if (recompute == most)
      state.set(i, Retention::Recompute);
  }
  relaxed.fractional = int(divided.size());
  if (!makeFit(problem, state, divided) && !makeFit(problem, state, all))
    return Status(StatusCode::NotFound, "the relaxation can't be rounded to whole tensors");
  relaxed.rounded = evaluateRetention(problem, state.getChoices());
  relaxed.rounded.lowerBound = relaxed.lowerBound;
  return relaxed;
}

Expected<RelaxedRetention> relaxRetention(const RetentionProblem &problem) {
  return RetentionProgram(problem).solve();
}

} // namespace strata::plan
