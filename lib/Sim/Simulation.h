//===- Simulation.h - A package on a machine --------------------*- C++ -*-===//
#ifndef STRATA_LIB_SIM_SIMULATION_H
#define STRATA_LIB_SIM_SIMULATION_H

#include "strata/lib/Sim/Memory.h"
#include "strata/lib/Sim/StepProgram.h"
#include <optional>

namespace strata::sim {

/// The question.
struct SimulationOptions {
  int64_t context = 0;          ///< positions that a token sees; 0: the model's
  int64_t batch = 1;            ///< sequences, with one token each
  std::optional<double> misses; ///< share of a step's rows that hot sets lack; default: miss curves
  double missDivisor = 1;       ///< so many times fewer
  ProgramOptions program;
};

/// Bytes that a step moves, by what it moves.
struct Traffic {
  int64_t rows = 0, keys = 0, weights = 0, pages = 0, writeBack = 0;
  int64_t toNear() const { return rows + keys + weights + pages; }
};

/// A layer's share of a step. Transfers belong to the layer that needs them.
struct LayerResult {
  int layer = -1; ///< −1: outside of layers
  bool leads = false, follows = false;
  int64_t computeNanoseconds = 0, transferNanoseconds = 0, exposedNanoseconds = 0;
  int64_t bytes = 0;
};

/// A simulated step.
struct StepResult {
  int64_t tokens = 0;
  int64_t nanoseconds = 0, computeNanoseconds = 0, collectiveNanoseconds = 0;
  int64_t transferNanoseconds = 0, exposedNanoseconds = 0; ///< of transfers to the near tier
  int64_t hits = 0, misses = 0, ownRecords = 0, speculated = 0;
  Traffic traffic;
  struct Engine {
    int64_t transfers = 0, bytesToNear = 0, bytesToFar = 0;
  };
  std::vector<Engine> engines; ///< of the package
  std::array<int64_t, rt::kStallCauses> stalls = {};
  std::vector<LayerResult> layers;
  Work work; ///< of all devices
  StepProgram program;
  Timeline timeline;

  /// Adds another step's numbers; program, timeline and layers of this one's stay as they are but
  /// for the layers' times.
  StepResult &operator+=(const StepResult &other);

  double hiddenShare() const {
    return transferNanoseconds == 0 ? 1
                                    : 1 - double(exposedNanoseconds) / double(transferNanoseconds);
  }
};

/// What is asked about and what came of it, for reports.
struct Simulation {
  const package::Manifest *package = nullptr; ///< outlives this
  Machine machine;
  SimulationOptions options;
  std::vector<int> engines; ///< of the package, in the machine
  MemoryLimits limits;
  MemoryUse memory;
  StepResult step;
  bool isRun = false; ///< a run of several steps, added up
  int64_t steps = 0;

  /// What would be otherwise, if …
  struct WhatIf {
    std::string condition;
    int64_t nanoseconds = 0;
    double hiddenShare = 1;
  };
  std::vector<WhatIf> whatIfs;

  const package::Manifest &manifest() const { return *package; }
  uint64_t capacity(size_t tier) const;
  std::string tierName(size_t tier) const;
  double seconds() const { return double(step.nanoseconds) / 1e9; }
  /// Tokens of all sequences; of all replicas, where tokens are divided among devices.
  double tokensPerSecond() const { return double(step.tokens) / seconds(); }
};

/// Simulates one step of known facts.
StepResult simulateStep(const package::Manifest &manifest, const Machine &machine,
                        const std::vector<int> &engines, const StepFacts &facts,
                        const ProgramOptions &options);

/// Simulates a decoding step. Errors: a context beyond the model's, an engine that the machine
/// lacks.
Expected<Simulation> simulate(const package::Manifest &manifest, const Machine &machine,
                              const SimulationOptions &options);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_SIMULATION_H
