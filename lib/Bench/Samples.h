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

/// Tells whether the system took a processor away from a measurement: its involuntary context
/// switches, as getrusage counts them.
class Disturbance {
public:
  enum class Of {
    Process, ///< all threads: for work that keeps all of them busy
    Thread,  ///< the calling one: where other threads of the process are meant to take turns
  };
  explicit Disturbance(Of what) : what_(what) { begin(); }

  void begin() { before_ = count(); }
  bool happened() const { return count() != before_; }

private:
  int64_t count() const;
  Of what_;
  int64_t before_ = 0;
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
