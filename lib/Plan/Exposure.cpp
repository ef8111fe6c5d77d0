//===- Exposure.cpp - What of a plan's transfers a step waits for ---------===//
#include "strata/lib/Plan/Exposure.h"

#include "strata/lib/Plan/Transfers.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

namespace strata::plan {

/// Of the seconds of an attention over rows, the part that scores them: it multiplies all of a
/// latent, the values only what is not position (576 and 512 elements of 1,088 for the models that
/// have such caches).
static constexpr double kScorePart = 0.53;

namespace {

class ArrivalFinder {
public:
  ArrivalFinder(const Problem &problem, const Machine &machine, const Plan &plan)
      : problem(problem), machine(machine), plan(plan) {}

  std::vector<Arrival> find() {
    for (size_t i = 0; i < problem.groups.size(); ++i)
      if (plan.slotsOfGroup[i])
        addRows(problem.groups[i], plan.slotsOfGroup[i]);
    addTurns(/*areWeights=*/true, 2);
    addTurns(/*areWeights=*/false, 1);
    addStreams();
    return std::move(arrivals);
  }

private:
  void add(int buffer, int64_t ready, int64_t command, double seconds, double headStart) {
    if (seconds > 0)
      arrivals.push_back({machine.engines[plan.decisions[buffer].engine].link,
                          std::min(ready, command - 1), command, seconds, headStart});
  }
  void addRows(const RowGroup &group, int64_t slots) {
    double rows = getExpectedMisses(problem, group, slots);
    double hits = 1 - rows / double(std::max<int64_t>(problem.tokens * group.k, 1));
    for (size_t i = 0; i < group.caches.size(); ++i) {
      const Buffer &cache = problem.buffers[group.caches[i]];
      double headStart =
          i == 0 ? kScorePart * std::max(hits, 0.0) * getCommandSeconds(cache.lastUse) : 0;
      add(group.caches[i], group.known, cache.lastUse,
          getRowsSeconds(machine, plan.decisions[group.caches[i]].engine, rows, cache.rowBytes),
          headStart);
    }
  }
  double getCommandSeconds(int64_t command) const {
    return command >= 0 && command < int64_t(problem.commandSeconds.size())
               ? problem.commandSeconds[command]
               : 0;
  }
  /// Buffers that come one after the other through `sets` sets of slots. What one command reads
  /// comes at the same time.
  void addTurns(bool areWeights, size_t sets) {
    std::map<int64_t, std::vector<int>> byCommand;
    for (const Decision &decision : plan.decisions) {
      const Buffer &buffer = problem.buffers[decision.buffer];
      if (!decision.isNear && buffer.elsewhere == Buffer::Elsewhere::Reload &&
          areWeights == (buffer.bufferClass == BufferClass::Weights))
        byCommand[buffer.firstUse].push_back(decision.buffer);
    }
    std::vector<int64_t> lastUses;
    for (const auto &[command, buffers] : byCommand) {
      int64_t ready = lastUses.size() < sets ? -1 : lastUses[lastUses.size() - sets], last = 0;
      for (int number : buffers) {
        const Buffer &buffer = problem.buffers[number];
        last = std::max(last, buffer.lastUse);
        add(number, ready, command, getRangeSeconds(number), 0);
      }
      lastUses.push_back(last);
    }
  }
  void addStreams() {
    for (const Decision &decision : plan.decisions) {
      const Buffer &buffer = problem.buffers[decision.buffer];
      if (!decision.isNear && buffer.elsewhere == Buffer::Elsewhere::Stream)
        add(decision.buffer, buffer.lastUse - 1, buffer.lastUse, getRangeSeconds(decision.buffer),
            getCommandSeconds(buffer.lastUse));
    }
  }
  double getRangeSeconds(int buffer) const {
    return getSeconds(machine, plan.decisions[buffer].engine, 1,
                      double(problem.buffers[buffer].bytesPerStep), 0);
  }

  const Problem &problem;
  const Machine &machine;
  const Plan &plan;
  std::vector<Arrival> arrivals;
};

/// A link on its way through a step.
class Link {
public:
  void add(const Arrival &arrival, double now) { waiting.push({&arrival, now}); }
  /// Starts what it can before `now`.
  void advance(double now) {
    while (!waiting.empty() && freeAt < now)
      startNext();
  }
  /// Starts all that a command needs.
  void bring(int64_t command) {
    while (!waiting.empty() && waiting.top().arrival->command <= command)
      startNext();
  }
  /// When a command may start for all that the link has brought it.
  double getStart(int64_t command) const {
    auto found = starts.find(command);
    return found == starts.end() ? 0 : found->second;
  }

private:
  struct Waiting {
    const Arrival *arrival;
    double since;
    bool operator<(const Waiting &other) const { return arrival->command > other.arrival->command; }
  };
  void startNext() {
    Waiting next = waiting.top();
    waiting.pop();
    freeAt = std::max(freeAt, next.since) + next.arrival->seconds;
    double &start = starts[next.arrival->command];
    start = std::max(start, freeAt - next.arrival->headStart);
  }

  std::priority_queue<Waiting> waiting; ///< the earliest deadline on top
  std::map<int64_t, double> starts;     ///< by command
  double freeAt = 0;
};

} // namespace

std::vector<Arrival> findArrivals(const Problem &problem, const Machine &machine,
                                  const Plan &plan) {
  return ArrivalFinder(problem, machine, plan).find();
}

double getExposedSeconds(const std::vector<double> &commandSeconds, std::vector<Arrival> arrivals) {
  std::sort(arrivals.begin(), arrivals.end(), [](const Arrival &a, const Arrival &b) {
    return std::tie(a.ready, a.command, a.seconds) < std::tie(b.ready, b.command, b.seconds);
  });
  std::map<int, Link> links;
  double now = 0, exposed = 0;
  auto next = arrivals.begin();
  for (int64_t command = 0; command < int64_t(commandSeconds.size()); ++command) {
    for (auto &[number, link] : links)
      link.advance(now);
    for (; next != arrivals.end() && next->ready < command; ++next)
      links[next->link].add(*next, now);
    double start = now;
    for (auto &[number, link] : links) {
      link.bring(command);
      start = std::max(start, link.getStart(command));
    }
    exposed += start - now;
    now = start + commandSeconds[command];
  }
  return exposed;
}

} // namespace strata::plan
