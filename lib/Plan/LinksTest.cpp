//===- LinksTest.cpp - Shipped links give what was measured on such links -===//
#include "strata/lib/Plan/Transfers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata::plan {
namespace {

using Kind = MachineEngine::Kind;

/// The machines whose link is PCIe 5.0 x16, which the published figures are of.
class Links : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    Expected<Machine> found = findMachine(GetParam());
    ASSERT_TRUE(found.ok()) << found.status().message();
    machine = std::move(*found);
    gather = machine.findEngine(Kind::Gather, 1, 0);
    copy = machine.findEngine(Kind::Copy, 1, 0);
    ASSERT_GE(gather, 0);
    ASSERT_GE(copy, 0);
  }

  double seconds(int engine, double rows, uint64_t rowBytes) const {
    return getRowsSeconds(machine, engine, rows, rowBytes);
  }

  Machine machine;
  int gather = -1, copy = -1;
};

TEST_P(Links, LongTransfersReachTheMeasuredBandwidth) {
  double bytes = 1 << 30;
  int out = machine.findEngine(Kind::Gather, 0, 1), copyOut = machine.findEngine(Kind::Copy, 0, 1);
  ASSERT_GE(out, 0);
  ASSERT_GE(copyOut, 0);
  EXPECT_NEAR(bytes / getSeconds(machine, gather, 1, bytes, 0), 35.2e9, 0.1e9);
  EXPECT_NEAR(bytes / getSeconds(machine, out, 1, bytes, 0), 52.8e9, 0.1e9);
  EXPECT_NEAR(bytes / getSeconds(machine, copy, 1, bytes, 0), 55e9, 0.1e9);
  EXPECT_NEAR(bytes / getSeconds(machine, copyOut, 1, bytes, 0), 55e9, 0.1e9);
  EXPECT_EQ(machine.links[size_t(machine.engines[size_t(copy)].link)].bothDirections, 83e9);
}

TEST_P(Links, FewRowsGoByCopyEngineAndManyByKernel) {
  constexpr uint64_t kRowBytes = 1024;
  EXPECT_LT(seconds(copy, 75, kRowBytes), seconds(gather, 75, kRowBytes));
  EXPECT_GT(seconds(copy, 85, kRowBytes), seconds(gather, 85, kRowBytes));
  EXPECT_NEAR(seconds(copy, 4096, kRowBytes) / seconds(gather, 4096, kRowBytes), 4, 0.1);
  EXPECT_EQ(findTransfer(machine, 75, kRowBytes).engine, copy);
  EXPECT_EQ(findTransfer(machine, 85, kRowBytes).engine, gather);
}

TEST_P(Links, KernelsAreSlowOnRowsThatAreNotAligned) {
  for (uint64_t aligned : {640, 704}) {
    double perByte = seconds(gather, 4096, aligned) / double(aligned);
    double factor = seconds(gather, 4096, 656) / 656 / perByte;
    EXPECT_GT(factor, 4) << aligned;
    EXPECT_LT(factor, 18) << aligned;
  }
  // Latents of 656 bytes laid out in 704, which a copy engine gains nothing from, go by kernel.
  EXPECT_LT(seconds(gather, 300, 704), seconds(copy, 300, 656));
  EXPECT_EQ(findTransfer(machine, 300, 656).engine, copy);
  EXPECT_EQ(findTransfer(machine, 300, 704).engine, gather);
}

INSTANTIATE_TEST_SUITE_P(PCIe5, Links, testing::Values("h100-pcie", "h200x8", "ddr-cxl"),
                         [](const auto &test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
} // namespace strata::plan
