//===- Score.h - How well a compiled model predicts a text ------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATA_RUN_SCORE_H
#define STRATA_TOOLS_STRATA_RUN_SCORE_H

#include "Options.h"

namespace strata::run {

/// Prints the mean negative log-likelihood of the text, in nats per byte, and on request the recall
/// matrix of the model's indexers.
Status score(const Options &options);

} // namespace strata::run

#endif // STRATA_TOOLS_STRATA_RUN_SCORE_H
