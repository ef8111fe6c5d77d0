//===- Samples.cpp - Interleaved measurements -----------------------------===//
#include "strata/lib/Bench/Samples.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sys/resource.h>

namespace strata::bench {

int64_t Disturbance::count() const {
  rusage usage{};
  getrusage(what_ == Of::Process ? RUSAGE_SELF : RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  double place = share * double(values.size() - 1);
  size_t below = size_t(place), above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - double(below));
}

double Samples::quantile(double share) const {
  return bench::quantile(quiet_.empty() ? disturbed_ : quiet_, share);
}

std::vector<Samples> measure(const std::vector<std::function<void()>> &candidates, int wanted) {
  using Clock = std::chrono::steady_clock;
  for (const std::function<void()> &run : candidates)
    run();
  std::vector<Samples> all(candidates.size());
  auto isEnough = [&] {
    return std::all_of(all.begin(), all.end(),
                       [&](const Samples &samples) { return samples.quiet() >= size_t(wanted); });
  };
  for (int round = 0; round < 4 * wanted && !isEnough(); ++round)
    for (size_t i = 0; i < candidates.size(); ++i) {
      Disturbance disturbance(Disturbance::Of::Process);
      Clock::time_point begin = Clock::now();
      candidates[i]();
      Clock::time_point end = Clock::now();
      all[i].add(std::chrono::duration<double>(end - begin).count(), disturbance.happened());
    }
  return all;
}

} // namespace strata::bench
