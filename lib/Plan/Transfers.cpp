//===- Transfers.cpp - What moving a buffer costs -------------------------===//
#include "strata/lib/Plan/Transfers.h"

#include <algorithm>

namespace strata::plan {

/// Bytes per second that an engine gets of its link; 0: no limit.
static double getRate(const Machine &machine, const MachineEngine &engine) {
  double rate = engine.bandwidth;
  if (engine.link >= 0 && engine.link < int(machine.links.size())) {
    const MachineLink &link = machine.links[engine.link];
    double part = link.bandwidth / double(std::max(link.sharedBy, 1));
    if (part > 0 && (rate <= 0 || part < rate))
      rate = part;
  }
  return rate;
}

double getSeconds(const Machine &machine, int number, double operations, double bytes,
                  uint64_t rowBytes) {
  const MachineEngine &engine = machine.engines[number];
  double rate = getRate(machine, engine), seconds = 0;
  if (rate > 0)
    seconds = bytes / rate;
  if (rowBytes && engine.alignment > 1 && rowBytes % uint64_t(engine.alignment))
    seconds *= engine.unalignedFactor;
  return seconds + operations * engine.operationSeconds;
}

double getRowsSeconds(const Machine &machine, int engine, double rows, uint64_t rowBytes) {
  bool isCopy = machine.engines[engine].kind == MachineEngine::Kind::Copy;
  return getSeconds(machine, engine, isCopy ? rows : double(rows > 0), rows * double(rowBytes),
                    rowBytes);
}

Transfer findTransfer(const Machine &machine, double rows, uint64_t rowBytes) {
  Transfer best;
  for (auto kind : {MachineEngine::Kind::Gather, MachineEngine::Kind::Copy}) {
    int engine = machine.findEngine(kind, 1, 0);
    if (engine < 0)
      continue;
    double seconds = getRowsSeconds(machine, engine, rows, rowBytes);
    if (best.engine < 0 || seconds < best.seconds)
      best = {engine, seconds};
  }
  return best;
}

Transfer findCopy(const Machine &machine, uint64_t bytes) {
  Transfer best;
  for (auto kind : {MachineEngine::Kind::Copy, MachineEngine::Kind::Gather}) {
    int engine = machine.findEngine(kind, 1, 0);
    if (engine < 0)
      continue;
    double seconds = getSeconds(machine, engine, 1, double(bytes), 0);
    if (best.engine < 0 || seconds < best.seconds)
      best = {engine, seconds};
  }
  return best;
}

GroupSizes::GroupSizes(const Problem &problem, const RowGroup &group) : leastSlots(group.k) {
  for (int cache : group.caches) {
    rowBytes += problem.buffers[cache].rowBytes;
    wholeBytes += problem.buffers[cache].bytes;
    stagedBytes += problem.buffers[cache].stagedBytes;
    isNeverHot |= problem.buffers[cache].elsewhere != Buffer::Elsewhere::Rows;
  }
  isNeverHot |= !rowBytes || uint64_t(leastSlots) * rowBytes + stagedBytes >= wholeBytes;
}

double getExpectedMisses(const Problem &problem, const RowGroup &group, int64_t slots) {
  // Each sequence has its part of the slots.
  double part = double(slots) / double(group.k * std::max<int64_t>(problem.batch, 1));
  return double(problem.tokens * group.k) * group.misses.at(part);
}

double getGatherSeconds(const Problem &problem, const Machine &machine, const RowGroup &group,
                        int64_t slots) {
  double rows = getExpectedMisses(problem, group, slots);
  double seconds = 0;
  for (int cache : group.caches)
    seconds += findTransfer(machine, rows, problem.buffers[cache].rowBytes).seconds;
  return seconds;
}

} // namespace strata::plan
