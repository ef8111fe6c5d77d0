//===- SimulationTest.cpp - Published steps, from their inputs ------------===//
//
// A step of GLM-5.2 with latents in host memory takes 18.15 ms where nothing is offloaded and 25.32
// ms where each transfer is waited for (SGLang, pull request 28523): these two are inputs. What
// else is measured there must follow.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Sim/Simulation.h"
#include "strata/lib/Sim/Misses.h"
#include "strata/lib/Sim/TestManifest.h"

#include <gtest/gtest.h>

namespace strata::sim {
namespace {

constexpr double kResidentMs = 18.15, kSerialMs = 25.32, kFollowersHiddenMs = 21.33;

/// Milliseconds of the step, and the share of its transfers that is hidden.
std::pair<double, double> simulateGlm(Overlap overlap, double speculation = 0,
                                      double transferMs = kSerialMs - kResidentMs) {
  std::vector<uint8_t> bytes = makeTestManifest(makeGlmModel());
  const package::Manifest &manifest = *package::GetManifest(bytes.data());
  Machine machine = makeTestMachine();
  StepFacts facts = makeDecodeStep(68000, 1);
  addExpectedMisses(manifest, 0.1, 1, true, facts);
  ProgramOptions options;
  options.overlap = overlap;
  options.speculation = speculation;
  options.computeSeconds = kResidentMs / 1e3;
  options.transferSeconds = transferMs / 1e3;
  StepResult result = simulateStep(manifest, machine, {0}, facts, options);
  EXPECT_EQ(result.misses, 21 * 205);
  EXPECT_EQ(result.traffic.rows, 78 * 205 * 1152);
  double milliseconds = double(result.nanoseconds) / 1e6;
  // Compute and what it waits for are all there is.
  EXPECT_NEAR(milliseconds, kResidentMs + double(result.exposedNanoseconds) / 1e6, 1e-3);
  return {milliseconds, result.hiddenShare()};
}

TEST(Simulation, TheInputsComeBack) {
  EXPECT_NEAR(simulateGlm(Overlap::None).first, kSerialMs, 2e-3);
  EXPECT_NEAR(simulateGlm(Overlap::AsWritten, 0, 1e-6).first, kResidentMs, 2e-3);
}

TEST(Simulation, FollowersHideWhatTheyCan) {
  auto [milliseconds, hidden] = simulateGlm(Overlap::Followers);
  // 57 of 78 layers follow: their transfers are hidden whole, the leaders' not at all.
  EXPECT_NEAR(hidden, 57.0 / 78, 5e-4);
  EXPECT_NEAR(milliseconds, 20.08, 5e-3);
  EXPECT_NEAR(milliseconds / kFollowersHiddenMs, 1, 0.07);
}

TEST(Simulation, HitsFirstHideAPartOfTheLeadersRows) {
  // A tenth of a layer, 23 µs, of the 92 µs of a leader's rows.
  auto [milliseconds, hidden] = simulateGlm(Overlap::AsWritten);
  EXPECT_NEAR(hidden, (57 + 21 * 0.2532) / 78, 1e-3);
  EXPECT_NEAR(milliseconds, kResidentMs + (1 - hidden) * (kSerialMs - kResidentMs), 2e-3);
}

TEST(Simulation, SpeculationHidesMore) {
  // All leaders but the first have a group before them. Others simulated 86.5 % and 94.6 %, as if
  // the first one had as well.
  EXPECT_NEAR(simulateGlm(Overlap::Followers, 0.5).second, (57 + 20 * 0.5) / 78, 2e-3);
  EXPECT_NEAR(simulateGlm(Overlap::Followers, 0.8).second, (57 + 20 * 0.8) / 78, 2e-3);
}

TEST(Simulation, MoreTransfersThanTimeAreExposed) {
  // The link can't hide more than compute takes.
  auto [milliseconds, hidden] = simulateGlm(Overlap::AsWritten, 0, 60);
  EXPECT_GT(milliseconds, 60);
  EXPECT_LT(hidden, kResidentMs / 60);
}

TEST(Simulation, HotSetsAsLargeAsTheContextMissNothing) {
  TestModel model = makeGlmModel();
  model.slots = 100 * model.k;
  std::vector<uint8_t> bytes = makeTestManifest(model);
  const package::Manifest &manifest = *package::GetManifest(bytes.data());
  StepFacts facts = makeDecodeStep(68000, 1);
  addExpectedMisses(manifest, std::nullopt, 1, true, facts);
  StepResult result = simulateStep(manifest, makeTestMachine(), {0}, facts, {});
  EXPECT_EQ(result.misses, 0);
  EXPECT_EQ(result.hits, 21 * 2048);
  EXPECT_EQ(result.transferNanoseconds, 0);
}

TEST(Simulation, EnginesAreFoundByName) {
  std::vector<uint8_t> bytes = makeTestManifest(makeGlmModel());
  Machine machine = makeTestMachine();
  machine.engines[0].name = "other";
  EXPECT_EQ(findEngines(*package::GetManifest(bytes.data()), machine).status().message(),
            "machine test: expected an engine \"in\", which the package's transfers use");
}

TEST(Simulation, MemoryOfHotSetsStagesAndHomes) {
  TestModel model = makeGlmModel();
  std::vector<uint8_t> bytes = makeTestManifest(model);
  MemoryUse use =
      computeMemory(*package::GetManifest(bytes.data()), {/*pages=*/100, /*tokens=*/2, 1}, {}, {});
  auto at = [&](size_t tier, MemoryClass memoryClass) {
    return use.tiers[tier][size_t(memoryClass)];
  };
  EXPECT_EQ(at(0, MemoryClass::Latents), 78u * 4096 * 1152);
  EXPECT_EQ(at(0, MemoryClass::Workspace), 78u * 64 * 1152);
  EXPECT_EQ(at(0, MemoryClass::Activations), 3u * 2 * 4 * 2048);
  EXPECT_EQ(at(1, MemoryClass::Latents), 78u * 100 * 64 * 1152);
}

TEST(StepFacts, VisiblePositionsAreCut) {
  StepFacts facts;
  facts.sequences = {{4, 10}, {1, 3}};
  EXPECT_EQ(facts.tokens(), 5);
  EXPECT_EQ(facts.visible(0), 7 + 8 + 9 + 10 + 3);
  EXPECT_EQ(facts.visible(8), 7 + 8 + 8 + 8 + 3);
  EXPECT_EQ(facts.visible(2), 5 * 2);
  EXPECT_EQ(facts.visible(100), facts.visible(0));
  // Six positions and two are from earlier steps.
  EXPECT_EQ(facts.earlierPages(4), 2 + 1);
}

} // namespace
} // namespace strata::sim
