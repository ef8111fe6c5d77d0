//===- HtmlPictures.h - Pictures of a simulated step as SVG -----*- C++ -*-===//
#ifndef STRATA_LIB_SIM_HTMLPICTURES_H
#define STRATA_LIB_SIM_HTMLPICTURES_H

#include "strata/lib/Sim/Simulation.h"

#include <string>

namespace strata::sim {

/// Compute and each engine as a track, from `from` to `to` (nanoseconds of the step).
std::string drawTimeline(const Simulation &simulation, Interval range);

/// The time of the share group that brings most: from its Resolve to the next one's; empty
/// where there is none.
Interval findBusiestGroup(const Simulation &simulation);

/// Bytes in use of the near tier by class over the step.
std::string drawMemory(const Simulation &simulation);

/// For each layer how much of its transfers is hidden, and how much is not.
std::string drawLayers(const Simulation &simulation);

std::string escapeHtml(std::string_view text);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_HTMLPICTURES_H
