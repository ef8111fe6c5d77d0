//===- TopK.cpp - Exact selection of the k best scores --------------------===//
#include "strata/runtime/cpu/TopK.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>
#include <limits>

namespace strata::rt {

Candidate makeCandidate(float score, int32_t position) {
  if (score != score)
    score = -std::numeric_limits<float>::infinity();
  if (score == 0)
    score = 0; // −0 becomes +0
  uint32_t bits;
  std::memcpy(&bits, &score, sizeof bits);
  // Negative floats order like their complement, the others above them.
  uint32_t key = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return uint64_t(key) << 32 | uint32_t(~uint32_t(position));
}

static float scoreOf(Candidate candidate) {
  uint32_t key = uint32_t(candidate >> 32);
  uint32_t bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
  float score;
  std::memcpy(&score, &bits, sizeof score);
  return score;
}

Candidate keepBest(Candidate *candidates, int64_t count, int64_t k, Candidate *scratch) {
  assert(k > 0 && count > k && "nothing to drop");
  std::copy(candidates, candidates + count, scratch);
  std::nth_element(scratch, scratch + (k - 1), scratch + count, std::greater<>());
  Candidate worst = scratch[k - 1];
  int64_t kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    Candidate candidate = candidates[i];
    candidates[kept] = candidate;
    kept += candidate >= worst;
  }
  assert(kept == k && "candidates differ");
  return worst;
}

void TopK::thin() {
  if (size_ <= k_)
    return;
  threshold_ = scoreOf(keepBest(candidates_, size_, k_, scratch_));
  hasThreshold_ = true;
  size_ = k_;
}

void TopK::add(const float *scores, int64_t count, int64_t firstPosition) {
  if (size_ + count > capacity_)
    thin();
  assert(size_ + count <= capacity_ && "block longer than announced");
  Candidate *end = candidates_ + size_;
  // Positions ascend, so an equal score that comes later loses against the k known ones. A
  // comparison with NaN is false, and one with −inf true for none but greater scores: both right.
  constexpr int64_t kStripe = 32;
  for (int64_t begin = 0; begin < count; begin += kStripe) {
    int64_t stripeEnd = std::min(begin + kStripe, count);
    int32_t nans = 0, above = 0;
    for (int64_t i = begin; i < stripeEnd; ++i) {
      nans += scores[i] != scores[i];
      above += scores[i] > threshold_;
    }
    nanScores_ += nans;
    if (!hasThreshold_) {
      for (int64_t i = begin; i < stripeEnd; ++i)
        *end++ = makeCandidate(scores[i], int32_t(firstPosition + i));
      continue;
    }
    if (above == 0)
      continue;
    for (int64_t i = begin; i < stripeEnd; ++i) {
      *end = makeCandidate(scores[i], int32_t(firstPosition + i));
      end += scores[i] > threshold_;
    }
  }
  size_ = end - candidates_;
}

TopK::Best TopK::best() {
  thin();
  return {candidates_, size_};
}

} // namespace strata::rt
