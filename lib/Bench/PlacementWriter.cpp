//===- PlacementWriter.cpp - Comparisons as text and as JSON --------------===//
#include "strata/lib/Bench/Placement.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace strata::bench {

static double medianOf(const std::vector<PlacementSample> &samples,
                       double (PlacementSample::*error)() const) {
  std::vector<double> errors;
  for (const PlacementSample &sample : samples)
    errors.push_back(std::fabs((sample.*error)()));
  return quantile(std::move(errors), 0.5);
}

double Placement::error() const { return medianOf(samples, &PlacementSample::error); }
double Placement::plainError() const { return medianOf(samples, &PlacementSample::plainError); }

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
    std::snprintf(buffer, sizeof buffer,
                  "sample %2zu  %9.1f %9.1f (%+5.1f %%)  %9.1f %9.1f  %9.1f %9.1f  %zu rejected, "
                  "%.0f %% displaced\n",
                  i + 1, sample.seconds * 1e6, sample.predicted * 1e6, sample.error() * 100,
                  sample.stalls * 1e6, sample.predictedStalls * 1e6, sample.commands * 1e6,
                  sample.predictedCommands * 1e6, sample.rejected, sample.displaced * 100);
    text += buffer;
  }
  std::snprintf(buffer, sizeof buffer,
                "calibrated besides commands: compute goes on %.1f us after what it waited for; "
                "transfers are late by",
                calibration.wakeSeconds * 1e6);
  text += buffer;
  for (const sim::MeasuredTimes::Engine &engine : calibration.engines) {
    std::snprintf(buffer, sizeof buffer, " %.1f us and %.0f %%", engine.lateSeconds * 1e6,
                  (engine.stretch - 1) * 100);
    text += buffer;
  }
  text += "\n" + writeText(line(ceilings)) + "\n";
  std::snprintf(
      buffer, sizeof buffer,
      "relative error of the predicted step, median of %zu: %.1f %% (%.1f %% from the times "
      "of commands alone)\n",
      samples.size(), error() * 100, plainError() * 100);
  return text + buffer;
}

std::string Placement::json(const Ceilings &ceilings) const {
  using Json = nlohmann::ordered_json;
  Json json = Json::parse(writeJson(line(ceilings)), nullptr, /*allow_exceptions=*/false);
  json["error"] = error();
  json["error_from_commands_alone"] = plainError();
  json["predictions"] = Json::array();
  for (const PlacementSample &sample : samples)
    json["predictions"].push_back({{"time_us", sample.seconds * 1e6},
                                   {"predicted_us", sample.predicted * 1e6},
                                   {"error", sample.error()},
                                   {"stalls_us", sample.stalls * 1e6},
                                   {"predicted_stalls_us", sample.predictedStalls * 1e6},
                                   {"rejected", sample.rejected},
                                   {"displaced", sample.displaced},
                                   {"disturbed", sample.isDisturbed}});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace strata::bench
