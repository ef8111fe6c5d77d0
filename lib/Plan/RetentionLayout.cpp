//===- RetentionLayout.cpp - Where tensors of a plan lie ------------------===//
#include "strata/lib/Plan/Offsets.h"
#include "strata/lib/Plan/RetentionState.h"

namespace strata::plan {

RetentionLayout layOutRetention(const RetentionProblem &problem,
                                const std::vector<Retention> &choices, uint64_t alignment) {
  RetentionLayout layout;
  std::vector<LiveBytes> buffers;
  auto add = [&](size_t tensor, int64_t first, int64_t last) {
    layout.parts.push_back({tensor, first, last, 0});
    buffers.push_back({problem.tensors[tensor].bytes, first, last});
  };
  for (size_t i = 0; i < choices.size(); ++i) {
    const RetainedTensor &tensor = problem.tensors[i];
    PeriodRange freed = getFreedPeriods(problem, tensor, choices[i]);
    if (!freed.size()) {
      add(i, tensor.produced, tensor.used);
      continue;
    }
    add(i, tensor.produced, freed.first - 1);
    add(i, freed.last + 1, tensor.used);
  }
  Offsets offsets = assignOffsets(buffers, alignment);
  for (size_t i = 0; i < layout.parts.size(); ++i)
    layout.parts[i].offset = offsets.offsets[i];
  layout.end = offsets.end;
  layout.maxLive = offsets.maxLive;
  return layout;
}

} // namespace strata::plan
