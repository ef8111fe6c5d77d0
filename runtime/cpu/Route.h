//===- Route.h - Which experts a token goes to ------------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_ROUTE_H
#define STRATA_RUNTIME_CPU_ROUTE_H

#include "strata-rt/package_generated.h"

#include <cstdint>
#include <vector>

namespace strata::rt {

/// The router of one mixture of experts, token by token. An instance is for one thread.
///
/// Scores are the sigmoid or softmax of the logits. The choice follows scores + correction: the
/// best groups of experts first (if there are groups), then the best experts of these. The weights
/// are the chosen experts' scores, without the correction. (HF's DeepseekV3TopkRouter, called
/// "noaux_tc" in configurations.) Everywhere higher comes first, then the smaller index; NaN counts
/// as −inf.
class Router {
public:
  /// `correction` may be null.
  Router(const package::Route &table, const float *correction);

  /// Writes the chosen experts, ascending.
  void choose(const float *logits, int32_t *experts);
  /// Writes the weights of `experts`, chosen here or elsewhere.
  void weigh(const float *logits, const int32_t *experts, float *weights);

private:
  void score(const float *logits);
  void dropGroups();

  const package::Route &table_;
  const float *correction_;
  std::vector<float> scores_, choice_, groupScores_;
  std::vector<int32_t> order_;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_ROUTE_H
