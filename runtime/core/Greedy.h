//===- Greedy.h - The most likely token -------------------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_GREEDY_H
#define STRATA_RUNTIME_CORE_GREEDY_H

#include <cstdint>

namespace strata::rt {

/// The token with the largest logit; of equal ones the smallest id. NaN never wins; −1 if all are
/// NaN.
int32_t greedyToken(const float *logits, int64_t vocabularySize);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_GREEDY_H
