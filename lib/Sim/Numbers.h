//===- Numbers.h - How simulations write numbers ----------------*- C++ -*-===//
#ifndef STRATA_LIB_SIM_NUMBERS_H
#define STRATA_LIB_SIM_NUMBERS_H

#include "strata/lib/Sim/Simulation.h"

#include <string>

namespace strata::sim {

/// 3 significant digits and a decimal prefix: "80.6 G", "656 ". For units behind it.
std::string withPrefix(double value);
/// "18.15 ms", "1.20 µs".
std::string formatTime(double nanoseconds);
/// "12.3 %".
std::string formatShare(double share);
/// Multiples of 1024 and 1024² as "128K" and "1M", others in digits.
std::string formatContext(int64_t tokens);
/// printf into a string.
std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/// "GLM-5.2 on h200x8 (8 devices: tensor 8), context 1M, batch 8".
std::string describe(const Simulation &simulation);

/// The kinds of traffic by name, in bytes.
std::vector<std::pair<const char *, int64_t>> listTraffic(const Traffic &traffic);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_NUMBERS_H
