//===- Choice.h - The order in which scores are chosen ----------*- C++ -*-===//
#ifndef STRATA_LIB_REFERENCE_CHOICE_H
#define STRATA_LIB_REFERENCE_CHOICE_H

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace strata::reference {

/// The `k` best of `candidates` (numbers of scores), ascending: greater score first, then smaller
/// number; ±0 are equal, NaN counts as −∞.
inline std::vector<int32_t> chooseBest(llvm::ArrayRef<float> scores,
                                       std::vector<int32_t> candidates, int64_t k) {
  auto value = [&](int32_t i) {
    return std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i];
  };
  auto better = [&](int32_t a, int32_t b) {
    return value(a) != value(b) ? value(a) > value(b) : a < b;
  };
  if (k < int64_t(candidates.size())) {
    std::nth_element(candidates.begin(), candidates.begin() + k, candidates.end(), better);
    candidates.resize(k);
  }
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

/// 0 … count − 1.
inline std::vector<int32_t> numbersBelow(int64_t count) {
  std::vector<int32_t> numbers(count);
  for (int64_t i = 0; i < count; ++i)
    numbers[i] = int32_t(i);
  return numbers;
}

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_CHOICE_H
