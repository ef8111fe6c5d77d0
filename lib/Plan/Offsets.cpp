//===- Offsets.cpp - Where buffers lie that live at other times -----------===//
#include "strata/lib/Plan/Offsets.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace strata::plan {

static uint64_t getMaxLive(const std::vector<LiveBytes> &buffers) {
  // What ends is subtracted only at the moment behind its last one.
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const LiveBytes &buffer : buffers) {
    changes.emplace_back(buffer.first, int64_t(buffer.bytes));
    changes.emplace_back(buffer.last + 1, -int64_t(buffer.bytes));
  }
  std::sort(changes.begin(), changes.end());
  int64_t live = 0, most = 0;
  for (const auto &[moment, bytes] : changes)
    most = std::max(most, live += bytes);
  return uint64_t(most);
}

/// Places buffers in this order. Returns where the last one ends.
static uint64_t place(const std::vector<LiveBytes> &buffers, const std::vector<size_t> &order,
                      std::vector<uint64_t> &offsets) {
  std::vector<size_t> placed; // by offset
  uint64_t end = 0;
  for (size_t number : order) {
    const LiveBytes &buffer = buffers[number];
    uint64_t gapBegin = 0, best = 0, tightest = ~uint64_t(0);
    for (size_t other : placed) {
      const LiveBytes &neighbour = buffers[other];
      if (neighbour.last < buffer.first || buffer.last < neighbour.first)
        continue;
      if (offsets[other] >= gapBegin + buffer.bytes && offsets[other] - gapBegin < tightest) {
        tightest = offsets[other] - gapBegin;
        best = gapBegin;
      }
      gapBegin = std::max(gapBegin, offsets[other] + neighbour.bytes);
    }
    offsets[number] = tightest == ~uint64_t(0) ? gapBegin : best;
    end = std::max(end, offsets[number] + buffer.bytes);
    auto isBelow = [&](uint64_t offset, size_t other) { return offset < offsets[other]; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offsets[number], isBelow), number);
  }
  return end;
}

Offsets assignOffsets(const std::vector<LiveBytes> &buffers, uint64_t alignment) {
  std::vector<LiveBytes> rounded = buffers;
  for (LiveBytes &buffer : rounded)
    buffer.bytes = (buffer.bytes + alignment - 1) / alignment * alignment;
  Offsets best;
  best.maxLive = getMaxLive(rounded);
  best.end = ~uint64_t(0);

  auto getSpan = [](const LiveBytes &buffer) { return double(buffer.last - buffer.first + 1); };
  const std::function<double(const LiveBytes &)> keys[] = {
      [&](const LiveBytes &buffer) { return -double(buffer.bytes); },
      [&](const LiveBytes &buffer) { return -double(buffer.bytes) * getSpan(buffer); },
      [&](const LiveBytes &buffer) { return -getSpan(buffer); },
      [&](const LiveBytes &buffer) { return double(buffer.first); },
  };
  std::vector<size_t> order(rounded.size());
  std::vector<uint64_t> offsets(rounded.size());
  for (const auto &key : keys) {
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(key(rounded[a]), a) < std::pair(key(rounded[b]), b);
    });
    uint64_t end = place(rounded, order, offsets);
    if (end >= best.end)
      continue;
    best.end = end;
    best.offsets = offsets;
    if (end <= best.maxLive)
      break;
  }
  return best;
}

} // namespace strata::plan
