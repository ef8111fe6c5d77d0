//===- OptionsTest.cpp - The command line of strata-sim -------------------===//
#include "Options.h"

#include <gtest/gtest.h>

namespace strata::sim {
namespace {

std::string errorOf(std::vector<std::string> arguments) {
  Expected<Options> options = parseOptions(arguments);
  return options.ok() ? "no error" : options.status().message();
}

std::string errorWith(std::vector<std::string> more) {
  more.insert(more.begin(), {"m.strata", "--machine", "h200x8"});
  return errorOf(more);
}

TEST(SimOptions, AllOfThem) {
  Expected<Options> options = parseOptions({"m.strata",
                                            "--machine=m.json",
                                            "--context",
                                            "128K",
                                            "--batch",
                                            "8",
                                            "--cache=fp8",
                                            "--weights=fp8",
                                            "--misses=0.1",
                                            "--overlap=followers",
                                            "--speculation",
                                            "0.5",
                                            "--compute-time=18.15ms",
                                            "--transfer-time",
                                            "7170us",
                                            "--report=html",
                                            "-o",
                                            "r.html",
                                            "--json",
                                            "r.json",
                                            "--perfetto",
                                            "t.json"});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->simulation.context, 131072);
  EXPECT_EQ(options->simulation.batch, 8);
  EXPECT_EQ(options->simulation.misses, 0.1);
  const ProgramOptions &program = options->simulation.program;
  EXPECT_EQ(program.formats.caches, Format::FP8);
  EXPECT_EQ(program.overlap, Overlap::Followers);
  EXPECT_NEAR(program.computeSeconds, 0.01815, 1e-12);
  EXPECT_NEAR(program.transferSeconds, 0.00717, 1e-12);
  EXPECT_EQ(options->output, "r.html");
}

TEST(SimOptions, Errors) {
  EXPECT_EQ(errorOf({}), "expected a package; see --help");
  EXPECT_EQ(errorOf({"m.strata"}), "--machine is missing: a machine's name or description");
  EXPECT_EQ(errorWith({"--context=0"}),
            "--context: expected a number from 1 to 2147483647 but got '0'");
  EXPECT_EQ(errorWith({"--context=2048M"}),
            "--context: expected a number from 1 to 2147483647 but got '2048M'");
  EXPECT_EQ(errorWith({"--misses=1.5"}), "--misses: expected a share from 0 to 1 but got '1.5'");
  EXPECT_EQ(errorWith({"--misses=nan"}), "--misses: expected a share from 0 to 1 but got 'nan'");
  EXPECT_EQ(errorWith({"--compute-time=5"}),
            "--compute-time: expected a time such as 18.15ms but got '5'");
  EXPECT_EQ(errorWith({"--overlap=some"}),
            "--overlap: expected one of all, followers, none but got 'some'");
  EXPECT_EQ(errorWith({"--chunk=4"}), "--chunk is for --trace, which is missing");
  EXPECT_EQ(errorWith({"--trace=r.npy", "--batch=4"}), "--batch is for one step, not for --trace");
  EXPECT_EQ(errorWith({"--sizes"}), "--machine is for a simulation, not for --sizes");
  EXPECT_EQ(errorWith({"--slots=4"}), "--slots is for --sizes, which is missing");
  EXPECT_EQ(errorWith({"--bogus"}), "unknown option '--bogus'; see --help");
  EXPECT_EQ(errorWith({"--json"}), "--json: its value is missing");
  EXPECT_EQ(errorWith({"--json="}), "--json: expected a name but got nothing");
  EXPECT_EQ(errorWith({"n.strata"}), "expected one package but got 'm.strata' and 'n.strata'");
}

} // namespace
} // namespace strata::sim
