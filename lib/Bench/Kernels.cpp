//===- Kernels.cpp - Loops that reach a processor's ceilings --------------===//
//
// One text for each loop, compiled for several sets of instructions: vectors of 64 bytes become
// one, two or four registers.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Bench/Kernels.h"

#include <cstring>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace strata::bench {

namespace {

typedef uint64_t Words __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(64)));
constexpr size_t kLine = 64;
constexpr size_t kRowsAhead = 4;

#define ALWAYS_INLINE inline __attribute__((always_inline))

template <typename Vector> ALWAYS_INLINE void load(Vector &vector, const void *data) {
  std::memcpy(&vector, data, sizeof vector);
}

ALWAYS_INLINE uint64_t sumOf(const Words &words) {
  uint64_t sum = 0;
  for (int i = 0; i < 8; ++i)
    sum += words[i];
  return sum;
}

ALWAYS_INLINE uint64_t readAll(const std::byte *data, size_t bytes) {
  Words sums[8] = {};
  for (size_t i = 0; i < bytes; i += 8 * kLine)
    for (size_t j = 0; j < 8; ++j) {
      Words next;
      load(next, data + i + j * kLine);
      sums[j] += next;
    }
  return sumOf(sums[0] + sums[1] + sums[2] + sums[3] + (sums[4] + sums[5] + sums[6] + sums[7]));
}

template <int level>
ALWAYS_INLINE uint64_t gatherRows(const std::byte *data, size_t rowBytes, const uint32_t *rows,
                                  size_t count) {
  Words sums[2] = {};
  for (size_t i = 0; i < count; ++i) {
    const std::byte *row = data + size_t(rows[i]) * rowBytes;
    const std::byte *ahead =
        data + size_t(rows[i + kRowsAhead < count ? i + kRowsAhead : count - 1]) * rowBytes;
    for (size_t j = 0; j < rowBytes; j += kLine) {
      if (level == 1)
        __builtin_prefetch(ahead + j, 0, 3);
      if (level == 2)
        __builtin_prefetch(ahead + j, 0, 2);
      Words next;
      load(next, row + j);
      sums[j / kLine % 2] += next;
    }
  }
  return sumOf(sums[0] + sums[1]);
}

ALWAYS_INLINE uint64_t gatherAll(const std::byte *data, size_t rowBytes, const uint32_t *rows,
                                 size_t count, Prefetch prefetch) {
  if (prefetch == Prefetch::ToFirstLevel)
    return gatherRows<1>(data, rowBytes, rows, count);
  if (prefetch == Prefetch::ToSecondLevel)
    return gatherRows<2>(data, rowBytes, rows, count);
  return gatherRows<0>(data, rowBytes, rows, count);
}

ALWAYS_INLINE float multiplyAddAll(const float *values, int64_t steps) {
  Floats factor[2], summand[2], sums[12];
  for (int i = 0; i < 2; ++i) {
    load(factor[i], values + 16 * i);
    load(summand[i], values + 32 + 16 * i);
  }
  for (int i = 0; i < 12; ++i)
    load(sums[i], values + i);
  // With factors below 1 the sums stay small; two of each keep the loop from being simplified.
  for (int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i)
      sums[i] = sums[i] * factor[i % 2] + summand[i / 2 % 2];
  Floats sum = sums[0];
  for (int i = 1; i < 12; ++i)
    sum += sums[i];
  return sum[0] + sum[15];
}

#define DEFINE_KERNELS(name, target)                                                               \
  target uint64_t read_##name(const std::byte *data, size_t bytes) {                               \
    return readAll(data, bytes);                                                                   \
  }                                                                                                \
  target uint64_t gather_##name(const std::byte *data, size_t rowBytes, const uint32_t *rows,      \
                                size_t count, Prefetch prefetch) {                                 \
    return gatherAll(data, rowBytes, rows, count, prefetch);                                       \
  }                                                                                                \
  target float multiplyAdd_##name(const float *values, int64_t steps) {                            \
    return multiplyAddAll(values, steps);                                                          \
  }

DEFINE_KERNELS(portable, )
constexpr Kernels kPortable{"portable", read_portable, gather_portable, multiplyAdd_portable,
                            nullptr};

#ifdef __x86_64__
#define FOR_AVX2 __attribute__((target("avx2,fma")))
#define FOR_AVX512 __attribute__((target("avx512f")))
DEFINE_KERNELS(avx2, FOR_AVX2)
DEFINE_KERNELS(avx512, FOR_AVX512)

__attribute__((target("avx512f,avx512bf16"))) float dot_avx512(const uint16_t *values,
                                                               int64_t steps) {
  __m512bh left[2], right[2];
  for (int i = 0; i < 2; ++i) {
    std::memcpy(&left[i], values + 32 * i, sizeof left[i]);
    std::memcpy(&right[i], values + 64 + 32 * i, sizeof right[i]);
  }
  __m512 sums[12] = {};
  for (int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i)
      sums[i] = _mm512_dpbf16_ps(sums[i], left[i % 2], right[i / 2 % 2]);
  __m512 sum = sums[0];
  for (int i = 1; i < 12; ++i)
    sum = _mm512_add_ps(sum, sums[i]);
  return _mm512_cvtss_f32(sum);
}

constexpr Kernels kAvx2{"avx2", read_avx2, gather_avx2, multiplyAdd_avx2, nullptr};
constexpr Kernels kAvx512{"avx512", read_avx512, gather_avx512, multiplyAdd_avx512, nullptr};
constexpr Kernels kAvx512Dots{"avx512", read_avx512, gather_avx512, multiplyAdd_avx512, dot_avx512};
#endif

} // namespace

const Kernels &findKernels() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f"))
    return __builtin_cpu_supports("avx512bf16") ? kAvx512Dots : kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return kAvx2;
#endif
  return kPortable;
}

} // namespace strata::bench
