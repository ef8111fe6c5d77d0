//===- StepFacts.h - What a step does that its program leaves open -*- C++ -*-===//
#ifndef STRATA_LIB_SIM_STEPFACTS_H
#define STRATA_LIB_SIM_STEPFACTS_H

#include "strata-rt/package_generated.h"

#include <cstdint>
#include <map>
#include <vector>

namespace strata::sim {

/// What a slot table answers a Resolve command.
struct Resolution {
  struct Block {
    int64_t tokens = 0;
    int64_t misses = 0; ///< records that each cache of the group gathers from its home
  };
  std::vector<Block> blocks;
  int64_t hits = 0, misses = 0, own = 0; ///< distinct records of blocks
};

/// A step: how many tokens of how many sequences, what they see, and which records are missing.
struct StepFacts {
  struct Sequence {
    int64_t tokens = 0;
    int64_t context = 0; ///< positions that its last token sees, itself included
  };
  int64_t wanted = 0; ///< tokens whose logits are wanted
  std::vector<Sequence> sequences;
  std::map<uint32_t, Resolution> resolutions; ///< by the Resolve command's number

  int64_t tokens() const;
  /// Positions that tokens see, each at most `limit` (0: all), summed over the tokens.
  double visible(int64_t limit) const;
  /// Pages that hold what earlier steps wrote for the step's sequences.
  int64_t earlierPages(int64_t pageSize) const;
  /// Sum of factor × variable.
  double evaluate(const flatbuffers::Vector<const package::CostTerm *> *terms) const;
};

/// A decoding step: `batch` sequences with one token each, which sees `context` positions. It has
/// no resolutions yet.
StepFacts makeDecodeStep(int64_t context, int64_t batch);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_STEPFACTS_H
