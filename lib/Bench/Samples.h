//===- Samples.h - Interleaved measurements ---------------------*- C++ -*-===//
//
// How times are taken on a machine that others use too; docs/benchmarks.md says why so.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_LIB_BENCH_SAMPLES_H
#define STRATA_LIB_BENCH_SAMPLES_H

#include <cstdint>
#include <functional>
#include <vector>

namespace strata::bench {

/// How long threads of this process were ready to run but had no processor: the system's count for
/// each thread (/proc/self/task/N/schedstat), added up. Where the system doesn't count that, any
/// involuntary context switch is a disturbance of unknown length.
class Disturbance {
public:
  Disturbance() : before_(count()) {}

  /// Seconds since this was made.
  double seconds() const;
  /// What is told from undisturbed: more than this share of the time of a sample.
  static constexpr double kMost = 0.02;

private:
  struct Count {
    int64_t waited = -1; ///< nanoseconds; −1: not counted
    int64_t switches = 0;
  };
  static Count count();
  Count before_;
};

/// Times of one thing.
class Samples {
public:
  void add(double seconds, bool isDisturbed) {
    (isDisturbed ? disturbed_ : quiet_).push_back(seconds);
  }
  size_t quiet() const { return quiet_.size(); }
  /// Samples that count.
  size_t counted() const { return quiet_.empty() ? disturbed_.size() : quiet_.size(); }
  size_t rejected() const { return quiet_.empty() ? 0 : disturbed_.size(); }
  /// Every sample was disturbed: then they count all the same.
  bool isDisturbed() const { return quiet_.empty() && !disturbed_.empty(); }

  double minimum() const { return quantile(0); }
  double p25() const { return quantile(0.25); }
  double median() const { return quantile(0.5); }

private:
  double quantile(double share) const;
  std::vector<double> quiet_, disturbed_;
};

/// The value below which `share` of the values lie, between neighbours in proportion; 0 of none.
double quantile(std::vector<double> values, double share);

/// Runs all candidates in turn, so that each meets the same phases of the machine, until each has
/// `wanted` undisturbed samples or 4 × `wanted` in all; once before, unmeasured.
std::vector<Samples> measure(const std::vector<std::function<void()>> &candidates, int wanted);

} // namespace strata::bench

#endif // STRATA_LIB_BENCH_SAMPLES_H
