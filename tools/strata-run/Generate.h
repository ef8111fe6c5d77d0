//===- Generate.h - From options to printed tokens --------------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATA_RUN_GENERATE_H
#define STRATA_TOOLS_STRATA_RUN_GENERATE_H

#include "Options.h"

namespace strata::run {

/// Runs the prompts and writes all results. What can be checked is checked before the model is
/// loaded.
Status generate(const Options &options);

} // namespace strata::run

#endif // STRATA_TOOLS_STRATA_RUN_GENERATE_H
