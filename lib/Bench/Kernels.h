//===- Kernels.h - Loops that reach a processor's ceilings ------*- C++ -*-===//
//
// For measurements alone: the product's kernels come from passes.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_LIB_BENCH_KERNELS_H
#define STRATA_LIB_BENCH_KERNELS_H

#include <cstddef>
#include <cstdint>

namespace strata::bench {

/// How rows are asked for before they are read.
enum class Prefetch { None, ToFirstLevel, ToSecondLevel };

/// Loops for one set of instructions.
struct Kernels {
  const char *name; ///< "avx512", "avx2", "portable"

  /// Reads `bytes`, a multiple of 512, from an address that is a multiple of 64.
  uint64_t (*read)(const std::byte *data, size_t bytes);
  /// Reads the rows that `rows` lists, of `rowBytes` each, a multiple of 64. Row i + 4 is asked for
  /// before row i is read.
  uint64_t (*gather)(const std::byte *data, size_t rowBytes, const uint32_t *rows, size_t count,
                     Prefetch prefetch);
  /// `steps` steps of kMultiplyAdds multiplications with addition each, of f32 values that stay
  /// small. `values`: 64 numbers in (−1, 1).
  float (*multiplyAdd)(const float *values, int64_t steps);
  static constexpr int64_t kMultiplyAdds = 12 * 16;
  /// `steps` steps of kDots multiplications with addition each, of pairs of bf16 values that are
  /// added in f32. `values`: 128 numbers. Null where the processor has no such instruction.
  float (*dot)(const uint16_t *values, int64_t steps);
  static constexpr int64_t kDots = 12 * 32;
};

/// The best loops for this processor.
const Kernels &findKernels();

} // namespace strata::bench

#endif // STRATA_LIB_BENCH_KERNELS_H
