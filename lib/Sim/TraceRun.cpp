//===- TraceRun.cpp - A whole run, from the rows that it chose ------------===//
#include "strata/lib/Sim/TraceRun.h"

#include "strata/lib/Sim/Misses.h"
#include "strata/lib/Sim/PerfettoWriter.h"
#include "strata/lib/Support/Npy.h"
#include "strata/lib/Support/Text.h"
#include "strata/runtime/core/Session.h"

#include <algorithm>

namespace strata::sim {

namespace {

/// Runs no step but asks what it would cost.
class SimulatedExecutor : public rt::Executor {
public:
  SimulatedExecutor(const rt::ModelDescription &model, Simulation &result, RowTrace rows,
                    rt::Trace *trace)
      : model_(model), result_(result), rows_(std::move(rows)), trace_(trace) {}

  const rt::ModelDescription &model() const override { return model_; }
  uint64_t memoryBytes() const override { return result_.memory.total(0); }

  Status step(const rt::StepInput &input, rt::StepOutput &output) override {
    Expected<StepFacts> facts = rows_.next(input, input.importedRows);
    if (!facts.ok())
      return facts.status();
    StepResult step = simulateStep(result_.manifest(), result_.machine, result_.engines, *facts,
                                   result_.options.program);
    if (trace_) {
      trace_->beginStep(result_.steps, step.tokens);
      writeStep(result_, step, now_, *trace_);
    }
    now_ += step.nanoseconds;
    ++result_.steps;
    step += result_.step;
    result_.step = std::move(step);
    std::fill_n(output.logits, int64_t(input.wanted.size()) * model().vocabularySize, 0.0f);
    return Status::success();
  }

private:
  const rt::ModelDescription &model_;
  Simulation &result_;
  RowTrace rows_;
  rt::Trace *trace_;
  int64_t now_ = 0;
};

} // namespace

Expected<RunOptions::Prompt> readRows(const rt::ModelDescription &model, const std::string &path) {
  Expected<NpyArray<int32_t>> array = readNpyIntegers(path);
  if (!array.ok())
    return array.status();
  std::vector<int64_t> shape = array->shape;
  bool isSound = shape.size() == 3 && shape[0] == int64_t(model.rowWidths.size()) && shape[1] > 0;
  for (int64_t width : model.rowWidths)
    isSound = isSound && shape[2] == width;
  if (!isSound) {
    std::vector<int64_t> expected{int64_t(model.rowWidths.size()), -1,
                                  model.rowWidths.empty() ? 0 : model.rowWidths.front()};
    return Status(StatusCode::InvalidArgument, path + ": expected rows of shape " +
                                                   shapeText(expected) + " but got " +
                                                   shapeText(shape));
  }
  return RunOptions::Prompt{std::move(array->values), shape[1]};
}

Expected<Simulation> simulateRun(const rt::Package &package, const Machine &machine,
                                 RunOptions options, rt::Trace *trace) {
  const package::Manifest &manifest = package.manifest();
  const rt::ModelDescription &model = package.model();
  Simulation result;
  result.package = &manifest;
  result.machine = machine;
  result.options.program = options.program;
  result.options.batch = int64_t(options.prompts.size());
  result.isRun = true;
  Expected<std::vector<int>> engines = findEngines(manifest, machine);
  if (!engines.ok())
    return engines.status();
  result.engines = std::move(*engines);
  result.step.engines.resize(result.engines.size());
  Expected<RowTrace> rows = RowTrace::create(manifest);
  if (!rows.ok())
    return rows.status();

  rt::SessionOptions session;
  session.chunk = options.chunk;
  session.ignoreEos = true;
  std::vector<int64_t> lengths;
  int64_t longest = 0;
  for (const RunOptions::Prompt &prompt : options.prompts) {
    if (prompt.tokens < options.promptTokens)
      return Status(StatusCode::InvalidArgument,
                    "--prompt-tokens: expected at most the " + std::to_string(prompt.tokens) +
                        " tokens of the rows but got " + std::to_string(options.promptTokens));
    if (!longest)
      session.maxNewTokens = prompt.tokens - options.promptTokens + 1;
    if (prompt.tokens - options.promptTokens + 1 != session.maxNewTokens)
      return Status(StatusCode::InvalidArgument,
                    "expected rows of the same number of tokens for all prompts");
    lengths.push_back(options.promptTokens);
    longest = std::max(longest, prompt.tokens);
  }
  result.options.context = longest;
  rt::ExecutorOptions limits;
  if (Status status = rt::planExecutor(model, session, lengths, limits); !status.ok())
    return status;
  result.limits = {limits.maxPages, limits.maxTokens, limits.maxWanted};
  result.memory =
      computeMemory(manifest, result.limits, machine.partition, options.program.formats);

  SimulatedExecutor executor(model, result, std::move(*rows), trace);
  rt::Session run(executor, limits, session);
  for (RunOptions::Prompt &prompt : options.prompts) {
    rt::Prompt next;
    next.tokens.assign(size_t(options.promptTokens), 0);
    next.importedRows = std::move(prompt.rows);
    if (Expected<int64_t> number = run.addPrompt(std::move(next)); !number.ok())
      return number.status();
  }
  while (!run.finished())
    if (Status status = run.step(); !status.ok())
      return status;
  return result;
}

} // namespace strata::sim
