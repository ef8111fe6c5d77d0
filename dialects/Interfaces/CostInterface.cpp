//===- CostInterface.cpp - What an op costs in a step ---------------------===//
#include "strata/dialects/Interfaces/CostInterface.h"

#include <algorithm>
#include <cmath>

#include "strata/dialects/Interfaces/CostInterface.cpp.inc"

double strata::StepSizes::visibleUpTo(double limit) const {
  double least = visible - spread, most = visible + spread;
  if (limit <= least || limit >= most)
    return std::min(visible, limit);
  // The whole numbers from `least` to `most`: those up to the limit count as they are.
  double count = most - least + 1, below = std::floor(limit - least) + 1;
  double lastBelow = least + below - 1;
  return (below * (least + lastBelow) / 2 + (count - below) * limit) / count;
}
