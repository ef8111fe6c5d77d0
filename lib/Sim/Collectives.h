//===- Collectives.h - What devices exchange in a step ----------*- C++ -*-===//
#ifndef STRATA_LIB_SIM_COLLECTIVES_H
#define STRATA_LIB_SIM_COLLECTIVES_H

#include "strata/lib/Machine/Machine.h"
#include "strata/lib/Sim/StepFacts.h"

namespace strata::sim {

/// Seconds of the collective that follows each command; 0: none. With h features of the residual
/// stream in bf16 and t tokens:
/// - tensor degree n > 1: an all-reduce of 2 · t · h bytes after attention and at the end of each
///   layer, which moves 2 (n − 1) / n of them, and an all-gather of the logits, 2 bytes each;
/// - expert degree e > tensor degree: instead of the one at the end of a layer with experts, tokens
///   go to the devices of their experts and back: 2 · t · h · (experts per token) · (e − 1) / e
///   bytes each way, divided by the devices that hold the tokens;
/// - pipeline degree p > 1: 2 · t · h bytes after each of the first p − 1 stages.
/// Each costs the machine's latency besides.
std::vector<double> findCollectives(const package::Manifest &manifest, const Machine &machine,
                                    const StepFacts &facts);

/// Features of the residual stream: what the logits are computed from; 0 if nothing says it.
int64_t hiddenSize(const package::Manifest &manifest);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_COLLECTIVES_H
