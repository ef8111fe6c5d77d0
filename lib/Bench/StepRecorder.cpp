//===- StepRecorder.cpp - Steps of an executor, taken apart ---------------===//
#include "strata/lib/Bench/StepRecorder.h"

#include "strata/lib/Bench/Samples.h"

#include <algorithm>
#include <numeric>

namespace strata::bench {

using rt::Trace;

Status StepRecorder::step(const rt::StepInput &input, rt::StepOutput &output) {
  trace_.take(); // what the session added
  Disturbance disturbance;
  Trace::Clock::time_point begin = Trace::Clock::now();
  Status status = executor_.step(input, output);
  Trace::Clock::time_point end = Trace::Clock::now();
  if (!status.ok())
    return status;
  last_ = {};
  last_.displaced = disturbance.seconds();
  last_.seconds = std::chrono::duration<double>(end - begin).count();
  std::vector<const int32_t *> rows(output.rows.begin(), output.rows.end());
  Expected<sim::StepFacts> facts = rows_.next(input, rows);
  if (!facts.ok())
    return facts.status();
  last_.facts = std::move(*facts);
  return takeApart();
}

Status StepRecorder::takeApart() {
  std::vector<Trace::Measured> events = trace_.take();
  std::map<int, size_t> engineOf; // by track
  last_.engines.resize(engines_.size());
  for (uint32_t i = 0; i < engines_.size(); ++i)
    engineOf[trace_.addTrack("engine " + manifest_.engines()->Get(i)->name()->str())] = i;
  std::vector<int64_t> ends; // of transfers
  for (const Trace::Measured &event : events) {
    auto engine = engineOf.find(event.track);
    if (engine == engineOf.end())
      continue;
    const MachineEngine &mover = machine_.engines[size_t(engines_[engine->second])];
    double took = double(event.end - event.begin) / 1e9;
    double bytes = mover.bandwidth > 0 ? double(event.bytes) / mover.bandwidth : 0;
    last_.engines[engine->second].push_back({took, mover.operationSeconds, bytes});
    ends.push_back(event.end);
  }
  std::sort(ends.begin(), ends.end());

  double stalled = 0, inCommands = 0;
  for (const Trace::Measured &event : events) {
    if (event.track != 0)
      continue;
    double seconds = double(event.end - event.begin) / 1e9;
    if (event.category == Trace::kStallCategory) {
      stalled += seconds;
      // The wait ended because of the last transfer that ended in it.
      auto after = std::upper_bound(ends.begin(), ends.end(), event.end);
      if (after != ends.begin() && *(after - 1) >= event.begin)
        last_.wakes.push_back(double(event.end - *(after - 1)) / 1e9);
      continue;
    }
    // A command's stalls come before its own event.
    last_.commands.push_back(seconds - stalled);
    inCommands += seconds;
    last_.stalls += stalled;
    stalled = 0;
  }
  last_.rest = last_.seconds - inCommands;
  if (last_.commands.size() != manifest_.commands()->size())
    return Status(StatusCode::Corrupt,
                  "expected events of " + std::to_string(manifest_.commands()->size()) +
                      " commands in the trace but got " + std::to_string(last_.commands.size()));
  return Status::success();
}

/// Most commands take a little longer now and then, so that the sum of medians is less than what
/// half of the steps took: the commands share the difference.
static void scaleToSteps(const std::vector<RecordedStep> &steps, std::vector<double> &commands) {
  std::vector<double> sums;
  for (const RecordedStep &step : steps)
    sums.push_back(std::accumulate(step.commands.begin(), step.commands.end(), 0.0));
  double sum = std::accumulate(commands.begin(), commands.end(), 0.0);
  if (sum > 0)
    for (double &seconds : commands)
      seconds *= quantile(sums, 0.5) / sum;
}

/// What half of the transfers are late is each one's cost; what half of the bytes take longer
/// besides goes with bytes: memory that others use too slows long transfers down.
static sim::MeasuredTimes::Engine calibrateEngine(const std::vector<RecordedStep> &steps,
                                                  size_t engine) {
  std::vector<double> late;
  for (const RecordedStep &step : steps)
    for (const RecordedStep::Transfer &transfer : step.engines[engine])
      late.push_back(transfer.seconds - transfer.operationSeconds - transfer.byteSeconds);
  sim::MeasuredTimes::Engine result;
  result.lateSeconds = std::max(quantile(std::move(late), 0.5), 0.0);
  std::vector<std::pair<double, double>> stretches; // and the bytes' share of time
  double all = 0, below = 0;
  for (const RecordedStep &step : steps)
    for (const RecordedStep::Transfer &transfer : step.engines[engine])
      if (transfer.byteSeconds > 0) {
        double own = transfer.seconds - transfer.operationSeconds - result.lateSeconds;
        stretches.push_back({own / transfer.byteSeconds, transfer.byteSeconds});
        all += transfer.byteSeconds;
      }
  std::sort(stretches.begin(), stretches.end());
  for (auto [stretch, seconds] : stretches)
    if ((below += seconds) >= all / 2) {
      result.stretch = std::max(stretch, 1.0);
      break;
    }
  return result;
}

sim::MeasuredTimes calibrate(const std::vector<RecordedStep> &steps) {
  sim::MeasuredTimes times;
  if (steps.empty())
    return times;
  for (size_t command = 0; command < steps.front().commands.size(); ++command) {
    std::vector<double> each;
    for (const RecordedStep &step : steps)
      each.push_back(step.commands[command]);
    times.commands.push_back(quantile(std::move(each), 0.5));
  }
  scaleToSteps(steps, times.commands);
  for (size_t engine = 0; engine < steps.front().engines.size(); ++engine)
    times.engines.push_back(calibrateEngine(steps, engine));
  std::vector<double> wakes;
  for (const RecordedStep &step : steps)
    wakes.insert(wakes.end(), step.wakes.begin(), step.wakes.end());
  times.wakeSeconds = quantile(std::move(wakes), 0.5);
  return times;
}

} // namespace strata::bench
