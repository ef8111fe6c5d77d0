//===- Coverage.h - What a run of the comparison went through ---*- C++ -*-===//
#ifndef STRATA_TEST_INTEGRATION_RANDOM_COVERAGE_H
#define STRATA_TEST_INTEGRATION_RANDOM_COVERAGE_H

#include <cstdint>
#include <string>

namespace strata::test {

/// Counts of one kind of thing each. Shared between processes, so without pointers.
struct Coverage {
  enum Count : int {
    Models,
    ModelsGlm,
    ModelsDeepseekV32,
    ModelsDeepseekV3,
    ModelsLlama,
    ModelsMistral,
    ModelsBF16,
    ModelsFP8,
    ModelsExact,
    ModelsNearlyTied,
    ModelsChanged,
    Runs,
    TwoThreadRuns,
    Steps,
    MixedSteps,
    EmptySteps,
    Tokens,
    TokensBeyondK,
    TokensBeyondWindow,
    PageBorders,
    EmptySequences,
    WaitingSequences,
    Chunks7And13,
    Chunks1And19,
    Chunks19And1,
    OneByOne,
    AloneRuns,
    Replays,
    Unfused,
    PlacedModels,
    PlacedRuns,
    PlacedNear,
    PlacedHits,
    PlacedMisses,
    PlacedOwn,
    PlacedBytes,
    PlacedReplays,
    Schedules,
    SchedulesByPattern,
    SchedulesByFrequency,
    SchedulesByGroups,
    ScoredRows,
    TieRows,
    PlateauRows,
    ExactTieRows,
    DifferingRows,
    NearlyTiedRows,
    ChosenExperts,
    DifferingExperts,
    Reruns,
    CountOfCounts
  };

  int64_t counts[CountOfCounts] = {};
  /// Errors in standard deviations of the logits.
  double largestError = 0;     ///< f32
  double largestBF16Error = 0; ///< rms

  int64_t &operator[](Count count) { return counts[count]; }
  void add(const Coverage &other);
  /// A line for each count.
  std::string table() const;
  /// What a run must have reached to mean anything, and did not; or shares that are too large. A
  /// line each.
  std::string complaints() const;
};

} // namespace strata::test

#endif // STRATA_TEST_INTEGRATION_RANDOM_COVERAGE_H
