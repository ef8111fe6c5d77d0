//===- Ceilings.h - What this machine can do at most ------------*- C++ -*-===//
#ifndef STRATA_LIB_BENCH_CEILINGS_H
#define STRATA_LIB_BENCH_CEILINGS_H

#include "strata/lib/Bench/Line.h"
#include "strata/lib/Support/Status.h"

namespace strata::bench {

struct CeilingOptions {
  int threads = 0;                           ///< 0: one for each processor
  uint64_t bufferBytes = uint64_t(1) << 30;  ///< of random data, several times the caches
  std::vector<int64_t> recordBytes = {1152}; ///< of gathered rows; multiples of 64
  int samples = 15;
};

/// Rates of all threads together, each of the fastest sample; 0: there is no such instruction.
struct Ceilings {
  double readRate = 0;             ///< bytes per second, one range after the other
  std::vector<double> gatherRates; ///< bytes per second of each row size, the best prefetch
  double f32Rate = 0,
         bf16Rate = 0;     ///< operations per second: a multiplication and an addition are 2
  std::vector<Line> lines; ///< all that was measured
};

/// Measures the ceilings, interleaved. Each sample reads another part of the buffer, so that
/// nothing comes from caches. An error if the system gives no memory or threads.
Expected<Ceilings> measureCeilings(const CeilingOptions &options);

} // namespace strata::bench

#endif // STRATA_LIB_BENCH_CEILINGS_H
