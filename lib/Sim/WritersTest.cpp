//===- WritersTest.cpp - Reports of a simulated step ----------------------===//
#include "strata/lib/Sim/Writers.h"

#include "strata/lib/Sim/PerfettoWriter.h"
#include "strata/lib/Sim/TestManifest.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>

namespace strata::sim {
namespace {

class Writers : public testing::Test {
protected:
  Writers() : bytes_(makeTestManifest(makeGlmModel())) {
    SimulationOptions options;
    options.context = 68000;
    options.program.computeSeconds = 18.15e-3;
    options.program.transferSeconds = 7.17e-3;
    Expected<Simulation> simulation =
        simulate(*package::GetManifest(bytes_.data()), makeTestMachine(), options);
    EXPECT_TRUE(simulation.ok()) << simulation.status().message();
    simulation_ = std::move(*simulation);
  }

  std::vector<uint8_t> bytes_;
  Simulation simulation_;
};

nlohmann::json parse(const std::string &text) {
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

TEST_F(Writers, TextNamesEachLayerAndCause) {
  std::string text = writeText(simulation_);
  for (const char *part :
       {"test on test, context 68000, batch 1\n", "\nstall             rows of a leader: ",
        "\n0      leader    ", "\n77     follower  ", "\nmemory hbm", "\nmemory ddr",
        "\n  compute waited for each transfer at once         step 25.32 ms, 0.0 % hidden\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

TEST_F(Writers, JsonAddsUp) {
  nlohmann::json json = parse(writeJson(simulation_));
  ASSERT_TRUE(json.is_object());
  int64_t exposed = 0, stalled = 0, bytes = 0;
  for (const nlohmann::json &layer : json["layers"]) {
    exposed += layer["exposed_ns"].get<int64_t>();
    bytes += layer["bytes_to_near"].get<int64_t>();
  }
  for (const nlohmann::json &stall : json["stalls_ns"])
    stalled += stall.get<int64_t>();
  EXPECT_EQ(exposed, json["exposed_ns"]);
  EXPECT_EQ(stalled, json["exposed_ns"]);
  EXPECT_EQ(bytes, json["traffic"]["rows"]);
  EXPECT_EQ(bytes, json["engines"][0]["bytes_to_near"]);
  EXPECT_EQ(json["time_ns"], json["compute_ns"].get<int64_t>() + stalled);
}

TEST_F(Writers, ATraceHasTracksStallsAndCounters) {
  rt::Trace trace;
  writeStep(simulation_, simulation_.step, 0, trace);
  nlohmann::json json = parse(trace.json());
  ASSERT_TRUE(json.is_object());
  int64_t transfers = 0, stalls = 0, commands = 0;
  std::set<std::string> tracks, counters;
  for (const nlohmann::json &event : json["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name")
      tracks.insert(event["args"]["name"].get<std::string>());
    else if (event["ph"] == "C")
      counters.insert(event["name"].get<std::string>());
    else if (event["ph"] == "X")
      ++(event["cat"] == "transfer" ? transfers : event["cat"] == "stall" ? stalls : commands);
  }
  EXPECT_EQ(tracks, (std::set<std::string>{"compute", "engine in"}));
  EXPECT_EQ(counters,
            (std::set<std::string>{"bytes in hbm", "bytes in ddr", "hits", "misses", "stall ns"}));
  EXPECT_EQ(transfers, 78);
  EXPECT_EQ(size_t(stalls), simulation_.step.timeline.stalls.size());
  EXPECT_GT(commands, 78);
}

TEST_F(Writers, ThePageIsWhole) {
  std::string page = writeHtml(simulation_);
  for (const char *part : {"<!DOCTYPE html>", "One share group", "Near memory", "What if",
                           "rows of a leader", "aria-label=\"layers\"", "</html>\n"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("inf"), std::string::npos);
  // To look at it.
  if (const char *path = std::getenv("STRATA_SIM_PAGE"))
    std::ofstream(path) << page;
}

} // namespace
} // namespace strata::sim
