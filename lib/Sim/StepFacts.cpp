//===- StepFacts.cpp - What a step does that its program leaves open ------===//
#include "strata/lib/Sim/StepFacts.h"

#include <algorithm>

namespace strata::sim {

int64_t StepFacts::tokens() const {
  int64_t sum = 0;
  for (const Sequence &sequence : sequences)
    sum += sequence.tokens;
  return sum;
}

double StepFacts::visible(int64_t limit) const {
  double sum = 0;
  for (const Sequence &sequence : sequences) {
    // Tokens see first, first + 1, …, context positions.
    double first = double(sequence.context - sequence.tokens + 1), last = double(sequence.context);
    double most = limit == 0 ? last : double(limit);
    double end = std::min(last, std::max(most, first - 1)); // the last one that is not cut
    sum += (end - first + 1) * (first + end) / 2 + (last - end) * most;
  }
  return sum;
}

int64_t StepFacts::earlierPages(int64_t pageSize) const {
  int64_t pages = 0;
  for (const Sequence &sequence : sequences)
    if (sequence.tokens > 0)
      pages += (sequence.context - sequence.tokens + pageSize - 1) / pageSize;
  return pages;
}

double StepFacts::evaluate(const flatbuffers::Vector<const package::CostTerm *> *terms) const {
  double sum = 0;
  if (!terms)
    return sum;
  for (const package::CostTerm *term : *terms) {
    switch (term->variable()) {
    case package::CostVariable::One:
      sum += term->factor();
      break;
    case package::CostVariable::Tokens:
      sum += term->factor() * double(tokens());
      break;
    case package::CostVariable::Wanted:
      sum += term->factor() * double(wanted);
      break;
    case package::CostVariable::Visible:
      sum += term->factor() * visible(term->limit());
      break;
    }
  }
  return sum;
}

StepFacts makeDecodeStep(int64_t context, int64_t batch) {
  StepFacts facts;
  facts.wanted = batch;
  facts.sequences.assign(size_t(batch), {1, context});
  return facts;
}

} // namespace strata::sim
