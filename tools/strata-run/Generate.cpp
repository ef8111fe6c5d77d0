//===- Generate.cpp - From options to printed tokens ----------------------===//
#include "Generate.h"

#include "Counters.h"
#include "Files.h"
#include "Model.h"
#include "Report.h"

#include "strata/lib/Support/File.h"
#include "strata/runtime/core/Trace.h"

#include <cstdio>

namespace strata::run {

/// An error of one of several prompts names it.
static Status ofPrompt(const Options &options, size_t number, const Status &status) {
  if (status.ok() || options.prompts.size() == 1)
    return status;
  return Status(status.code(), "prompt " + std::to_string(number) + ": " + status.message());
}

/// The saved sequences that the prompts follow: one for each, or none.
static Expected<std::vector<rt::SequenceFile>> openSequences(const Options &options) {
  std::vector<rt::SequenceFile> files;
  for (size_t i = 0; i < options.prompts.size() && !options.loadSequence.empty(); ++i) {
    Expected<rt::SequenceFile> file =
        rt::SequenceFile::open(numberedPath(options.loadSequence, i, options.prompts.size()));
    if (!file.ok())
      return file.status();
    files.push_back(std::move(*file));
  }
  return files;
}

/// The prompts with their imported arrays, checked as far as that needs no executor. `lengths` gets
/// their tokens with those of saved sequences.
static Expected<std::vector<rt::Prompt>> preparePrompts(const Options &options,
                                                        const rt::ModelDescription &model,
                                                        const std::vector<rt::SequenceFile> &saved,
                                                        std::vector<int64_t> &lengths) {
  std::vector<rt::Prompt> prompts;
  for (size_t i = 0; i < options.prompts.size(); ++i) {
    if (options.prompts[i].isText && model.vocabularySize != 256)
      return Status(StatusCode::InvalidArgument,
                    "--prompt-text is for vocabularies of the 256 bytes, but the model's has " +
                        std::to_string(model.vocabularySize) +
                        " entries: ids are needed (--prompt-ids)");
    rt::Prompt prompt{options.prompts[i].tokens, {}, {}};
    std::vector<int32_t> all = saved.empty() ? std::vector<int32_t>() : saved[i].tokens();
    all.insert(all.end(), prompt.tokens.begin(), prompt.tokens.end());
    if (Status status = checkPrompt(model, options.session, all); !status.ok())
      return ofPrompt(options, i, status);
    lengths.push_back(int64_t(all.size()));
    if (Status status = readImports(options, model, i, lengths.back(), prompt); !status.ok())
      return ofPrompt(options, i, status);
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

static Expected<rt::ExecutorOptions> planLimits(const Options &options,
                                                const rt::ModelDescription &model,
                                                const std::vector<int64_t> &lengths,
                                                rt::Trace *trace) {
  rt::ExecutorOptions limits;
  limits.memoryLimit = options.memoryLimit;
  limits.threads = options.threads;
  limits.poison = options.poison;
  limits.transferDelay = options.lateTransfers * 1000;
  limits.trace = trace;
  if (Status status = planExecutor(model, options.session, lengths, limits); !status.ok())
    return status;
  return limits;
}

static Status runSession(const Options &options, std::vector<rt::Prompt> prompts,
                         const std::vector<rt::SequenceFile> &saved, rt::Session &session) {
  for (size_t i = 0; i < prompts.size(); ++i)
    if (Expected<int64_t> number =
            session.addPrompt(std::move(prompts[i]), saved.empty() ? nullptr : &saved[i]);
        !number.ok())
      return ofPrompt(options, i, number.status());
  ProgressBar bar;
  while (!session.finished()) {
    bar.update(session);
    if (Status status = session.step(); !status.ok())
      return status;
  }
  return Status::success();
}

/// The only thing on standard output: a line for each prompt.
static Status printTokens(const Options &options, const rt::Session &session) {
  std::string text;
  for (size_t i = 0; i < options.prompts.size(); ++i) {
    const char *separator = "";
    for (int32_t id : session.generation(int64_t(i)).tokens) {
      text += options.prompts[i].isText ? std::string(1, char(id)) : separator + std::to_string(id);
      separator = " ";
    }
    text += '\n';
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return Status(StatusCode::Io, "writing to standard output failed");
  return Status::success();
}

/// All results, each also when another one can't be written. The first error counts.
static Status writeResults(const Options &options, const rt::Session &session,
                           const rt::ModelDescription &model, const rt::Trace &trace,
                           const rt::Executor &executor) {
  Status first = printTokens(options, session);
  auto keep = [&](Status status) {
    if (first.ok())
      first = std::move(status);
  };
  for (size_t i = 0; i < options.prompts.size(); ++i)
    keep(writeOutputs(options, model, i, session.generation(int64_t(i))));
  for (size_t i = 0; i < options.prompts.size() && !options.saveSequence.empty(); ++i)
    keep(session.saveSequence(int64_t(i),
                              numberedPath(options.saveSequence, i, options.prompts.size())));
  if (!options.trace.empty())
    keep(trace.write(options.trace));
  if (!options.counters.empty())
    keep(writeFile(options.counters, writeCounters(*executor.tierCounters())));
  return first;
}

Status generate(const Options &options) {
  Expected<std::unique_ptr<Model>> model = Model::open(options.input, options.device);
  if (!model.ok())
    return model.status();
  const rt::ModelDescription &description = (*model)->description();
  Expected<std::vector<rt::SequenceFile>> saved = openSequences(options);
  if (!saved.ok())
    return saved.status();
  std::vector<int64_t> lengths;
  Expected<std::vector<rt::Prompt>> prompts = preparePrompts(options, description, *saved, lengths);
  if (!prompts.ok())
    return prompts.status();
  rt::Trace trace;
  Expected<rt::ExecutorOptions> limits =
      planLimits(options, description, lengths, options.trace.empty() ? nullptr : &trace);
  if (!limits.ok())
    return limits.status();
  if (Status status = checkOutputs(options, description); !status.ok())
    return status;

  Expected<Checkpoint> checkpoint = Checkpoint::open(options.weights);
  if (!checkpoint.ok())
    return checkpoint.status();
  Expected<std::unique_ptr<rt::Executor>> executor = (*model)->createExecutor(*checkpoint, *limits);
  if (!executor.ok())
    return executor.status();
  if (!options.counters.empty() && !(*executor)->tierCounters())
    return Status(StatusCode::InvalidArgument,
                  "--counters: the package was compiled for one tier, so nothing is counted");
  rt::Session session(**executor, *limits, options.session);
  if (Status status = runSession(options, std::move(*prompts), *saved, session); !status.ok())
    return status;
  if (Status status = writeResults(options, session, description, trace, **executor); !status.ok())
    return status;
  printSummary(session, **executor);
  return Status::success();
}

} // namespace strata::run
