//===- Plan.cpp - The ordered greedy and its bound ------------------------===//
//
// What stays near is a knapsack whose hot sets can be cut anywhere. Candidates are taken in the
// order of seconds saved for a byte. Where one doesn't fit, plans that leave out any one and go on
// are compared as well, and what is left of the memory goes to the next hot set. All plans
// that are compared are the same for every capacity and only those that fit take part, so more
// memory never gives a slower plan.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Plan/Candidates.h"
#include "strata/lib/Plan/Exposure.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace strata::plan {

/// Every buffer of the near tier begins at a multiple of this.
static constexpr uint64_t kAlignment = 64;

/// Plans for smaller capacities that are compared: so many that they have this many buffers.
static constexpr int64_t kComparedBuffers = 30000, kLeastPlans = 16, kMostPlans = 128;
/// Sizes of weights that bounds tell apart.
static constexpr size_t kMostSizes = 64;
/// Steps that differ by no more take the same time.
static constexpr double kEqual = 1e-12;

static std::string describeBytes(uint64_t bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%llu bytes (%.2f MiB)", (unsigned long long)bytes,
                double(bytes) / 0x1p20);
  return text;
}

namespace {

/// One of the plans that are compared: the first `taken` candidates but `skipped`, and some more
/// slots of the group of candidate `filled`.
struct Choice {
  size_t taken = 0;
  int64_t skipped = -1, filled = -1;
  int64_t filledSlots = 0;
  double savedSeconds = -1;
};

class Chooser {
public:
  Chooser(const Problem &problem, const Machine &machine);

  uint64_t getLeastCapacity() const { return getNearBytes(0, -1); }
  /// With which nothing moves.
  uint64_t getMostCapacity() const { return getNearBytes(candidates.order.size(), -1); }
  /// The capacity must be feasible.
  Choice choose(uint64_t capacity) const;
  /// Seconds of transfers that no plan gets below: candidates are cut anywhere, and of slots only
  /// that of weights is counted.
  double getBound(uint64_t capacity) const;
  double getMovedSeconds() const { return candidates.movedSeconds; }
  std::vector<Decision> decide(const Choice &choice, std::vector<int64_t> &slotsOfGroup) const;

private:
  /// The same if weights larger than `largest` stay, and the slot takes `slot` bytes; infinity if
  /// that doesn't fit.
  double getRelaxedSeconds(uint64_t capacity, uint64_t largest, uint64_t slot) const;
  bool isWeight(int buffer) const {
    return problem.buffers[buffer].bufferClass == BufferClass::Weights;
  }
  /// Near bytes with the first `taken` candidates but `skipped`.
  uint64_t getNearBytes(size_t taken, int64_t skipped) const;
  /// The most candidates that fit, at least `from` of them.
  size_t findMost(uint64_t capacity, size_t from, int64_t skipped) const;
  void fill(uint64_t capacity, Choice &choice) const;

  const Problem &problem;
  const Machine &machine;
  Candidates candidates;
  std::vector<uint64_t> bytes;     ///< of the first i candidates
  std::vector<double> seconds;     ///< saved by the first i candidates
  std::vector<SharedBytes> shared; ///< by the candidates from i on, if they moved
  std::vector<size_t> nextGroup;   ///< the first candidate from i on that is of a group
};

} // namespace

Chooser::Chooser(const Problem &problem, const Machine &machine)
    : problem(problem), machine(machine), candidates(problem, machine) {
  size_t count = candidates.order.size();
  bytes.assign(count + 1, 0);
  seconds.assign(count + 1, 0);
  shared.resize(count + 1);
  nextGroup.assign(count + 1, count);
  for (size_t i = 0; i < count; ++i) {
    bytes[i + 1] = bytes[i] + candidates.order[i].bytes;
    seconds[i + 1] = seconds[i] + candidates.order[i].seconds;
  }
  for (size_t i = count; i-- > 0;) {
    shared[i] = shared[i + 1];
    const Candidate &candidate = candidates.order[i];
    if (candidate.buffer >= 0)
      shared[i].add(problem, problem.buffers[candidate.buffer]);
    nextGroup[i] = candidate.group >= 0 ? i : nextGroup[i + 1];
  }
}

uint64_t Chooser::getNearBytes(size_t taken, int64_t skipped) const {
  SharedBytes slots = shared[taken];
  uint64_t total = candidates.leastBytes + bytes[taken];
  if (skipped >= 0) {
    if (candidates.order[skipped].buffer >= 0)
      slots.add(problem, problem.buffers[candidates.order[skipped].buffer]);
    total -= candidates.order[skipped].bytes;
  }
  return total + slots.getTotal();
}

size_t Chooser::findMost(uint64_t capacity, size_t from, int64_t skipped) const {
  size_t low = from, high = candidates.order.size();
  while (low < high) {
    size_t middle = low + (high - low + 1) / 2;
    if (getNearBytes(middle, skipped) <= capacity)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

void Chooser::fill(uint64_t capacity, Choice &choice) const {
  choice.savedSeconds = seconds[choice.taken];
  if (choice.skipped >= 0)
    choice.savedSeconds -= candidates.order[choice.skipped].seconds;
  size_t next = nextGroup[choice.taken];
  if (next == candidates.order.size())
    return;
  const Candidate &candidate = candidates.order[next];
  const RowGroup &group = problem.groups[candidate.group];
  uint64_t left = capacity - getNearBytes(choice.taken, choice.skipped);
  int64_t slots =
      std::min(candidate.toSlots - 1,
               candidate.fromSlots + int64_t(left / GroupSizes(problem, group).rowBytes));
  if (slots <= candidate.fromSlots)
    return;
  double saved = getGatherSeconds(problem, machine, group, candidate.fromSlots) -
                 getGatherSeconds(problem, machine, group, slots);
  if (saved <= 0)
    return;
  choice.filled = int64_t(next);
  choice.filledSlots = slots;
  choice.savedSeconds += saved;
}

Choice Chooser::choose(uint64_t capacity) const {
  Choice best;
  best.taken = findMost(capacity, 0, -1);
  fill(capacity, best);
  if (best.taken == candidates.order.size())
    return best;
  for (size_t skipped = 0; skipped <= best.taken && skipped < candidates.order.size(); ++skipped) {
    if (!candidates.order[skipped].isLast ||
        getNearBytes(std::max(best.taken, skipped + 1), int64_t(skipped)) > capacity)
      continue;
    Choice choice;
    choice.skipped = int64_t(skipped);
    choice.taken = findMost(capacity, std::max(best.taken, skipped + 1), choice.skipped);
    fill(capacity, choice);
    if (choice.savedSeconds > best.savedSeconds)
      best = choice;
  }
  return best;
}

double Chooser::getRelaxedSeconds(uint64_t capacity, uint64_t largest, uint64_t slot) const {
  auto mustStay = [&](const Candidate &candidate) {
    return candidate.buffer >= 0 && isWeight(candidate.buffer) &&
           problem.buffers[candidate.buffer].bytes > largest;
  };
  double room = double(capacity) - double(candidates.leastBytes) - double(slot);
  double left = candidates.movedSeconds;
  for (const Candidate &candidate : candidates.order)
    if (mustStay(candidate)) {
      room -= double(candidate.bytes);
      left -= candidate.seconds;
    }
  if (room < 0)
    return std::numeric_limits<double>::infinity();
  for (const Candidate &candidate : candidates.order) {
    if (mustStay(candidate))
      continue;
    double bytes = double(candidate.bytes);
    left -= bytes <= room ? candidate.seconds : candidate.seconds * room / bytes;
    room -= std::min(room, bytes);
    if (room <= 0)
      break;
  }
  return std::max(0.0, left);
}

double Chooser::getBound(uint64_t capacity) const {
  std::vector<uint64_t> sizes{0};
  for (const Candidate &candidate : candidates.order)
    if (candidate.buffer >= 0 && isWeight(candidate.buffer))
      sizes.push_back(problem.buffers[candidate.buffer].bytes);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  // The largest weight that moves has one of these sizes, and the slot is as large. Many sizes are
  // taken some at a time.
  double bound = std::numeric_limits<double>::infinity();
  size_t step = (sizes.size() + kMostSizes - 1) / kMostSizes;
  for (size_t first = 0; first < sizes.size(); first += step) {
    size_t last = std::min(first + step, sizes.size()) - 1;
    bound = std::min(bound, getRelaxedSeconds(capacity, sizes[last], sizes[first]));
  }
  return bound;
}

std::vector<Decision> Chooser::decide(const Choice &choice,
                                      std::vector<int64_t> &slotsOfGroup) const {
  std::vector<Decision> decisions(problem.buffers.size());
  for (size_t i = 0; i < decisions.size(); ++i) {
    decisions[i].buffer = int(i);
    Buffer::Elsewhere elsewhere = problem.buffers[i].elsewhere;
    decisions[i].isNear = elsewhere == Buffer::Elsewhere::Never ||
                          elsewhere == Buffer::Elsewhere::Rows ||
                          candidates.alwaysNear.count(int(i));
  }
  slotsOfGroup.clear();
  for (const RowGroup &group : problem.groups) {
    GroupSizes sizes(problem, group);
    slotsOfGroup.push_back(sizes.isNeverHot ? 0 : sizes.leastSlots);
  }
  auto grow = [&](int group, int64_t slots) {
    bool isWhole = slots >= GroupSizes(problem, problem.groups[group]).getWholeSlots();
    slotsOfGroup[group] = isWhole ? 0 : slots;
  };
  for (size_t i = 0; i < choice.taken; ++i) {
    const Candidate &candidate = candidates.order[i];
    if (int64_t(i) == choice.skipped)
      continue;
    if (candidate.group >= 0)
      grow(candidate.group, candidate.toSlots);
    else
      decisions[candidate.buffer].isNear = true;
  }
  if (choice.filled >= 0)
    grow(candidates.order[choice.filled].group, choice.filledSlots);
  for (size_t i = 0; i < problem.groups.size(); ++i)
    for (int cache : problem.groups[i].caches) {
      decisions[cache].isNear = slotsOfGroup[i] == 0;
      decisions[cache].slots = slotsOfGroup[i];
    }
  return decisions;
}

/// Gives each buffer that moved and has no engine yet the quickest one.
static void assignEngines(const Problem &problem, const Machine &machine, Plan &plan) {
  for (size_t i = 0; i < problem.groups.size(); ++i)
    for (int cache : problem.groups[i].caches) {
      Decision &decision = plan.decisions[cache];
      if (decision.isNear)
        decision.engine = -1;
      else if (decision.engine < 0)
        decision.engine =
            findTransfer(machine,
                         getExpectedMisses(problem, problem.groups[i], plan.slotsOfGroup[i]),
                         problem.buffers[cache].rowBytes)
                .engine;
    }
  for (Decision &decision : plan.decisions) {
    const Buffer &buffer = problem.buffers[decision.buffer];
    if (decision.isNear)
      decision.engine = -1;
    else if (decision.engine < 0 && buffer.elsewhere != Buffer::Elsewhere::Rows)
      decision.engine = findCopy(machine, buffer.bytesPerStep).engine;
    decision.engineName = decision.engine < 0 ? "" : machine.engines[decision.engine].name;
  }
}

/// Gives every near part an offset, and adds all up. Nothing of it ever gives way to something else
/// within a step, except what shares slots.
static void addBytes(const Problem &problem, Plan &plan) {
  SharedBytes shared;
  uint64_t end = 0;
  auto take = [&](uint64_t bytes) {
    uint64_t begin = (end + kAlignment - 1) / kAlignment * kAlignment;
    end = begin + bytes;
    return begin;
  };
  plan.nearBytes = 0;
  for (Decision &decision : plan.decisions) {
    const Buffer &buffer = problem.buffers[decision.buffer];
    if (!decision.isNear) {
      take(buffer.stagedBytes);
      plan.nearBytes += buffer.stagedBytes;
    }
    if (!decision.isNear && buffer.elsewhere != Buffer::Elsewhere::Rows) {
      shared.add(problem, buffer);
      continue;
    }
    uint64_t bytes = decision.isNear ? buffer.bytes : uint64_t(decision.slots) * buffer.rowBytes;
    decision.offset = take(bytes);
    plan.nearBytes += bytes;
  }
  plan.nearBytes += shared.getTotal();
  plan.weightSlots.clear();
  if (shared.weights)
    plan.weightSlots.push_back(shared.weights);
  uint64_t weights = take(shared.weights), pages = take(shared.pages), blocks = take(shared.blocks);
  for (Decision &decision : plan.decisions) {
    const Buffer &buffer = problem.buffers[decision.buffer];
    if (decision.isNear || buffer.elsewhere == Buffer::Elsewhere::Rows)
      continue;
    if (buffer.elsewhere == Buffer::Elsewhere::Stream)
      decision.offset = blocks;
    else
      decision.offset = buffer.bufferClass == BufferClass::Weights ? weights : pages;
  }
}

static double getTransferSeconds(const Problem &problem, const Machine &machine, const Plan &plan) {
  double total = 0;
  for (const Decision &decision : plan.decisions) {
    const Buffer &buffer = problem.buffers[decision.buffer];
    if (!decision.isNear && buffer.elsewhere != Buffer::Elsewhere::Rows)
      total += getSeconds(machine, decision.engine, 1, double(buffer.bytesPerStep), 0);
  }
  for (size_t i = 0; i < problem.groups.size(); ++i) {
    if (!plan.slotsOfGroup[i])
      continue;
    double rows = getExpectedMisses(problem, problem.groups[i], plan.slotsOfGroup[i]);
    for (int cache : problem.groups[i].caches)
      total += getRowsSeconds(machine, plan.decisions[cache].engine, rows,
                              problem.buffers[cache].rowBytes);
  }
  return total;
}

static double getComputeSeconds(const Problem &problem) {
  return std::accumulate(problem.commandSeconds.begin(), problem.commandSeconds.end(), 0.0);
}

/// Engines and times of a plan.
static void predict(const Problem &problem, const Machine &machine, Plan &plan) {
  assignEngines(problem, machine, plan);
  double compute = getComputeSeconds(problem);
  plan.transferSeconds = getTransferSeconds(problem, machine, plan);
  plan.stepSeconds = std::max(compute, plan.transferSeconds);
  plan.exposedSeconds =
      getExposedSeconds(problem.commandSeconds, findArrivals(problem, machine, plan));
  plan.scheduledSeconds = compute + plan.exposedSeconds;
}

static Plan decide(const Problem &problem, const Machine &machine, const Chooser &chooser,
                   uint64_t capacity) {
  Plan plan;
  plan.decisions = chooser.decide(chooser.choose(capacity), plan.slotsOfGroup);
  predict(problem, machine, plan);
  return plan;
}

/// The best plan for a capacity. Where transfers hide under work anyway, fewer of them are no gain,
/// but those that remain may come at a worse moment. Then plans for smaller capacities are compared
/// as well; they are the same for all capacities.
static Plan decideBest(const Problem &problem, const Machine &machine, const Chooser &chooser,
                       uint64_t capacity) {
  Plan best = decide(problem, machine, chooser, capacity);
  uint64_t least = chooser.getLeastCapacity();
  double range = double(chooser.getMostCapacity() - least);
  auto count =
      std::clamp(int64_t(kComparedBuffers / (problem.buffers.size() + 1)), kLeastPlans, kMostPlans);
  for (int64_t i = count; i >= 0 && best.exposedSeconds > 0; --i) {
    uint64_t smaller = least + uint64_t(range * double(i) / double(count));
    if (smaller >= capacity)
      continue;
    Plan plan = decide(problem, machine, chooser, smaller);
    if (plan.stepSeconds > best.stepSeconds * (1 + kEqual))
      break; // and so are those for even less
    if (plan.scheduledSeconds < best.scheduledSeconds)
      best = std::move(plan);
  }
  return best;
}

/// What follows from the decisions.
static void evaluate(const Problem &problem, const Machine &machine, const Chooser &chooser,
                     Plan &plan) {
  predict(problem, machine, plan);
  addBytes(problem, plan);
  plan.machine = machine.name;
  plan.context = problem.context;
  plan.batch = problem.batch;
  plan.tokens = problem.tokens;
  plan.capacity = problem.capacity;
  plan.solver = "greedy";
  plan.leastCapacity = chooser.getLeastCapacity();
  plan.lowerBound = std::max(getComputeSeconds(problem), chooser.getBound(problem.capacity));
  if (problem.capacity < plan.leastCapacity)
    return;

  // Shadow prices: the same problem with one more unit of each.
  double now = decideBest(problem, machine, chooser, problem.capacity).scheduledSeconds;
  auto getSaved = [&](const Machine &other, const Chooser &its, uint64_t capacity) {
    return std::max(0.0, now - decideBest(problem, other, its, capacity).scheduledSeconds);
  };
  plan.perGigabyte = getSaved(machine, chooser, problem.capacity + 1000000000);
  Machine faster = machine;
  for (MachineLink &link : faster.links)
    link.bandwidth += link.bandwidth > 0 ? 1e10 : 0;
  for (MachineEngine &engine : faster.engines)
    engine.bandwidth += engine.bandwidth > 0 ? 1e10 : 0;
  plan.perTenGigabytesPerSecond = getSaved(faster, Chooser(problem, faster), problem.capacity);
}

Expected<Plan> makePlan(const Problem &problem, const Machine &machine) {
  Chooser chooser(problem, machine);
  if (problem.capacity < chooser.getLeastCapacity())
    return Status(StatusCode::OutOfMemory, "expected at least " +
                                               describeBytes(chooser.getLeastCapacity()) + " of " +
                                               machine.tiers.front().name + " but there are " +
                                               describeBytes(problem.capacity));
  Plan plan = decideBest(problem, machine, chooser, problem.capacity);
  evaluate(problem, machine, chooser, plan);
  return plan;
}

/// The engine of that name which brings data from the next tier to the near one; −1: none.
static int findInwardEngine(const Machine &machine, const std::string &name) {
  for (size_t i = 0; i < machine.engines.size(); ++i)
    if (const MachineEngine &engine = machine.engines[i];
        engine.name == name && engine.to == 0 && engine.from == 1)
      return int(i);
  return -1;
}

Status checkPlan(const Problem &problem, const Machine &machine, Plan &plan) {
  auto error = [](const std::string &text) { return Status(StatusCode::InvalidArgument, text); };
  if (plan.decisions.size() != problem.buffers.size() ||
      plan.slotsOfGroup.size() != problem.groups.size())
    return error("expected a decision for each buffer and each group");
  for (Decision &decision : plan.decisions) {
    const Buffer &buffer = problem.buffers[decision.buffer];
    if (!decision.isNear && buffer.elsewhere == Buffer::Elsewhere::Never)
      return error("'" + buffer.name + "' can't leave " + machine.tiers.front().name);
    if (decision.isNear || decision.engineName.empty())
      continue;
    decision.engine = findInwardEngine(machine, decision.engineName);
    if (decision.engine < 0)
      return error("'" + buffer.name + "': expected an engine from " + machine.tiers[1].name +
                   " to " + machine.tiers.front().name + " but got '" + decision.engineName + "'");
  }
  for (size_t i = 0; i < problem.groups.size(); ++i) {
    const RowGroup &group = problem.groups[i];
    int64_t slots = plan.slotsOfGroup[i];
    if (slots && slots < group.k)
      return error("group '" + group.name + "': expected no slots or at least the " +
                   std::to_string(group.k) + " that a token needs but got " +
                   std::to_string(slots));
    for (int cache : group.caches) {
      if (plan.decisions[cache].isNear != (slots == 0))
        return error("group '" + group.name + "' has " +
                     (slots ? std::to_string(slots) + " slots, so '" : "no slots, so '") +
                     problem.buffers[cache].name + "' " + (slots ? "can't" : "must") + " be near");
      plan.decisions[cache].slots = slots;
    }
  }
  Chooser chooser(problem, machine);
  evaluate(problem, machine, chooser, plan);
  if (plan.nearBytes > problem.capacity)
    return Status(StatusCode::OutOfMemory, "the plan needs " + describeBytes(plan.nearBytes) +
                                               " of " + machine.tiers.front().name +
                                               " but there are " + describeBytes(problem.capacity));
  return Status::success();
}

} // namespace strata::plan
