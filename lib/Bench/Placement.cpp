//===- Placement.cpp - Placed packages: predicted against measured --------===//
#include "strata/lib/Bench/Placement.h"

#include "strata/lib/Bench/StepRecorder.h"
#include "strata/runtime/core/Session.h"
#include "strata/runtime/cpu/CpuExecutor.h"

#include <algorithm>
#include <functional>
#include <random>

namespace strata::bench {

namespace {

/// Steps before the first sample: hot sets and caches of the processor fill.
constexpr int64_t kFirstSteps = 8;
/// So many times the wanted steps are run at most, to find undisturbed ones.
constexpr int kMostRounds = 3;

class Comparison {
public:
  Comparison(const rt::Package &package, const Machine &machine, const PlacementOptions &options)
      : package_(package), manifest_(package.manifest()), machine_(machine), options_(options) {}

  Expected<Placement> run(const Checkpoint &checkpoint);

private:
  Status readPrompts(rt::Session &session);
  Status sample(rt::Session &session, StepRecorder &recorder, Placement &result);
  Status checkEngines() const;
  Status plan(rt::SessionOptions &session, rt::ExecutorOptions &limits);

  const rt::Package &package_;
  const package::Manifest &manifest_;
  const Machine &machine_;
  PlacementOptions options_;
  std::vector<int> engines_;
};

} // namespace

/// The executor's engines have the rates that the package was compiled with.
Status Comparison::checkEngines() const {
  for (uint32_t i = 0; i < engines_.size(); ++i) {
    const package::Engine &ours = *manifest_.engines()->Get(i);
    const MachineEngine &theirs = machine_.engines[size_t(engines_[i])];
    if (ours.bandwidth() != theirs.bandwidth || ours.operation_seconds() != theirs.operationSeconds)
      return Status(StatusCode::InvalidArgument,
                    "expected the machine that the package was compiled for, but engine \"" +
                        theirs.name + "\" of " + machine_.name + " has another rate");
  }
  return Status::success();
}

Status Comparison::plan(rt::SessionOptions &session, rt::ExecutorOptions &limits) {
  const package::PlacementPlan *placement = manifest_.placement();
  if (!placement)
    return Status(StatusCode::InvalidArgument,
                  "expected a package that was compiled for a machine (--machine)");
  if (package_.model().rowsAreInput)
    return Status(StatusCode::InvalidArgument, "expected a package that chooses its own rows");
  session.chunk = options_.chunk ? options_.chunk : std::max<int64_t>(placement->tokens(), 1);
  session.maxNewTokens =
      kFirstSteps + 2 * kMostRounds * int64_t(options_.samples) * options_.steps + 1;
  session.ignoreEos = session.keepRows = true;
  int64_t room = placement->context() - session.maxNewTokens + 1;
  if (options_.promptTokens == 0)
    options_.promptTokens = room;
  auto text = [](int64_t number) { return std::to_string(number); };
  if (room < 1)
    return Status(StatusCode::InvalidArgument,
                  "expected a plan for a context of at least " + text(session.maxNewTokens) +
                      " positions, for " + text(session.maxNewTokens) +
                      " new tokens at most, but got " + text(placement->context()) +
                      ": take fewer samples or steps");
  if (options_.promptTokens > room)
    return Status(StatusCode::InvalidArgument, "--prompt-tokens: expected at most " + text(room) +
                                                   " of the " + text(placement->context()) +
                                                   " positions of the plan but got " +
                                                   text(options_.promptTokens));
  std::vector<int64_t> lengths(size_t(options_.sequences), options_.promptTokens);
  return rt::planExecutor(package_.model(), session, lengths, limits);
}

/// Tokens at random, the same ones in each run.
Status Comparison::readPrompts(rt::Session &session) {
  std::mt19937 random(1);
  for (int64_t i = 0; i < options_.sequences; ++i) {
    rt::Prompt prompt;
    for (int64_t token = 0; token < options_.promptTokens; ++token)
      prompt.tokens.push_back(int32_t(random() % uint64_t(package_.model().vocabularySize)));
    if (Expected<int64_t> number = session.addPrompt(std::move(prompt)); !number.ok())
      return number.status();
  }
  while (session.statistics().decodeTokens < kFirstSteps * options_.sequences)
    if (Status status = session.step(); !status.ok())
      return status;
  return Status::success();
}

static double median(const std::vector<RecordedStep> &steps, double RecordedStep::*field) {
  std::vector<double> values;
  for (const RecordedStep &step : steps)
    values.push_back(step.*field);
  return quantile(std::move(values), 0.5);
}

static bool isDisturbed(const RecordedStep &step) {
  return step.displaced > Disturbance::kMost * step.seconds;
}

/// The least disturbed ones.
static void keepQuiet(std::vector<RecordedStep> &steps, size_t count) {
  std::sort(steps.begin(), steps.end(), [](const RecordedStep &a, const RecordedStep &b) {
    return a.displaced / a.seconds < b.displaced / b.seconds;
  });
  steps.resize(std::min(steps.size(), count));
}

Status Comparison::sample(rt::Session &session, StepRecorder &recorder, Placement &result) {
  std::vector<RecordedStep> calibrating, measured;
  auto isEnough = [&](const std::vector<RecordedStep> &steps) {
    return std::count_if(steps.begin(), steps.end(), std::not_fn(isDisturbed)) >= options_.steps;
  };
  for (int i = 0;
       i < kMostRounds * options_.steps && !(isEnough(calibrating) && isEnough(measured)); ++i)
    // Either kind comes first in turn, so that what changes slowly changes neither.
    for (bool isFirst : {true, false}) {
      if (Status status = session.step(); !status.ok())
        return status;
      (isFirst == (i % 2 == 0) ? calibrating : measured).push_back(recorder.last());
    }
  PlacementSample sample;
  sample.rejected = measured.size() - size_t(options_.steps);
  keepQuiet(calibrating, size_t(options_.steps));
  keepQuiet(measured, size_t(options_.steps));
  sample.isDisturbed = isDisturbed(measured.back());
  for (const RecordedStep &step : measured)
    sample.displaced += step.displaced / step.seconds / double(measured.size());
  result.calibration = calibrate(calibrating);
  double rest = median(calibrating, &RecordedStep::rest);
  sim::ProgramOptions program;
  program.measured = result.calibration;
  sim::ProgramOptions plain;
  plain.measured.commands = result.calibration.commands;
  std::vector<double> predicted, plainlyPredicted, stalls;
  for (const RecordedStep &step : measured) {
    sim::StepResult other = sim::simulateStep(manifest_, machine_, engines_, step.facts, plain);
    plainlyPredicted.push_back(double(other.nanoseconds) / 1e9 + rest);
    result.step = sim::simulateStep(manifest_, machine_, engines_, step.facts, program);
    predicted.push_back(double(result.step.nanoseconds) / 1e9 + rest);
    int64_t waited = 0;
    for (int64_t stall : result.step.stalls)
      waited += stall;
    stalls.push_back(double(waited) / 1e9);
  }
  sample.seconds = median(measured, &RecordedStep::seconds);
  sample.predicted = quantile(predicted, 0.5);
  sample.plain = quantile(plainlyPredicted, 0.5);
  sample.stalls = median(measured, &RecordedStep::stalls);
  sample.predictedStalls = quantile(stalls, 0.5);
  std::vector<double> commands;
  for (const RecordedStep &step : measured)
    commands.push_back(step.seconds - step.stalls - step.rest);
  sample.commands = quantile(commands, 0.5);
  sample.predictedCommands = double(result.step.computeNanoseconds) / 1e9;
  result.samples.push_back(sample);
  return Status::success();
}

Expected<Placement> Comparison::run(const Checkpoint &checkpoint) {
  Expected<std::vector<int>> engines = sim::findEngines(manifest_, machine_);
  if (!engines.ok())
    return engines.status();
  engines_ = std::move(*engines);
  if (Status status = checkEngines(); !status.ok())
    return status;
  rt::SessionOptions sessionOptions;
  rt::Trace trace;
  rt::ExecutorOptions limits;
  limits.threads = options_.threads;
  limits.trace = &trace;
  if (Status status = plan(sessionOptions, limits); !status.ok())
    return status;
  Expected<sim::RowTrace> rows = sim::RowTrace::create(manifest_);
  if (!rows.ok())
    return rows.status();
  Expected<std::unique_ptr<rt::Executor>> executor =
      rt::createCpuExecutor(package_, checkpoint, limits);
  if (!executor.ok())
    return executor.status();
  StepRecorder recorder(**executor, trace, manifest_, machine_, engines_, std::move(*rows));
  rt::Session session(recorder, limits, sessionOptions);
  if (Status status = readPrompts(session); !status.ok())
    return status;
  Placement result;
  result.isF32 = manifest_.compute() == package::ElementType::F32;
  result.shape = package_.model().modelType + ", " + std::to_string(options_.promptTokens) +
                 " positions, " + std::to_string(options_.sequences) + " sequences";
  result.variant = machine_.name + ", " +
                   (options_.threads ? std::to_string(options_.threads) : std::string("all")) +
                   " threads";
  for (int i = 0; i < options_.samples; ++i)
    if (Status status = sample(session, recorder, result); !status.ok())
      return status;
  return result;
}

Expected<Placement> comparePlacement(const rt::Package &package, const Checkpoint &checkpoint,
                                     const Machine &machine, const PlacementOptions &options) {
  return Comparison(package, machine, options).run(checkpoint);
}

} // namespace strata::bench
