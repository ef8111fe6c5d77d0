//===- Numbers.cpp - How simulations write numbers ------------------------===//
#include "strata/lib/Sim/Numbers.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace strata::sim {

std::string format(const char *pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

static std::string threeDigits(double value) {
  double size = std::abs(value);
  return format(size >= 99.95 ? "%.0f" : size >= 9.995 ? "%.1f" : "%.2f", value);
}

std::string withPrefix(double value) {
  static const char *const kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  bool isWhole = prefix == 0 && value == std::floor(value);
  return (isWhole ? format("%.0f", value) : threeDigits(value)) + " " + kPrefixes[prefix];
}

std::string formatTime(double nanoseconds) {
  if (nanoseconds == 0)
    return "0";
  if (nanoseconds < 1e3)
    return format("%.0f ns", nanoseconds);
  if (nanoseconds < 1e6)
    return threeDigits(nanoseconds / 1e3) + " µs";
  if (nanoseconds < 1e9)
    return format(nanoseconds < 1e8 ? "%.2f ms" : "%.1f ms", nanoseconds / 1e6);
  return format("%.2f s", nanoseconds / 1e9);
}

std::string formatShare(double share) { return format("%.1f %%", 100 * share); }

std::string formatContext(int64_t tokens) {
  for (auto [unit, name] : {std::pair<int64_t, const char *>(1 << 20, "M"), {1 << 10, "K"}})
    if (tokens >= unit && tokens % unit == 0)
      return std::to_string(tokens / unit) + name;
  return std::to_string(tokens);
}

std::string describe(const Simulation &simulation) {
  const Machine &machine = simulation.machine;
  std::string text = simulation.manifest().model_type()->str() + " on " + machine.name;
  if (machine.devices > 1) {
    text += " (" + std::to_string(machine.devices) + " devices";
    std::string separator = ": ";
    for (auto [name, degree] : {std::pair("tensor", machine.partition.tensor),
                                {"expert", machine.partition.expert},
                                {"pipeline", machine.partition.pipeline}})
      if (degree > 1) {
        text += separator + name + " " + std::to_string(degree);
        separator = ", ";
      }
    text += ")";
  }
  if (simulation.isRun)
    return text + ", a run of " + std::to_string(simulation.steps) +
           (simulation.steps == 1 ? " step" : " steps");
  return text + ", context " + formatContext(simulation.options.context) + ", batch " +
         std::to_string(simulation.options.batch);
}

std::vector<std::pair<const char *, int64_t>> listTraffic(const Traffic &traffic) {
  return {{"rows", traffic.rows},
          {"index keys", traffic.keys},
          {"weights", traffic.weights},
          {"pages", traffic.pages},
          {"write-back", traffic.writeBack}};
}

} // namespace strata::sim
