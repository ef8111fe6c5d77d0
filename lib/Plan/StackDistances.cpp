//===- StackDistances.cpp - Miss curves of measured rows ------------------===//
#include "strata/lib/Plan/StackDistances.h"

#include "strata/lib/Support/Npy.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace strata::plan {

/// Sizes of hot sets at which curves are kept, as multiples of k: between them they are nearly
/// linear.
static constexpr double kMultiples[] = {1,  1.25, 1.5, 1.75, 2,  2.5, 3,  4,  5,  6,  8,
                                        10, 12,   16,  20,   24, 32,  48, 64, 96, 128};

namespace {

/// Counts of marked moments; P. M. Fenwick, "A new data structure for cumulative frequency tables",
/// 1994.
class Moments {
public:
  explicit Moments(size_t count) : sums(count + 1) {}

  void add(size_t moment, int32_t value) {
    for (size_t i = moment + 1; i < sums.size(); i += i & (~i + 1))
      sums[i] += value;
  }
  /// Marked moments before this one.
  int64_t countBefore(size_t moment) const {
    int64_t count = 0;
    for (size_t i = moment; i > 0; i &= i - 1)
      count += sums[i];
    return count;
  }

private:
  std::vector<int32_t> sums;
};

/// The stack of rows by their last use.
class Stack {
public:
  explicit Stack(size_t moments) : marks(moments) {}

  /// How many slots have the row; −1: no number of them.
  int64_t findDistance(int32_t row) const {
    auto found = lastUse.find(row);
    return found == lastUse.end() ? -1 : int64_t(lastUse.size()) - marks.countBefore(found->second);
  }
  void use(int32_t row) {
    auto [found, isNew] = lastUse.try_emplace(row, now);
    if (!isNew)
      marks.add(found->second, -1);
    found->second = now;
    marks.add(now++, 1);
  }

private:
  std::unordered_map<int32_t, size_t> lastUse;
  Moments marks;
  size_t now = 0;
};

} // namespace

MissCurve measureMissCurve(const int32_t *rows, int64_t steps, int64_t k, int64_t warmUp) {
  Stack stack(size_t(steps * k));
  std::vector<int32_t> step;
  std::vector<int64_t> distances;
  int64_t counted = 0;
  for (int64_t i = 0; i < steps; ++i) {
    step.assign(rows + i * k, rows + (i + 1) * k);
    step.erase(std::remove_if(step.begin(), step.end(), [](int32_t row) { return row < 0; }),
               step.end());
    std::sort(step.begin(), step.end());
    step.erase(std::unique(step.begin(), step.end()), step.end());
    if (i >= warmUp) {
      counted += int64_t(step.size());
      for (int32_t row : step)
        if (int64_t distance = stack.findDistance(row); distance >= 0)
          distances.push_back(distance);
    }
    for (int32_t row : step)
      stack.use(row);
  }

  MissCurve curve;
  if (!counted)
    return curve;
  std::sort(distances.begin(), distances.end());
  for (double multiple : kMultiples) {
    auto slots = int64_t(std::ceil(multiple * double(k)));
    auto hits = std::upper_bound(distances.begin(), distances.end(), slots) - distances.begin();
    curve.slots.push_back(multiple);
    curve.share.push_back(double(counted - hits) / double(counted));
    if (size_t(hits) == distances.size())
      break;
  }
  return curve;
}

Expected<std::vector<MissCurve>> readMissCurves(const std::string &path) {
  Expected<NpyArray<int32_t>> rows = readNpyIntegers(path);
  if (!rows.ok())
    return rows.status();
  if (rows->shape.size() != 3 || rows->shape[1] < 2 || rows->shape[2] < 1) {
    std::string shape;
    for (int64_t size : rows->shape)
      shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    return Status(StatusCode::InvalidArgument,
                  path + ": expected rows [indexers, steps, k] of at least two steps but got [" +
                      shape + "]");
  }
  std::vector<MissCurve> curves;
  int64_t steps = rows->shape[1], k = rows->shape[2];
  for (int64_t i = 0; i < rows->shape[0]; ++i)
    curves.push_back(measureMissCurve(rows->values.data() + i * steps * k, steps, k,
                                      std::max<int64_t>(steps / 10, 1)));
  return curves;
}

} // namespace strata::plan
