//===- OptionsTest.cpp - The command line of strata-bench -----------------===//
#include "Options.h"

#include <gtest/gtest.h>

namespace strata::bench {
namespace {

std::string errorOf(std::vector<std::string> arguments) {
  Expected<Options> options = parseOptions(arguments);
  return options.ok() ? "no error" : options.status().message();
}

TEST(BenchOptions, Ceilings) {
  Expected<Options> options = parseOptions(
      {"ceilings", "--threads=2", "--record-bytes", "64,1152", "--buffer=64M", "--samples", "3"});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->command, Options::Command::Ceilings);
  EXPECT_EQ(options->ceilings.threads, 2);
  EXPECT_EQ(options->ceilings.recordBytes, (std::vector<int64_t>{64, 1152}));
  EXPECT_EQ(options->ceilings.bufferBytes, uint64_t(64) << 20);
  EXPECT_EQ(options->ceilings.samples, 3);
}

TEST(BenchOptions, Placement) {
  Expected<Options> options =
      parseOptions({"placement", "m.strata", "--weights", "w", "--machine", "cpu-two-tier",
                    "--sequences=4", "--steps=2", "--prompt-tokens=9", "--chunk=3", "--threads=1"});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->command, Options::Command::Placement);
  EXPECT_EQ(options->package, "m.strata");
  EXPECT_EQ(options->placement.sequences, 4);
  EXPECT_EQ(options->placement.steps, 2);
  EXPECT_EQ(options->placement.threads, 1);
  EXPECT_EQ(options->placement.samples, 10);
}

TEST(BenchOptions, Errors) {
  EXPECT_EQ(errorOf({}), "expected the command ceilings or placement; see --help");
  EXPECT_EQ(errorOf({"model"}),
            "expected the command ceilings or placement but got 'model'; see --help");
  EXPECT_EQ(errorOf({"ceilings", "m"}), "ceilings: expected no file but got 1");
  EXPECT_EQ(errorOf({"placement"}), "placement: expected one package but got 0");
  EXPECT_EQ(errorOf({"placement", "m"}), "--weights is missing: a checkpoint");
  EXPECT_EQ(errorOf({"placement", "m", "--weights", "w"}),
            "--machine is missing: a machine's name or description");
  EXPECT_EQ(errorOf({"ceilings", "--steps=2"}), "--steps is for placement, not for ceilings");
  EXPECT_EQ(errorOf({"placement", "m", "--record-bytes=64"}),
            "--record-bytes is for ceilings, not for placement");
  EXPECT_EQ(errorOf({"ceilings", "--record-bytes=100"}),
            "--record-bytes: expected multiples of 64 but got 100");
  EXPECT_EQ(errorOf({"ceilings", "--record-bytes=64,"}),
            "--record-bytes: expected a number from 64 to 1048576 but got ''");
  EXPECT_EQ(errorOf({"ceilings", "--buffer=1K"}),
            "--buffer: expected a size from 4M to 1024G but got '1K'");
  EXPECT_EQ(errorOf({"ceilings", "--threads=0"}),
            "--threads: expected a number from 1 to 1000 but got '0'");
  EXPECT_EQ(errorOf({"ceilings", "--bogus"}), "unknown option '--bogus'; see --help");
  EXPECT_EQ(errorOf({"ceilings", "--json"}), "--json: its value is missing");
}

} // namespace
} // namespace strata::bench
