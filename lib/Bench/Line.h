//===- Line.h - A line of a benchmark's results -----------------*- C++ -*-===//
#ifndef STRATA_LIB_BENCH_LINE_H
#define STRATA_LIB_BENCH_LINE_H

#include "strata/lib/Bench/Samples.h"

#include <optional>
#include <string>
#include <vector>

namespace strata::bench {

/// What was measured of one thing.
struct Line {
  std::string name, shape, variant;
  double seconds = 0, p25 = 0, minimum = 0; ///< `seconds` is the median
  size_t samples = 0, rejected = 0;
  bool isDisturbed = false;           ///< all samples were
  std::optional<double> boundSeconds; ///< which no program can beat on this machine
  std::optional<double> peerSeconds;  ///< of what it is compared with
  std::optional<double> rate;         ///< units per second, of the minimum
  std::string unit;

  /// Takes the times.
  void set(const Samples &times);
  std::optional<double> share() const;
};

/// The greater of bytes over the read rate and operations over the operation rate; nothing without
/// rates.
std::optional<double> boundOf(double bytes, double operations, double readRate,
                              double operationRate);

/// For people: one line each, without a line break at the end.
std::string writeText(const Line &line);
/// One object on one line: name, shape, variant, time_us, bound_us, share, peer (microseconds; null
/// where there is none), and the other figures after them.
std::string writeJson(const Line &line);
std::string writeJson(const std::vector<Line> &lines);

} // namespace strata::bench

#endif // STRATA_LIB_BENCH_LINE_H
