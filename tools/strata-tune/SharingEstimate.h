//===- SharingEstimate.h - What a schedule may cost, before it runs -*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATATUNE_SHARINGESTIMATE_H
#define STRATA_TOOLS_STRATATUNE_SHARINGESTIMATE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace strata::tune {

using Matrix = std::vector<std::vector<double>>;

/// How many layers of a pattern (F leads, S uses the rows of the nearest F below) lead.
int64_t countLeaders(const std::string &pattern);

/// Guesses what sharing costs as a sum over layers: a layer that uses another's rows misses
/// 1 − recall of its own, and that hurts it in proportion to its sensitivity. Both are measured,
/// but losses do not really add up: an estimate ranks schedules that are then run.
class SharingEstimate {
public:
  /// `declared` is the pattern with all leaders that there are; `recall` has a row and a column for
  /// each of them.
  SharingEstimate(std::string declared, Matrix recall);

  /// Learns the sensitivity of a leader's layers: the loss when that leader alone is taken away
  /// from the declared pattern. At least `least` counts, since what is not hurt on some text may be
  /// on another.
  void learn(int64_t leaderLayer, double loss, double least);

  /// The estimated loss, in the unit of what was learnt.
  double of(const std::string &pattern) const;

  /// The pattern with this many leaders whose estimate is smallest (dynamic programming over the
  /// groups, which are runs of layers). 1 ≤ leaders ≤ those declared.
  std::string best(int64_t leaders) const;

private:
  /// Of layer `follower` with the rows of layer `leader`.
  double of(int64_t leader, int64_t follower) const;

  std::string declared_;
  std::vector<int64_t> owners_; ///< of each layer: its leader's number among the leaders
  Matrix recall_;
  std::vector<double> sensitivity_; ///< of each leader's layers
};

} // namespace strata::tune

#endif // STRATA_TOOLS_STRATATUNE_SHARINGESTIMATE_H
