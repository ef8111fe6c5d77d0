//===- WeightPattern.h - A name that stands for a stack of tensors -*- C++ -*-===//
#ifndef STRATA_LIB_CHECKPOINT_WEIGHTPATTERN_H
#define STRATA_LIB_CHECKPOINT_WEIGHTPATTERN_H

#include "strata/lib/Support/Status.h"

#include <string_view>
#include <vector>

namespace strata {

/// True if `name` has a part in braces, well formed or not.
bool isWeightPattern(std::string_view name);

/// The names that `pattern` stands for: "experts.{0..2}.weight" gives experts.0.weight,
/// experts.1.weight, experts.2.weight. A name without braces gives itself. An error: more than one
/// part in braces, not {first..last} in decimal digits without leading zeros, last before first,
/// more than 65536 names.
Expected<std::vector<std::string>> expandWeightPattern(std::string_view pattern);

} // namespace strata

#endif // STRATA_LIB_CHECKPOINT_WEIGHTPATTERN_H
