//===- PlanRun.cpp - Runs a plan and keeps what came out ------------------===//
#include "PlanRun.h"

#include <algorithm>

namespace strata::test {

/// k of an indexer, or a router's experts per token.
static int64_t widthOf(const rt::ModelDescription &model, const Choice &choice) {
  return choice.isIndexer ? model.rowWidths[choice.number] : model.expertWidths[choice.number];
}

rt::ExecutorOptions limitsFor(const TokenBatch &batch, const StepBuilder &builder, int threads) {
  rt::ExecutorOptions options;
  options.maxSequences = int64_t(batch.size());
  options.maxPages = builder.pages();
  options.maxTokens = options.maxWanted = builder.maxTokens();
  options.threads = threads;
  options.poison = true;
  return options;
}

static RunResults makeResults(const TestedModel &model, const TokenBatch &batch) {
  const rt::ModelDescription &description = model.description();
  RunResults results;
  for (const std::vector<int32_t> &tokens : batch) {
    SequenceResults &sequence = results.sequences.emplace_back();
    size_t length = tokens.size();
    sequence.logits.resize(length * size_t(description.vocabularySize));
    sequence.hasLogits.resize(length);
    for (int64_t width : description.rowWidths)
      sequence.rows.emplace_back(length * size_t(width));
    for (int64_t width : description.expertWidths)
      sequence.experts.emplace_back(length * size_t(width));
  }
  return results;
}

namespace {

/// One array [tokens, width] for each choice.
struct StepArrays {
  std::vector<std::vector<int32_t>> chosen, imported;

  StepArrays(const TestedModel &model, const std::vector<TokenPlace> &places,
             const Imports &imports) {
    for (size_t i = 0; i < model.choices().size(); ++i) {
      const Choice &choice = model.choices()[i];
      int64_t width = widthOf(model.description(), choice);
      chosen.emplace_back(places.size() * size_t(width), -2);
      std::vector<int32_t> &array = imported.emplace_back();
      if (i < imports.count)
        for (const TokenPlace &place : places) {
          const std::vector<int32_t> &all =
              imports.from->sequences[size_t(place.sequence)].chosen(choice);
          array.insert(array.end(), all.begin() + place.position * width,
                       all.begin() + (place.position + 1) * width);
        }
    }
  }
};

} // namespace

Expected<RunResults>
runPlan(rt::Executor &executor, const TestedModel &model, const TokenBatch &batch,
        const StepPlan &plan, StepBuilder &builder, const Imports &imports,
        const std::function<void(const std::vector<TokenPlace> &)> &beforeStep) {
  RunResults results = makeResults(model, batch);
  int64_t vocabulary = model.description().vocabularySize;
  std::vector<TokenPlace> places;
  for (const std::vector<Segment> &step : plan.steps) {
    rt::StepInput input = builder.build(step, places);
    StepArrays arrays(model, places, imports);
    std::vector<float> logits(input.wanted.size() * size_t(vocabulary));
    rt::StepOutput output;
    output.logits = logits.data();
    for (size_t i = 0; i < model.choices().size(); ++i) {
      bool isIndexer = model.choices()[i].isIndexer;
      (isIndexer ? output.rows : output.experts).push_back(arrays.chosen[i].data());
      if (imports.count != 0)
        (isIndexer ? input.importedRows : input.importedExperts)
            .push_back(i < imports.count ? arrays.imported[i].data() : nullptr);
    }
    if (beforeStep)
      beforeStep(places);
    if (Status status = executor.step(input, output); !status.ok())
      return status;
    results.nanScores += output.nanScores;
    for (size_t i = 0; i < input.wanted.size(); ++i) {
      const TokenPlace &place = places[size_t(input.wanted[i])];
      SequenceResults &sequence = results.sequences[size_t(place.sequence)];
      sequence.hasLogits[size_t(place.position)] = true;
      std::copy_n(logits.begin() + int64_t(i) * vocabulary, vocabulary,
                  sequence.logits.begin() + place.position * vocabulary);
    }
    for (size_t i = 0; i < model.choices().size(); ++i) {
      const Choice &choice = model.choices()[i];
      int64_t width = widthOf(model.description(), choice);
      for (size_t n = 0; n < places.size(); ++n)
        std::copy_n(arrays.chosen[i].begin() + int64_t(n) * width, width,
                    results.sequences[size_t(places[n].sequence)].chosen(choice).begin() +
                        places[n].position * width);
    }
  }
  return results;
}

} // namespace strata::test
