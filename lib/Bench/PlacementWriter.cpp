//===- PlacementWriter.cpp - Comparisons as text and as JSON --------------===//
#include "strata/lib/Bench/Placement.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace strata::bench {

double Placement::error() const {
  std::vector<double> errors;
  for (const PlacementSample &sample : samples)
    errors.push_back(std::fabs(sample.error()));
  return quantile(std::move(errors), 0.5);
}

Line Placement::line(const Ceilings &ceilings) const {
  Line line;
  line.name = "placed step";
  line.shape = shape;
  line.variant = variant;
  Samples times;
  std::vector<double> predicted;
  bool isDisturbed = true;
  size_t rejected = 0;
  for (const PlacementSample &sample : samples) {
    times.add(sample.seconds, /*isDisturbed=*/false);
    predicted.push_back(sample.predicted);
    isDisturbed &= sample.isDisturbed;
    rejected += sample.rejected;
  }
  line.set(times);
  line.isDisturbed = isDisturbed;
  line.rejected = rejected;
  line.peerSeconds = quantile(std::move(predicted), 0.5);
  line.boundSeconds =
      boundOf(step.work.bytes(), step.work.flops(), ceilings.readRate,
              isF32 ? ceilings.f32Rate : std::max(ceilings.f32Rate, ceilings.bf16Rate));
  return line;
}

std::string Placement::text(const Ceilings &ceilings) const {
  char buffer[256];
  std::string text = "            step in us, measured and predicted    waiting       commands\n";
  for (size_t i = 0; i < samples.size(); ++i) {
    const PlacementSample &sample = samples[i];
    std::snprintf(
        buffer, sizeof buffer,
        "sample %2zu  %9.1f %9.1f (%+5.1f %%)  %9.1f %9.1f  %9.1f %9.1f  %zu rejected%s\n", i + 1,
        sample.seconds * 1e6, sample.predicted * 1e6, sample.error() * 100, sample.stalls * 1e6,
        sample.predictedStalls * 1e6, sample.commands * 1e6, sample.predictedCommands * 1e6,
        sample.rejected, sample.isDisturbed ? ", disturbed" : "");
    text += buffer;
  }
  std::snprintf(buffer, sizeof buffer,
                "calibrated besides commands: compute goes on %.1f us after what it waited for; "
                "transfers are late by",
                calibration.wakeSeconds * 1e6);
  text += buffer;
  for (double late : calibration.engines) {
    std::snprintf(buffer, sizeof buffer, " %.1f", late * 1e6);
    text += buffer;
  }
  text += " us\n" + writeText(line(ceilings)) + "\n";
  std::snprintf(buffer, sizeof buffer,
                "relative error of the predicted step, median of %zu: %.1f %%\n", samples.size(),
                error() * 100);
  return text + buffer;
}

std::string Placement::json(const Ceilings &ceilings) const {
  using Json = nlohmann::ordered_json;
  Json json = Json::parse(writeJson(line(ceilings)), nullptr, /*allow_exceptions=*/false);
  json["error"] = error();
  json["predictions"] = Json::array();
  for (const PlacementSample &sample : samples)
    json["predictions"].push_back({{"time_us", sample.seconds * 1e6},
                                   {"predicted_us", sample.predicted * 1e6},
                                   {"error", sample.error()},
                                   {"stalls_us", sample.stalls * 1e6},
                                   {"predicted_stalls_us", sample.predictedStalls * 1e6},
                                   {"rejected", sample.rejected},
                                   {"disturbed", sample.isDisturbed}});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace strata::bench
