//===- Session.cpp - Prompts in, tokens out -------------------------------===//
#include "strata/runtime/core/Session.h"

#include "strata/runtime/core/Greedy.h"
#include "strata/runtime/core/ImportedArray.h"
#include "strata/runtime/core/Trace.h"

#include <algorithm>

namespace strata::rt {

Session::Session(Executor &executor, const ExecutorOptions &limits, const SessionOptions &options)
    : executor_(executor), model_(executor.model()), limits_(limits), options_(options),
      pool_(limits.maxPages) {
  for (int64_t slot = limits.maxSequences - 1; slot >= 0; --slot)
    freeSlots_.push_back(int32_t(slot));
  buffers_.rows.resize(model_.rowWidths.size());
  buffers_.importedRows.resize(model_.rowWidths.size());
  buffers_.experts.resize(model_.expertWidths.size());
  buffers_.importedExperts.resize(model_.expertWidths.size());
}

int32_t Session::Sequence::token(int64_t position) const {
  int64_t length = int64_t(prompt.tokens.size());
  return position < length ? prompt.tokens[position] : generation.tokens[position - length];
}

int64_t Session::Sequence::pendingTokens() const {
  return int64_t(prompt.tokens.size() + generation.tokens.size()) - generation.processed;
}

//===----------------------------------------------------------------------===//
// Prompts
//===----------------------------------------------------------------------===//

Status Session::checkImports(const Prompt &prompt, int64_t context) const {
  // A step uses imported arrays for all its tokens or for none.
  if (!sequences_.empty()) {
    const Prompt &first = sequences_.front().prompt;
    if (first.importedRows.empty() != prompt.importedRows.empty() ||
        first.importedExperts.empty() != prompt.importedExperts.empty())
      return Status(StatusCode::InvalidArgument,
                    "rows and experts must be imported for all prompts or for none");
  }
  if (model_.rowsAreInput && prompt.importedRows.empty())
    return Status(StatusCode::InvalidArgument,
                  "the program takes rows as an input, but none are imported");
  if (!prompt.importedRows.empty())
    if (Status status = checkImportedRows(model_, context, prompt.importedRows); !status.ok())
      return status;
  if (!prompt.importedExperts.empty())
    if (Status status = checkImportedExperts(model_, context, prompt.importedExperts); !status.ok())
      return status;
  return Status::success();
}

Expected<int64_t> Session::addPrompt(Prompt prompt, const SequenceFile *saved) {
  if (saved)
    prompt.tokens.insert(prompt.tokens.begin(), saved->tokens().begin(), saved->tokens().end());
  if (Status status = checkPrompt(model_, options_, prompt.tokens); !status.ok())
    return status;
  Sequence sequence;
  sequence.context = contextTokens(model_, options_, int64_t(prompt.tokens.size()));
  if (Status status = checkImports(prompt, sequence.context); !status.ok())
    return status;
  if (saved)
    if (Status status = saved->check(executor_); !status.ok())
      return status;
  if (freeSlots_.empty())
    return Status(StatusCode::OutOfMemory,
                  "all " + std::to_string(limits_.maxSequences) + " sequences are in use");
  if (Status status = pool_.reserve(pagesFor(model_, sequence.context)); !status.ok())
    return status;
  if (saved)
    if (Status status = load(*saved, sequence); !status.ok())
      return status;
  sequence.prompt = std::move(prompt);
  sequence.slot = freeSlots_.back();
  freeSlots_.pop_back();
  sequence.generation.rows.resize(options_.keepRows ? model_.rowWidths.size() : 0);
  sequence.generation.experts.resize(options_.keepExperts ? model_.expertWidths.size() : 0);
  int64_t number = promptCount();
  sequences_.push_back(std::move(sequence));
  active_.push_back(number);
  return number;
}

/// Copies the pages of a saved sequence into some of the reserved ones.
Status Session::load(const SequenceFile &saved, Sequence &sequence) {
  takePages(sequence, saved.processed());
  if (Status status = saved.copyTo(executor_, sequence.pages); !status.ok()) {
    release(sequence);
    return status;
  }
  sequence.generation.loaded = sequence.generation.processed = saved.processed();
  return Status::success();
}

Status Session::checkNumber(int64_t prompt) const {
  return prompt >= 0 && prompt < promptCount()
             ? Status::success()
             : Status(StatusCode::InvalidArgument, "there is no prompt " + std::to_string(prompt));
}

Status Session::saveSequence(int64_t prompt, const std::string &path) const {
  if (Status status = checkNumber(prompt); !status.ok())
    return status;
  const Sequence &sequence = sequences_[size_t(prompt)];
  if (sequence.slot < 0)
    return Status(StatusCode::InvalidArgument,
                  "prompt " + std::to_string(prompt) +
                      " is finished and its sequence was not kept: it can't be saved");
  if (sequence.generation.processed == 0)
    return Status(StatusCode::InvalidArgument,
                  "prompt " + std::to_string(prompt) + " has not begun: it can't be saved");
  ResidentSequence resident{sequence.prompt.tokens, sequence.generation.processed, sequence.pages};
  resident.tokens.insert(resident.tokens.end(), sequence.generation.tokens.begin(),
                         sequence.generation.tokens.end());
  return writeSequence(path, executor_, resident);
}

Status Session::dropSequence(int64_t prompt) {
  if (Status status = checkNumber(prompt); !status.ok())
    return status;
  Sequence &sequence = sequences_[size_t(prompt)];
  if (sequence.generation.finish == FinishReason::None)
    return Status(StatusCode::InvalidArgument,
                  "prompt " + std::to_string(prompt) + " is not finished: it can't be dropped");
  if (sequence.slot >= 0)
    release(sequence);
  return Status::success();
}

int64_t Session::processedTokens() const {
  int64_t tokens = 0;
  for (const Sequence &sequence : sequences_)
    tokens += sequence.generation.processed;
  return tokens;
}

int64_t Session::plannedTokens() const {
  int64_t tokens = 0;
  for (const Sequence &sequence : sequences_)
    tokens += sequence.generation.finish == FinishReason::None ? sequence.context
                                                               : sequence.generation.processed;
  return tokens;
}

//===----------------------------------------------------------------------===//
// Composing a step
//===----------------------------------------------------------------------===//

/// Gives a sequence the pages that its first `tokens` tokens need.
void Session::takePages(Sequence &sequence, int64_t tokens) {
  while (int64_t(sequence.pages.size()) < pagesFor(model_, tokens))
    sequence.pages.push_back(pool_.take());
}

/// Adds the next tokens of a sequence to the step.
void Session::appendSegment(Segment segment, StepInput &input) {
  Sequence &sequence = sequences_[segment.sequence];
  int64_t begin = sequence.generation.processed, end = begin + segment.count;
  takePages(sequence, end);
  int32_t pageBegin = int32_t(input.pages.size());
  input.pages.insert(input.pages.end(), sequence.pages.begin(), sequence.pages.end());
  for (int64_t position = begin; position < end; ++position) {
    if (options_.allLogits || (segment.due && position == end - 1))
      input.wanted.push_back(int32_t(input.tokenIds.size()));
    input.tokenIds.push_back(sequence.token(position));
    input.positions.push_back(int32_t(position));
    input.sequences.push_back(sequence.slot);
    input.pageBegin.push_back(pageBegin);
  }
}

std::vector<Session::Segment> Session::composeStep(StepInput &input) {
  std::vector<Segment> segments;
  int64_t tokensLeft = std::min(options_.chunk, limits_.maxTokens), wantedLeft = limits_.maxWanted;
  // Decoding sequences first: a long prompt must not hold them up.
  for (bool decoding : {true, false})
    for (int64_t number : active_) {
      const Sequence &sequence = sequences_[number];
      if (sequence.generation.tokens.empty() == decoding)
        continue;
      int64_t pending = sequence.pendingTokens();
      int64_t count = std::min(pending, tokensLeft);
      if (options_.allLogits)
        count = std::min(count, wantedLeft);
      else if (count == pending && wantedLeft == 0)
        --count; // its last token waits for a step that has room for its logits
      if (count == 0)
        continue;
      Segment segment{number, count, int64_t(input.tokenIds.size()), int64_t(input.wanted.size()),
                      count == pending};
      appendSegment(segment, input);
      segments.push_back(segment);
      tokensLeft -= count;
      wantedLeft = limits_.maxWanted - int64_t(input.wanted.size());
    }
  return segments;
}

void Session::sliceImports(const std::vector<Segment> &segments, StepInput &input) {
  auto slice = [&](const std::vector<int64_t> &widths, std::vector<int32_t> Prompt::*array,
                   std::vector<std::vector<int32_t>> &buffers,
                   std::vector<const int32_t *> &pointers) {
    int64_t offset = 0; // of the sublayer's widths so far: array [sublayers, T, width]
    for (size_t i = 0; i < widths.size(); ++i) {
      std::vector<int32_t> &buffer = buffers[i];
      buffer.clear();
      for (const Segment &segment : segments) {
        const Sequence &sequence = sequences_[segment.sequence];
        auto first = (sequence.prompt.*array).begin() + offset * sequence.context +
                     sequence.generation.processed * widths[i];
        buffer.insert(buffer.end(), first, first + segment.count * widths[i]);
      }
      pointers.push_back(buffer.data());
      offset += widths[i];
    }
  };
  const Prompt &prompt = sequences_[segments.front().sequence].prompt;
  if (!prompt.importedRows.empty())
    slice(model_.rowWidths, &Prompt::importedRows, buffers_.importedRows, input.importedRows);
  if (!prompt.importedExperts.empty())
    slice(model_.expertWidths, &Prompt::importedExperts, buffers_.importedExperts,
          input.importedExperts);
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

StepOutput Session::prepareOutput(const StepInput &input) {
  StepOutput output;
  buffers_.logits.resize(input.wanted.size() * size_t(model_.vocabularySize));
  output.logits = buffers_.logits.data();
  auto prepare = [&](const std::vector<int64_t> &widths, std::vector<std::vector<int32_t>> &buffers,
                     std::vector<int32_t *> &pointers) {
    for (size_t i = 0; i < widths.size(); ++i) {
      buffers[i].resize(input.tokenIds.size() * size_t(widths[i]));
      pointers.push_back(buffers[i].data());
    }
  };
  if (options_.keepRows)
    prepare(model_.rowWidths, buffers_.rows, output.rows);
  if (options_.keepExperts)
    prepare(model_.expertWidths, buffers_.experts, output.experts);
  return output;
}

Status Session::step() {
  if (finished())
    return Status::success();
  auto begin = Trace::Clock::now();
  StepInput input;
  std::vector<Segment> segments = composeStep(input);
  sliceImports(segments, input);
  StepOutput output = prepareOutput(input);
  int64_t tokens = int64_t(input.tokenIds.size());
  if (limits_.trace)
    limits_.trace->beginStep(statistics_.steps, tokens);

  if (Status status = executor_.step(input, output); !status.ok())
    return status;
  bool prefill = std::any_of(segments.begin(), segments.end(), [&](const Segment &segment) {
    return sequences_[segment.sequence].generation.tokens.empty();
  });
  if (Status status = finishStep(segments); !status.ok())
    return status;

  auto end = Trace::Clock::now();
  if (limits_.trace)
    limits_.trace->add(prefill ? "prefill" : "decode", "step", 0, begin, end);
  ++statistics_.steps;
  (prefill ? statistics_.prefillTokens : statistics_.decodeTokens) += tokens;
  (prefill ? statistics_.prefillSeconds : statistics_.decodeSeconds) +=
      std::chrono::duration<double>(end - begin).count();
  statistics_.nanScores += output.nanScores;
  return Status::success();
}

/// Keeps what was asked for and picks the next tokens. Changes nothing if one can't be picked.
Status Session::finishStep(const std::vector<Segment> &segments) {
  int64_t vocabulary = model_.vocabularySize;
  std::vector<int32_t> next(segments.size(), -1);
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment &segment = segments[i];
    if (!segment.due)
      continue;
    int64_t last = segment.firstWanted + (options_.allLogits ? segment.count - 1 : 0);
    next[i] = greedyToken(buffers_.logits.data() + last * vocabulary, vocabulary);
    if (next[i] < 0)
      return Status(StatusCode::Corrupt,
                    "prompt " + std::to_string(segment.sequence) + ": all logits at position " +
                        std::to_string(sequences_[segment.sequence].generation.processed +
                                       segment.count - 1) +
                        " are NaN");
  }
  auto keep = [](const std::vector<int64_t> &widths, const Segment &segment,
                 const std::vector<std::vector<int32_t>> &buffers,
                 std::vector<std::vector<int32_t>> &results) {
    for (size_t i = 0; i < results.size(); ++i) {
      auto first = buffers[i].begin() + segment.firstToken * widths[i];
      results[i].insert(results[i].end(), first, first + segment.count * widths[i]);
    }
  };
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment &segment = segments[i];
    Sequence &sequence = sequences_[segment.sequence];
    Generation &generation = sequence.generation;
    keep(model_.rowWidths, segment, buffers_.rows, generation.rows);
    keep(model_.expertWidths, segment, buffers_.experts, generation.experts);
    if (options_.allLogits) {
      auto first = buffers_.logits.begin() + segment.firstWanted * vocabulary;
      generation.logits.insert(generation.logits.end(), first, first + segment.count * vocabulary);
    }
    generation.processed += segment.count;
    if (segment.due)
      acceptToken(sequence, next[i]);
  }
  active_.erase(std::remove_if(active_.begin(), active_.end(),
                               [&](int64_t number) {
                                 return sequences_[number].generation.finish != FinishReason::None;
                               }),
                active_.end());
  return Status::success();
}

void Session::acceptToken(Sequence &sequence, int32_t token) {
  Generation &generation = sequence.generation;
  generation.tokens.push_back(token);
  const std::vector<int32_t> &eos = model_.eosTokenIds;
  if (!options_.ignoreEos && std::find(eos.begin(), eos.end(), token) != eos.end())
    return retire(sequence, FinishReason::EosToken);
  if (int64_t(generation.tokens.size()) == options_.maxNewTokens)
    return retire(sequence, FinishReason::NewTokenLimit);
  if (generation.processed == sequence.context)
    return retire(sequence, FinishReason::ContextLimit);
}

void Session::retire(Sequence &sequence, FinishReason reason) {
  sequence.generation.finish = reason;
  if (!options_.keepSequences)
    release(sequence);
}

/// Gives back slot and pages, also those that were only reserved.
void Session::release(Sequence &sequence) {
  pool_.release(sequence.pages,
                pagesFor(model_, sequence.context) - int64_t(sequence.pages.size()));
  sequence.pages.clear();
  if (sequence.slot >= 0)
    freeSlots_.push_back(sequence.slot);
  sequence.slot = -1;
}

} // namespace strata::rt
