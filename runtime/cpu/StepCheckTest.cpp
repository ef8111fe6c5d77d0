//===- StepCheckTest.cpp --------------------------------------------------===//
#include "strata/runtime/cpu/StepCheck.h"

#include <functional>
#include <gtest/gtest.h>

using namespace strata;
using namespace strata::rt;

namespace {

/// Two sequences, of 3 and 1 tokens, at positions 2 … 4 and 0; pages of 4.
struct ValidStep {
  ModelDescription model;
  ExecutorOptions options;
  StepInput input;
  StepOutput output;

  ValidStep() {
    model.vocabularySize = 10;
    model.maxPositions = 100;
    model.pageSize = 4;
    model.rowWidths = {2, 2};
    model.expertWidths = {2};
    options.maxSequences = 3;
    options.maxPages = 8;
    options.maxTokens = 4;
    options.maxWanted = 2;
    input.tokenIds = {1, 2, 3, 9};
    input.positions = {2, 3, 4, 0};
    input.sequences = {2, 2, 2, 0};
    input.pageBegin = {0, 0, 0, 2};
    input.pages = {7, 1, 0};
    input.wanted = {2, 3};
  }
};

TEST(StepCheck, AcceptsWhatIsRight) {
  ValidStep step;
  EXPECT_TRUE(checkStep(step.model, step.options, step.input, step.output).ok());
  StepInput none;
  EXPECT_TRUE(checkStep(step.model, step.options, none, step.output).ok());
}

TEST(StepCheck, NamesWhatIsWrong) {
  struct Case {
    std::function<void(ValidStep &)> spoil;
    const char *message;
  };
  const Case cases[] = {
      {[](ValidStep &s) { s.options.maxTokens = 3; }, "step: expected at most 3 tokens but got 4"},
      {[](ValidStep &s) { s.input.positions.pop_back(); }, "step: expected 4 positions but got 3"},
      {[](ValidStep &s) { s.input.sequences.clear(); }, "step: expected 4 sequences but got 0"},
      {[](ValidStep &s) { s.input.pageBegin.push_back(0); },
       "step: expected 4 page beginnings but got 5"},
      {[](ValidStep &s) { s.input.tokenIds[1] = 10; },
       "step: expected a token id in [0, 10) but got 10"},
      {[](ValidStep &s) { s.input.tokenIds[1] = -1; },
       "step: expected a token id in [0, 10) but got -1"},
      {[](ValidStep &s) { s.input.positions[3] = 100; },
       "step: expected a position in [0, 100) but got 100"},
      {[](ValidStep &s) { s.input.positions[0] = -1; },
       "step: expected a position in [0, 100) but got -1"},
      {[](ValidStep &s) { s.input.sequences[3] = 3; },
       "step: expected a sequence in [0, 3) but got 3"},
      {[](ValidStep &s) { s.input.positions[1] = 4; },
       "step: expected position 3 to follow in sequence 2 but got 4"},
      {[](ValidStep &s) { s.input.sequences = {2, 0, 2, 1}; },
       "step: expected the tokens of sequence 2 to be adjacent"},
      {[](ValidStep &s) { s.input.pageBegin[1] = 1; },
       "step: expected one list of pages for sequence 2"},
      {[](ValidStep &s) { s.input.pageBegin[3] = 3; },
       "step: expected 1 pages from entry 3 on for sequence 0 but the table has 3 entries"},
      {[](ValidStep &s) { s.input.pages[1] = 8; }, "step: expected a page in [0, 8) but got 8"},
      {[](ValidStep &s) { s.input.wanted = {0, 1, 2}; },
       "step: expected logits of at most 2 tokens but got 3"},
      {[](ValidStep &s) { s.input.wanted = {1, 1}; },
       "step: expected the wanted tokens to be ascending"},
      {[](ValidStep &s) { s.input.wanted = {4}; },
       "step: expected an index of a wanted token in [0, 4) but got 4"},
      {[](ValidStep &s) { s.input.importedRows = {nullptr}; },
       "step: expected 2 arrays of imported rows but got 1"},
      {[](ValidStep &s) { s.output.rows = {nullptr}; },
       "step: expected 2 arrays of rows but got 1"},
      {[](ValidStep &s) { s.input.importedExperts = {nullptr, nullptr}; },
       "step: expected 1 arrays of imported experts but got 2"},
      {[](ValidStep &s) { s.output.experts = {nullptr, nullptr}; },
       "step: expected 1 arrays of experts but got 2"},
  };
  for (const Case &spoilt : cases) {
    ValidStep step;
    spoilt.spoil(step);
    Status status = checkStep(step.model, step.options, step.input, step.output);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.message(), spoilt.message);
  }
}

} // namespace
