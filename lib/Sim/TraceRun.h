//===- TraceRun.h - A whole run, from the rows that it chose ----*- C++ -*-===//
#ifndef STRATA_LIB_SIM_TRACERUN_H
#define STRATA_LIB_SIM_TRACERUN_H

#include "strata/lib/Sim/Simulation.h"
#include "strata/runtime/core/Package.h"
#include "strata/runtime/core/Trace.h"

#include <vector>

namespace strata::sim {

/// A run of strata-run: the rows of each prompt, and how it was fed.
struct RunOptions {
  struct Prompt {
    std::vector<int32_t> rows; ///< [indexers, T, k], as strata-run --rows writes them
    int64_t tokens = 0;        ///< T
  };
  std::vector<Prompt> prompts;
  int64_t promptTokens = 1; ///< of each prompt; the rest of its T tokens were generated
  int64_t chunk = 256;      ///< most tokens of a step
  ProgramOptions program;
};

/// Simulates all steps of a run; the result adds them up, with the timeline of the last one. Each
/// step has the sequences, pages and records of the run: a session of the runtime makes them, and
/// the runtime's slot tables say what misses. `trace`, if given, receives all steps.
Expected<Simulation> simulateRun(const rt::Package &package, const Machine &machine,
                                 RunOptions options, rt::Trace *trace);

/// Reads the rows of one prompt, of any number of tokens.
Expected<RunOptions::Prompt> readRows(const rt::ModelDescription &model, const std::string &path);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_TRACERUN_H
