//===- Greedy.cpp - The most likely token ---------------------------------===//
#include "strata/runtime/core/Greedy.h"

#include <cmath>

namespace strata::rt {

int32_t greedyToken(const float *logits, int64_t vocabularySize) {
  int32_t best = -1;
  for (int64_t id = 0; id < vocabularySize; ++id)
    if (!std::isnan(logits[id]) && (best < 0 || logits[id] > logits[best]))
      best = int32_t(id);
  return best;
}

} // namespace strata::rt
