//===- TextWriter.cpp - A simulation as text ------------------------------===//
#include "strata/lib/Sim/Numbers.h"
#include "strata/lib/Sim/Writers.h"

#include <algorithm>

namespace strata::sim {

static void writeTimes(const Simulation &simulation, std::string &text) {
  const StepResult &step = simulation.step;
  text += simulation.isRun ? "time              " : "step              ";
  text += formatTime(double(step.nanoseconds)) + ", " +
          format("%.1f tokens/s", simulation.tokensPerSecond()) + "\n";
  text += "compute           " + formatTime(double(step.computeNanoseconds)) + "\n";
  if (step.collectiveNanoseconds > 0)
    text += "collectives       " + formatTime(double(step.collectiveNanoseconds)) + "\n";
  if (simulation.engines.empty())
    return;
  text += "transfers         " + formatTime(double(step.transferNanoseconds)) + ", " +
          formatShare(step.hiddenShare()) + " hidden, " +
          formatTime(double(step.exposedNanoseconds)) + " exposed\n";
  text += "records           " + std::to_string(step.hits) + " hits, " +
          std::to_string(step.misses) + " misses";
  if (simulation.isRun)
    text += ", " + std::to_string(step.ownRecords) + " of the steps' own";
  text += "\n";
}

static void writeTraffic(const Simulation &simulation, std::string &text) {
  if (simulation.engines.empty())
    return;
  text += "\ntraffic           ";
  std::string separator;
  for (auto [name, bytes] : listTraffic(simulation.step.traffic)) {
    text += separator + name + " " + withPrefix(double(bytes)) + "B";
    separator = ", ";
  }
  text += "\n";
  for (size_t i = 0; i < simulation.step.engines.size(); ++i) {
    const StepResult::Engine &engine = simulation.step.engines[i];
    text += format("engine %-10s %lld transfers, %lld bytes to near memory, %lld to far memory\n",
                   simulation.manifest().engines()->Get(uint32_t(i))->name()->c_str(),
                   (long long)engine.transfers, (long long)engine.bytesToNear,
                   (long long)engine.bytesToFar);
  }
  for (int cause = 0; cause < rt::kStallCauses; ++cause)
    if (int64_t time = simulation.step.stalls[size_t(cause)])
      text += "stall             " + std::string(rt::getStallName(rt::StallCause(cause))) + ": " +
              formatTime(double(time)) + "\n";
}

static void writeMemory(const Simulation &simulation, std::string &text) {
  text += "\n";
  for (size_t tier = 0; tier < simulation.memory.tiers.size(); ++tier) {
    uint64_t total = simulation.memory.total(tier), capacity = simulation.capacity(tier);
    text += format("memory %-10s ", simulation.tierName(tier).c_str()) + withPrefix(double(total)) +
            "B";
    if (capacity > 0)
      text += " of " + withPrefix(double(capacity)) + "B" + (total > capacity ? ": too much" : "");
    std::string separator = " (";
    for (int i = 0; i < kMemoryClasses; ++i)
      if (uint64_t bytes = simulation.memory.tiers[tier][size_t(i)]) {
        text += separator + std::string(getMemoryClassName(MemoryClass(i))) + " " +
                withPrefix(double(bytes)) + "B";
        separator = ", ";
      }
    text += separator == ", " ? ")\n" : "\n";
  }
}

static void writeLayers(const Simulation &simulation, std::string &text) {
  const auto &layers = simulation.step.layers;
  bool moves = std::any_of(layers.begin(), layers.end(),
                           [](const LayerResult &layer) { return layer.bytes > 0; });
  if (!moves)
    return;
  text += "\nlayer  role      compute     transfers   hidden    bytes\n";
  for (const LayerResult &layer : layers) {
    if (layer.bytes == 0)
      continue;
    double hidden = 1 - double(layer.exposedNanoseconds) /
                            double(std::max<int64_t>(layer.transferNanoseconds, 1));
    // Widths count bytes, and µ has two.
    auto pad = [](std::string value, size_t width) {
      size_t shown = value.size() - (value.find("µ") != std::string::npos);
      return value + std::string(shown < width ? width - shown : 0, ' ');
    };
    text += pad(layer.layer < 0 ? "–" : std::to_string(layer.layer), layer.layer < 0 ? 9 : 7) +
            pad(layer.leads     ? "leader"
                : layer.follows ? "follower"
                                : "",
                10) +
            pad(formatTime(double(layer.computeNanoseconds)), 12) +
            pad(formatTime(double(layer.transferNanoseconds)), 12) + pad(formatShare(hidden), 10) +
            withPrefix(double(layer.bytes)) + "B\n";
  }
}

std::string writeText(const Simulation &simulation) {
  std::string text = describe(simulation) + "\n\n";
  writeTimes(simulation, text);
  writeTraffic(simulation, text);
  writeMemory(simulation, text);
  writeLayers(simulation, text);
  if (simulation.whatIfs.empty())
    return text;
  text += "\nIf …\n";
  for (const Simulation::WhatIf &each : simulation.whatIfs)
    text += format("  %-48s step ", each.condition.c_str()) + formatTime(double(each.nanoseconds)) +
            ", " + formatShare(each.hiddenShare) + " hidden\n";
  return text;
}

std::string writeSizes(const package::Manifest &manifest, Format caches, int64_t slots) {
  if (slots == 0)
    for (const package::CommandEntry *entry : *manifest.commands())
      if (const package::Select *select = entry->command_as_Select())
        slots = std::max(slots, 2 * select->k());
  CacheSizes sizes = computeCacheSizes(manifest, caches, slots);
  std::string text = format("%.0f bytes a token: latents %.0f, index keys %.0f\n",
                            sizes.bytesPerToken(), sizes.latentBytes, sizes.keyBytes);
  text += format("hot sets of %lld records: %.1f MB\n\n", (long long)slots, sizes.hotBytes / 1e6);
  text += "context  all near    latents far   index keys of the rest\n";
  for (int64_t context :
       {int64_t(8) << 10, int64_t(32) << 10, int64_t(128) << 10, int64_t(1) << 20})
    text += format("%-7s  %7.2f GB  %8.2f GB  %6.0f %%\n", formatContext(context).c_str(),
                   sizes.whole(context) / 1e9, sizes.offloaded(context) / 1e9,
                   100 * sizes.keyShare(context));
  return text;
}

} // namespace strata::sim
