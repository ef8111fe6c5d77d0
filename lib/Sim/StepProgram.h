//===- StepProgram.h - A package's commands as operations -------*- C++ -*-===//
#ifndef STRATA_LIB_SIM_STEPPROGRAM_H
#define STRATA_LIB_SIM_STEPPROGRAM_H

#include "strata/lib/Sim/Device.h"
#include "strata/lib/Sim/Timeline.h"

namespace strata::sim {

/// What runs beside what, for comparisons with systems that hide less than the package does.
enum class Overlap {
  AsWritten, ///< what the commands say
  Followers, ///< compute waits for a leader's rows as soon as they are on their way
  None,      ///< compute waits for everything that it brings as soon as it is on its way
};

/// What was measured of a package on the machine itself, in place of what descriptions say.
struct MeasuredTimes {
  std::vector<double> commands; ///< seconds of each command, without waiting; empty: as predicted
  /// What an engine of the package does otherwise than its rate says.
  struct Engine {
    double lateSeconds = 0; ///< more, for each transfer
    double stretch = 1;     ///< so many times as long, for bytes
  };
  std::vector<Engine> engines; ///< empty: nothing
  double wakeSeconds = 0;      ///< from the end of a transfer to the end of a wait for it
};

struct ProgramOptions {
  Formats formats;
  Overlap overlap = Overlap::AsWritten;
  /// The share of a leader's missing records that speculation brought before: they follow the
  /// transfers of the group before it.
  double speculation = 0;
  /// Measured times: compute takes so long, and so do all transfers to the near tier one after the
  /// other; 0: as predicted. `calibrate` makes scales of them.
  double computeSeconds = 0, transferSeconds = 0;
  double computeScale = 1, transferScale = 1; ///< of predicted times
  MeasuredTimes measured;
};

/// A step as the timeline runs it.
struct StepProgram {
  std::vector<Operation> operations;
  std::vector<Transfer> transfers;
  Links links;
};

/// Engines of a package by the numbers that a machine has for those of the same name. An error
/// names one that the machine lacks.
Expected<std::vector<int>> findEngines(const package::Manifest &manifest, const Machine &machine);

/// What links and engines of a machine do for one device; engines in the package's order.
Links makeLinks(const Machine &machine, const std::vector<int> &engines);

/// Scales that give a step its measured times, where the options have some: after this they hold
/// for other machines and steps as well.
void calibrate(const package::Manifest &manifest, const Machine &machine,
               const std::vector<int> &engines, const StepFacts &facts, ProgramOptions &options);

/// Builds the operations of one step. `engines` is of findEngines; the options are calibrated.
StepProgram buildStep(const package::Manifest &manifest, const Machine &machine,
                      const std::vector<int> &engines, const StepFacts &facts,
                      const ProgramOptions &options);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_STEPPROGRAM_H
