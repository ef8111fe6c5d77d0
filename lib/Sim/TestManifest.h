//===- TestManifest.h - A placed step for tests -----------------*- C++ -*-===//
#ifndef STRATA_LIB_SIM_TESTMANIFEST_H
#define STRATA_LIB_SIM_TESTMANIFEST_H

#include "strata/lib/Machine/Machine.h"

#include <cstdint>
#include <vector>

namespace strata::sim {

/// Layers of equal cost whose latents lie in the far tier. A leader scores its keys, resolves the
/// rows, starts the gathers of its group and computes the scores of the hits before it waits.
struct TestModel {
  int layers = 78;
  std::vector<int> leaders; ///< ascending, from 0 on
  int64_t k = 2048, slots = 4096;
  double layerFlops = 1e9;  ///< of everything in a layer
  double scoresShare = 0.1; ///< of it: scores of the hits, in leaders
};

/// GLM-5.2's schedule: 78 layers, 21 of which lead.
TestModel makeGlmModel();

/// A manifest that simulations take; nothing could run it.
std::vector<uint8_t> makeTestManifest(const TestModel &model);

/// One engine on one link, and kernels that do 1e12 operations in a second.
Machine makeTestMachine();

} // namespace strata::sim

#endif // STRATA_LIB_SIM_TESTMANIFEST_H
