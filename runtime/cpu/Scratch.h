//===- Scratch.h - Memory that commands need besides the arena --*- C++ -*-===//
//
// Functions of the package alone: the compiler tells the workspace of a package with them, the
// executor allocates by them.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_RUNTIME_CPU_SCRATCH_H
#define STRATA_RUNTIME_CPU_SCRATCH_H

#include <algorithm>
#include <cstdint>

namespace strata::rt {

/// Scores of one call of a scoring kernel: they stay in the first-level cache.
constexpr int64_t kScoreBlock = 2048;

/// Most rows that a product gives to the library at once.
constexpr int64_t kMaxBlockRows = 8;

constexpr uint64_t roundUpTo64(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Candidates of room that a selection of k among scores in blocks needs.
constexpr int64_t topKStorage(int64_t k, int64_t block) { return 2 * (2 * k + block); }

/// Bytes that each thread needs to select k positions among more.
constexpr uint64_t selectScratchBytes(int64_t k) {
  return roundUpTo64(kScoreBlock * sizeof(float)) +
         uint64_t(topKStorage(k, kScoreBlock)) * sizeof(uint64_t);
}

/// Parts of the positions of one step's tokens that are selected from apart, at most.
constexpr int64_t maxSelectParts(int64_t threads) { return 4 * threads; }

/// Bytes that all threads share then: candidates of parts, and as much room to merge them.
constexpr uint64_t selectSharedBytes(int64_t k, int64_t threads) {
  return 2 * uint64_t(maxSelectParts(threads) * k) * sizeof(uint64_t);
}

/// Outputs of a product that are computed at once: about as many f32 weights as stay in a
/// second-level cache beside the rows. A transposed weight comes in rows of all outputs; it is a
/// small one (a head's), taken whole.
constexpr int64_t productBlockOutputs(int64_t inputs, int64_t outputs, bool transposed) {
  constexpr int64_t kWeights = 128 * 1024, kMost = 64, kLeast = 16;
  return transposed ? outputs
                    : std::min(outputs, std::clamp(kWeights / inputs / 16 * 16, kLeast, kMost));
}

/// Floats, rounded up to whole cache lines.
constexpr int64_t paddedFloats(int64_t count) { return (count + 15) / 16 * 16; }

/// Bytes that each thread needs for a product: a block of the weight, rows of inputs and of
/// outputs.
constexpr uint64_t productScratchBytes(int64_t inputs, int64_t outputs, bool transposed) {
  int64_t blockOutputs = productBlockOutputs(inputs, outputs, transposed);
  return sizeof(float) *
         uint64_t(paddedFloats(inputs * blockOutputs) + paddedFloats(inputs * kMaxBlockRows) +
                  paddedFloats(blockOutputs * kMaxBlockRows));
}

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_SCRATCH_H
