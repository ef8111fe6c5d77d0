//===- Placement.h - Placed packages: predicted against measured *- C++ -*-===//
#ifndef STRATA_LIB_BENCH_PLACEMENT_H
#define STRATA_LIB_BENCH_PLACEMENT_H

#include "strata/lib/Bench/Ceilings.h"
#include "strata/lib/Checkpoint/Checkpoint.h"
#include "strata/lib/Sim/Simulation.h"
#include "strata/runtime/core/Package.h"

namespace strata::bench {

struct PlacementOptions {
  int64_t promptTokens = 0; ///< of each sequence; 0: what the plan's context leaves room for
  int64_t sequences = 1;
  int64_t chunk = 0; ///< most tokens of a step while prompts are read; 0: the plan's
  int threads = 0;   ///< 0: one for each processor
  int samples = 10;
  int steps = 5; ///< measured ones of a sample; as many others calibrate
};

/// Steps that calibrate and steps that are measured, taken in turn.
struct PlacementSample {
  double seconds = 0, predicted = 0; ///< medians of the measured steps, and of their predictions
  /// The prediction from the commands' times alone, with rates of transfers as the machine says.
  double plain = 0;
  double stalls = 0, predictedStalls = 0;
  double commands = 0, predictedCommands = 0; ///< without waiting
  size_t rejected = 0;                        ///< measured steps that were left out
  double displaced = 0; ///< of the measured steps' time: when threads waited for a processor
  bool isDisturbed = false;

  double error() const { return seconds > 0 ? predicted / seconds - 1 : 0; }
  double plainError() const { return seconds > 0 ? plain / seconds - 1 : 0; }
};

struct Placement {
  std::string shape, variant;
  std::vector<PlacementSample> samples;
  sim::MeasuredTimes calibration; ///< of the last sample
  sim::StepResult step;           ///< the last prediction
  bool isF32 = false;             ///< what products compute in

  /// The median of the samples' relative errors, without sign.
  double error() const;
  double plainError() const;
  /// A line for all samples: the peer is the prediction.
  Line line(const Ceilings &ceilings) const;
  /// A text of some lines, the last one with the error.
  std::string text(const Ceilings &ceilings) const;
  std::string json(const Ceilings &ceilings) const;
};

/// Runs decoding steps of a placed package and predicts each with the times of its neighbours.
Expected<Placement> comparePlacement(const rt::Package &package, const Checkpoint &checkpoint,
                                     const Machine &machine, const PlacementOptions &options);

} // namespace strata::bench

#endif // STRATA_LIB_BENCH_PLACEMENT_H
