//===- Line.cpp - A line of a benchmark's results -------------------------===//
#include "strata/lib/Bench/Line.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace strata::bench {

void Line::set(const Samples &times) {
  seconds = times.median();
  p25 = times.p25();
  minimum = times.minimum();
  rejected = times.rejected();
  isDisturbed = times.isDisturbed();
  samples = times.counted();
}

std::optional<double> Line::share() const {
  if (!boundSeconds || seconds <= 0)
    return std::nullopt;
  return *boundSeconds / seconds;
}

std::optional<double> boundOf(double bytes, double operations, double readRate,
                              double operationRate) {
  if (readRate <= 0 || operationRate <= 0)
    return std::nullopt;
  return std::max(bytes / readRate, operations / operationRate);
}

static std::string formatted(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

static std::string timeText(double seconds) {
  return seconds >= 1e-3 ? formatted("%.2f ms", seconds * 1e3)
                         : formatted("%.1f us", seconds * 1e6);
}

std::string writeText(const Line &line) {
  std::string text = line.name + ", " + line.shape + ", " + line.variant + ": " +
                     timeText(line.seconds) + " (minimum " + timeText(line.minimum) + ", p25 " +
                     timeText(line.p25) + ")";
  if (line.rate)
    text += ", " + formatted("%.1f ", *line.rate / 1e9) + line.unit;
  if (line.boundSeconds)
    text += ", bound " + timeText(*line.boundSeconds) +
            formatted(", share %.1f %%", line.share().value_or(0) * 100);
  if (line.peerSeconds)
    text += ", peer " + timeText(*line.peerSeconds);
  text += "; " + std::to_string(line.samples) + " samples, " + std::to_string(line.rejected) +
          " rejected";
  return line.isDisturbed ? text + ", all disturbed" : text;
}

std::string writeJson(const Line &line) {
  using Json = nlohmann::ordered_json;
  auto microseconds = [](std::optional<double> seconds) {
    return seconds ? Json(*seconds * 1e6) : Json();
  };
  std::optional<double> share = line.share();
  Json json = {{"name", line.name},
               {"shape", line.shape},
               {"variant", line.variant},
               {"time_us", line.seconds * 1e6},
               {"bound_us", microseconds(line.boundSeconds)},
               {"share", share ? Json(*share) : Json()},
               {"peer", microseconds(line.peerSeconds)},
               {"minimum_us", line.minimum * 1e6},
               {"p25_us", line.p25 * 1e6},
               {"samples", line.samples},
               {"rejected", line.rejected},
               {"disturbed", line.isDisturbed}};
  if (line.rate) {
    json["rate"] = *line.rate;
    json["unit"] = line.unit;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string writeJson(const std::vector<Line> &lines) {
  std::string text;
  for (const Line &line : lines)
    text += writeJson(line);
  return text;
}

} // namespace strata::bench
