//===- Candidates.cpp - What may stay near, the dearest first -------------===//
#include "strata/lib/Plan/Candidates.h"

#include <algorithm>
#include <cmath>

namespace strata::plan {

void SharedBytes::add(const Problem &problem, const Buffer &buffer) {
  switch (buffer.elsewhere) {
  case Buffer::Elsewhere::Reload:
    (buffer.bufferClass == BufferClass::Weights ? weights : pages) =
        std::max(buffer.bufferClass == BufferClass::Weights ? weights : pages, buffer.bytes);
    break;
  case Buffer::Elsewhere::Stream:
    blocks = std::max(blocks, 2 * uint64_t(problem.blockRecords) * buffer.rowBytes);
    break;
  case Buffer::Elsewhere::Never:
  case Buffer::Elsewhere::Rows:
    break;
  }
}

/// Numbers of slots at which the seconds of a group's gathers bend, and those seconds.
using Curve = std::vector<std::pair<int64_t, double>>;

/// The lower convex hull: between its points more slots save less and less (water-filling is
/// optimal then). From A. M. Andrew, "Another efficient algorithm for convex hulls", 1979.
static Curve getHull(const Curve &points) {
  Curve hull;
  for (const auto &point : points) {
    auto isAbove = [&] {
      auto [x0, y0] = hull[hull.size() - 2];
      auto [x1, y1] = hull.back();
      return (y1 - y0) * double(point.first - x0) >= (point.second - y0) * double(x1 - x0);
    };
    while (hull.size() > 1 && isAbove())
      hull.pop_back();
    hull.push_back(point);
  }
  return hull;
}

static Curve getCurve(const Problem &problem, const Machine &machine, const RowGroup &group,
                      const GroupSizes &sizes) {
  int64_t whole = sizes.getWholeSlots(), previous = sizes.leastSlots;
  Curve points{{previous, getGatherSeconds(problem, machine, group, previous)}};
  for (double multiple : group.misses.slots) {
    auto slots = int64_t(std::ceil(multiple * double(group.k * problem.batch)));
    if (slots <= previous || slots >= whole)
      continue;
    points.emplace_back(slots, getGatherSeconds(problem, machine, group, slots));
    previous = slots;
  }
  if (whole > previous)
    points.emplace_back(whole, 0);
  return getHull(points);
}

Candidates::Candidates(const Problem &problem, const Machine &machine) {
  for (size_t number = 0; number < problem.buffers.size(); ++number) {
    const Buffer &buffer = problem.buffers[number];
    if (buffer.elsewhere == Buffer::Elsewhere::Never)
      leastBytes += buffer.bytes;
    if (buffer.elsewhere != Buffer::Elsewhere::Reload &&
        buffer.elsewhere != Buffer::Elsewhere::Stream)
      continue;
    if (buffer.stagedBytes >= buffer.bytes) {
      leastBytes += buffer.bytes;
      alwaysNear.insert(int(number));
      continue;
    }
    leastBytes += buffer.stagedBytes;
    Candidate candidate;
    candidate.buffer = int(number);
    candidate.bytes = buffer.bytes - buffer.stagedBytes;
    candidate.seconds = findCopy(machine, buffer.bytesPerStep).seconds;
    candidate.firstUse = buffer.firstUse;
    movedSeconds += candidate.seconds;
    order.push_back(candidate);
  }
  for (size_t number = 0; number < problem.groups.size(); ++number) {
    const RowGroup &group = problem.groups[number];
    GroupSizes sizes(problem, group);
    if (sizes.isNeverHot) {
      for (int cache : group.caches)
        if (problem.buffers[cache].elsewhere == Buffer::Elsewhere::Rows)
          leastBytes += problem.buffers[cache].bytes;
      continue;
    }
    leastBytes += uint64_t(sizes.leastSlots) * sizes.rowBytes + sizes.stagedBytes;
    movedSeconds += getGatherSeconds(problem, machine, group, sizes.leastSlots);
    Curve curve = getCurve(problem, machine, group, sizes);
    for (size_t i = 1; i < curve.size(); ++i) {
      Candidate candidate;
      candidate.group = int(number);
      candidate.fromSlots = curve[i - 1].first;
      candidate.toSlots = curve[i].first;
      candidate.isLast = i + 1 == curve.size();
      candidate.bytes = uint64_t(candidate.toSlots - candidate.fromSlots) * sizes.rowBytes;
      // Pools are whole pages of records, so this is what the last slots really need.
      if (candidate.toSlots == sizes.getWholeSlots())
        candidate.bytes =
            sizes.wholeBytes - sizes.stagedBytes - uint64_t(candidate.fromSlots) * sizes.rowBytes;
      candidate.seconds = curve[i - 1].second - curve[i].second;
      candidate.firstUse = problem.buffers[group.caches.front()].firstUse;
      order.push_back(candidate);
    }
  }
  std::sort(order.begin(), order.end(), [](const Candidate &a, const Candidate &b) {
    double first = a.getDensity(), second = b.getDensity();
    if (first != second)
      return first > second;
    if (a.firstUse != b.firstUse)
      return a.firstUse < b.firstUse;
    return a.group != b.group || a.group < 0
               ? std::pair(a.group, a.buffer) < std::pair(b.group, b.buffer)
               : a.fromSlots < b.fromSlots;
  });
}

} // namespace strata::plan
