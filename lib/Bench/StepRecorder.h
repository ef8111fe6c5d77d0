//===- StepRecorder.h - Steps of an executor, taken apart -------*- C++ -*-===//
#ifndef STRATA_LIB_BENCH_STEPRECORDER_H
#define STRATA_LIB_BENCH_STEPRECORDER_H

#include "strata/lib/Sim/Misses.h"
#include "strata/lib/Sim/StepProgram.h"
#include "strata/runtime/core/Trace.h"

#include <optional>

namespace strata::bench {

/// A step as it ran.
struct RecordedStep {
  double seconds = 0;
  double displaced = 0; ///< seconds that threads waited for a processor
  sim::StepFacts facts;
  std::vector<double> commands; ///< seconds of each command, without what it waited for
  double stalls = 0;            ///< seconds in which compute waited
  double rest = 0;              ///< seconds outside commands
  struct Transfer {
    double seconds = 0;
    double operationSeconds = 0, byteSeconds = 0; ///< what the machine's description says of it
  };
  std::vector<std::vector<Transfer>> engines; ///< transfers of each engine
  std::vector<double> wakes; ///< from the end of a transfer to the end of a wait for it
};

/// Runs the steps of another executor, which traces to `trace`, and keeps what the last one did.
/// The session must keep rows: they say which records were missing.
class StepRecorder : public rt::Executor {
public:
  /// `engines` is of findEngines. What is given outlives the recorder.
  StepRecorder(rt::Executor &executor, rt::Trace &trace, const package::Manifest &manifest,
               const Machine &machine, const std::vector<int> &engines, sim::RowTrace rows)
      : executor_(executor), trace_(trace), manifest_(manifest), machine_(machine),
        engines_(engines), rows_(std::move(rows)) {}

  const rt::ModelDescription &model() const override { return executor_.model(); }
  uint64_t memoryBytes() const override { return executor_.memoryBytes(); }
  Status step(const rt::StepInput &input, rt::StepOutput &output) override;

  const RecordedStep &last() const { return last_; }

private:
  Status takeApart();

  rt::Executor &executor_;
  rt::Trace &trace_;
  const package::Manifest &manifest_;
  const Machine &machine_;
  const std::vector<int> &engines_;
  sim::RowTrace rows_;
  RecordedStep last_;
};

/// What steps have in common: medians of what they took.
sim::MeasuredTimes calibrate(const std::vector<RecordedStep> &steps);

} // namespace strata::bench

#endif // STRATA_LIB_BENCH_STEPRECORDER_H
