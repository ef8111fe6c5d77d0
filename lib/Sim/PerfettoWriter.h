//===- PerfettoWriter.h - A predicted step as a trace -----------*- C++ -*-===//
#ifndef STRATA_LIB_SIM_PERFETTOWRITER_H
#define STRATA_LIB_SIM_PERFETTOWRITER_H

#include "strata/lib/Sim/Simulation.h"
#include "strata/runtime/core/Trace.h"

namespace strata::sim {

/// Adds a step that begins at `origin` (nanoseconds), in the form of rt::Trace: what a measured run
/// of the package would write.
void writeStep(const Simulation &simulation, const StepResult &step, int64_t origin,
               rt::Trace &trace);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_PERFETTOWRITER_H
