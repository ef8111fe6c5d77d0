//===- BenchTest.cpp - Arithmetic of measurements -------------------------===//
#include "strata/lib/Bench/Kernels.h"
#include "strata/lib/Bench/Placement.h"
#include "strata/lib/Bench/StepRecorder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace strata::bench {
namespace {

TEST(Samples, QuantilesLieBetweenNeighbours) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({3, 1, 2}, 0), 1);
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 2}, 0.25), 2.5);
}

TEST(Samples, DisturbedOnesCountWhereThereAreNoOthers) {
  Samples samples;
  samples.add(5, true);
  EXPECT_TRUE(samples.isDisturbed());
  EXPECT_EQ(samples.median(), 5);
  EXPECT_EQ(samples.rejected(), 0u);
  samples.add(3, false);
  EXPECT_FALSE(samples.isDisturbed());
  EXPECT_EQ(samples.median(), 3);
  EXPECT_EQ(samples.rejected(), 1u);
}

TEST(Samples, CandidatesTakeTurns) {
  std::string order;
  std::vector<Samples> samples =
      measure({[&] { order += 'a'; }, [&] { order += 'b'; }}, /*wanted=*/1);
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_GE(samples[1].counted(), 1u);
  EXPECT_EQ(order.substr(0, 4), "abab"); // the first two aren't measured
  EXPECT_LE(order.size(), 10u);
}

TEST(Line, SharesAreOfTheGreaterBound) {
  Line line;
  line.name = "step \"one\"";
  line.seconds = 4;
  line.boundSeconds = boundOf(/*bytes=*/100, /*operations=*/100, /*readRate=*/100,
                              /*operationRate=*/50);
  EXPECT_EQ(line.share(), 0.5);
  EXPECT_EQ(boundOf(1, 1, 0, 1), std::nullopt);
  nlohmann::json json = nlohmann::json::parse(writeJson(line), nullptr, false);
  EXPECT_EQ(json["name"], "step \"one\"");
  EXPECT_EQ(json["time_us"], 4e6);
  EXPECT_EQ(json["bound_us"], 2e6);
  EXPECT_EQ(json["share"], 0.5);
  EXPECT_TRUE(json["peer"].is_null());
}

TEST(Kernels, ReadWhatIsThere) {
  alignas(64) uint64_t data[64];
  for (uint64_t i = 0; i < 64; ++i)
    data[i] = i;
  const std::byte *bytes = reinterpret_cast<const std::byte *>(data);
  const Kernels &kernels = findKernels();
  EXPECT_EQ(kernels.read(bytes, sizeof data), 63u * 64 / 2);
  const uint32_t rows[] = {7, 0};
  for (Prefetch prefetch : {Prefetch::None, Prefetch::ToFirstLevel, Prefetch::ToSecondLevel})
    EXPECT_EQ(kernels.gather(bytes, 64, rows, 2, prefetch),
              (64u * 7 + 28) + 28); // words 56 to 63, and 0 to 7
}

RecordedStep makeStep(double scale) {
  RecordedStep step;
  step.commands = {1 * scale, 2};
  // The rate says 1 + 10 and 1 + 1000 seconds.
  step.engines = {{{13, 1, 10}, {13, 1, 10}, {2003, 1, 1000}}};
  step.wakes = {scale};
  return step;
}

TEST(Calibration, CommandsTakeTogetherWhatStepsTook) {
  sim::MeasuredTimes times = calibrate({makeStep(1), makeStep(1), makeStep(4)});
  ASSERT_EQ(times.commands.size(), 2u);
  EXPECT_DOUBLE_EQ(times.commands[0], 1);
  EXPECT_DOUBLE_EQ(times.commands[1], 2);
  EXPECT_EQ(times.wakeSeconds, 1);
}

TEST(Calibration, LateTransfersAndSlowBytesAreTwoThings) {
  sim::MeasuredTimes times = calibrate({makeStep(1)});
  ASSERT_EQ(times.engines.size(), 1u);
  EXPECT_DOUBLE_EQ(times.engines[0].lateSeconds, 2);
  EXPECT_DOUBLE_EQ(times.engines[0].stretch, 2);
  EXPECT_TRUE(calibrate({}).commands.empty());
}

TEST(Placement, TheErrorIsTheMedianWithoutSign) {
  Placement placement;
  for (double predicted : {90.0, 101.0, 130.0}) {
    PlacementSample sample;
    sample.seconds = 100;
    sample.predicted = predicted;
    placement.samples.push_back(sample);
  }
  EXPECT_NEAR(placement.error(), 0.1, 1e-12);
}

} // namespace
} // namespace strata::bench
