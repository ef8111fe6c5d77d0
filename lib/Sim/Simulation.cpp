//===- Simulation.cpp - A package on a machine ----------------------------===//
#include "strata/lib/Sim/Simulation.h"

#include "strata/lib/Sim/Misses.h"

#include <algorithm>
#include <functional>
#include <set>

namespace strata::sim {

using rt::StallCause;

uint64_t Simulation::capacity(size_t tier) const {
  // The package's budget is what the near tier was placed for; without one the machine's. Of
  // several devices a package has them all together.
  const auto *tiers = manifest().tiers();
  if (tier == 0 && machine.devices == 1 && tiers && tiers->size() > 0 &&
      tiers->Get(0)->capacity() > 0)
    return tiers->Get(0)->capacity();
  for (const MachineTier &described : machine.tiers)
    if (tier > 0 && described.name == tierName(tier))
      return described.capacity;
  return tier < machine.tiers.size() ? machine.tiers[tier].capacity : 0;
}

std::string Simulation::tierName(size_t tier) const {
  const auto *tiers = manifest().tiers();
  if (tiers && tier < tiers->size())
    return tiers->Get(uint32_t(tier))->name()->str();
  return tier < machine.tiers.size() ? machine.tiers[tier].name : "tier " + std::to_string(tier);
}

StepResult &StepResult::operator+=(const StepResult &other) {
  tokens += other.tokens;
  nanoseconds += other.nanoseconds;
  computeNanoseconds += other.computeNanoseconds;
  collectiveNanoseconds += other.collectiveNanoseconds;
  transferNanoseconds += other.transferNanoseconds;
  exposedNanoseconds += other.exposedNanoseconds;
  hits += other.hits;
  misses += other.misses;
  ownRecords += other.ownRecords;
  speculated += other.speculated;
  traffic.rows += other.traffic.rows;
  traffic.keys += other.traffic.keys;
  traffic.weights += other.traffic.weights;
  traffic.pages += other.traffic.pages;
  traffic.writeBack += other.traffic.writeBack;
  for (size_t i = 0; i < engines.size(); ++i) {
    engines[i].transfers += other.engines[i].transfers;
    engines[i].bytesToNear += other.engines[i].bytesToNear;
    engines[i].bytesToFar += other.engines[i].bytesToFar;
  }
  for (size_t i = 0; i < stalls.size(); ++i)
    stalls[i] += other.stalls[i];
  // Both are of the same package, so they have the same layers in the same order.
  for (size_t i = 0; i < other.layers.size(); ++i) {
    layers[i].leads |= other.layers[i].leads;
    layers[i].follows |= other.layers[i].follows;
    layers[i].computeNanoseconds += other.layers[i].computeNanoseconds;
    layers[i].transferNanoseconds += other.layers[i].transferNanoseconds;
    layers[i].exposedNanoseconds += other.layers[i].exposedNanoseconds;
    layers[i].bytes += other.layers[i].bytes;
  }
  work += other.work;
  return *this;
}

static int64_t &trafficOf(Traffic &traffic, const Transfer &transfer) {
  if (!transfer.toNear)
    return traffic.writeBack;
  switch (transfer.cause) {
  case StallCause::IndexKeys:
    return traffic.keys;
  case StallCause::Weights:
    return traffic.weights;
  case StallCause::Pages:
    return traffic.pages;
  default:
    return traffic.rows;
  }
}

/// Adds up a timeline by layer, by engine and by cause.
static void summarise(const package::Manifest &manifest, StepResult &result) {
  std::map<int, LayerResult> layers;
  const StepProgram &program = result.program;
  const Timeline &timeline = result.timeline;
  for (size_t i = 0; i < program.operations.size(); ++i) {
    const Operation &operation = program.operations[i];
    if (operation.kind != Operation::Kind::Compute)
      continue;
    int64_t time = timeline.operations[i].length();
    (operation.isCollective ? result.collectiveNanoseconds : result.computeNanoseconds) += time;
    layers[manifest.commands()->Get(uint32_t(operation.command))->layer()].computeNanoseconds +=
        time;
  }
  for (size_t i = 0; i < program.transfers.size(); ++i) {
    const Transfer &transfer = program.transfers[i];
    StepResult::Engine &engine = result.engines[size_t(transfer.engine)];
    ++engine.transfers;
    (transfer.toNear ? engine.bytesToNear : engine.bytesToFar) += transfer.bytes;
    trafficOf(result.traffic, transfer) += transfer.bytes;
    LayerResult &layer = layers[transfer.layer];
    layer.leads |= transfer.cause == StallCause::LeaderRows;
    layer.follows |= transfer.cause == StallCause::FollowerRows;
    if (!transfer.toNear)
      continue;
    layer.bytes += transfer.bytes;
    layer.transferNanoseconds += timeline.transfers[i].length();
    layer.exposedNanoseconds += timeline.exposed[i];
    result.transferNanoseconds += timeline.transfers[i].length();
    result.exposedNanoseconds += timeline.exposed[i];
  }
  for (const Stall &stall : timeline.stalls)
    result.stalls[size_t(program.transfers[size_t(stall.transfer)].cause)] += stall.time.length();
  for (auto &[number, layer] : layers) {
    layer.layer = number;
    result.layers.push_back(layer);
  }
}

StepResult simulateStep(const package::Manifest &manifest, const Machine &machine,
                        const std::vector<int> &engines, const StepFacts &facts,
                        const ProgramOptions &options) {
  StepResult result;
  result.tokens = facts.tokens();
  for (const auto &[command, resolution] : facts.resolutions) {
    if (manifest.commands()->Get(command)->command_as_Resolve()->limit() > 0) {
      result.speculated += resolution.misses;
      continue;
    }
    result.hits += resolution.hits;
    result.misses += resolution.misses;
    result.ownRecords += resolution.own;
  }
  for (const package::CommandEntry *entry : *manifest.commands())
    result.work += computeWork(manifest, *entry, facts, options.formats);
  result.engines.resize(engines.size());
  ProgramOptions calibrated = options;
  calibrate(manifest, machine, engines, facts, calibrated);
  result.program = buildStep(manifest, machine, engines, facts, calibrated);
  result.timeline =
      runTimeline(result.program.operations, result.program.transfers, result.program.links);
  result.nanoseconds = result.timeline.nanoseconds;
  summarise(manifest, result);
  return result;
}

namespace {

struct Variation {
  std::string condition;
  std::function<void(Machine &, SimulationOptions &)> change;
};

std::vector<Variation> listVariations(const package::Manifest &manifest, const Machine &machine) {
  auto scaleLinks = [](double factor, double more) {
    return [factor, more](Machine &machine, SimulationOptions &) {
      for (MachineEngine &engine : machine.engines)
        engine.bandwidth = engine.bandwidth * factor + more;
      for (MachineLink &link : machine.links) {
        link.bandwidth = link.bandwidth * factor + more;
        link.bothDirections = link.bothDirections * factor + more;
      }
    };
  };
  auto overlap = [](Overlap value) {
    return [value](Machine &, SimulationOptions &options) { options.program.overlap = value; };
  };
  std::vector<Variation> all;
  if (manifest.engines() && manifest.engines()->size() > 0) {
    all = {
        {"transfers took no time",
         [](Machine &machine, SimulationOptions &) {
           for (MachineEngine &engine : machine.engines) {
             engine.bandwidth = engine.operationSeconds = engine.computeSlowdown = 0;
             engine.link = -1;
           }
         }},
        {"compute waited for each transfer at once", overlap(Overlap::None)},
        {"compute waited for the leaders' rows at once", overlap(Overlap::Followers)},
        {"half of the leaders' rows came by speculation",
         [](Machine &, SimulationOptions &options) { options.program.speculation = 0.5; }},
        {"half as many rows were missing",
         [](Machine &, SimulationOptions &options) { options.missDivisor *= 2; }},
        {"links had 10 GB/s more", scaleLinks(1, 10e9)},
        {"links were twice as fast", scaleLinks(2, 0)},
    };
  }
  all.push_back({"kernels were twice as fast", [](Machine &machine, SimulationOptions &) {
                   machine.bf16Flops *= 2;
                   machine.fp8Flops *= 2;
                   machine.f32Flops *= 2;
                   machine.tiers.front().bandwidth *= 2;
                 }});
  if (machine.launchSeconds > 0)
    all.push_back({"launches took no time",
                   [](Machine &machine, SimulationOptions &) { machine.launchSeconds = 0; }});
  if (std::max({machine.partition.tensor, machine.partition.expert, machine.partition.pipeline}) >
      1)
    all.push_back({"collectives took no time", [](Machine &machine, SimulationOptions &) {
                     machine.collectiveSeconds = machine.collectiveBandwidth = 0;
                   }});
  all.push_back({"there were twice as many sequences",
                 [](Machine &, SimulationOptions &options) { options.batch *= 2; }});
  return all;
}

StepFacts makeFacts(const package::Manifest &manifest, const SimulationOptions &options) {
  StepFacts facts = makeDecodeStep(options.context, options.batch);
  // Systems that hide less don't speculate.
  bool speculates = options.program.overlap == Overlap::AsWritten;
  addExpectedMisses(manifest, options.misses, options.missDivisor, speculates, facts);
  return facts;
}

StepResult simulateDecode(const package::Manifest &manifest, const Machine &machine,
                          const std::vector<int> &engines, const SimulationOptions &options) {
  StepFacts facts = makeFacts(manifest, options);
  return simulateStep(manifest, machine, engines, facts, options.program);
}

} // namespace

Expected<Simulation> simulate(const package::Manifest &manifest, const Machine &machine,
                              const SimulationOptions &options) {
  Simulation result;
  result.package = &manifest;
  result.machine = machine;
  result.options = options;
  if (result.options.context == 0)
    result.options.context = manifest.max_positions();
  if (result.options.context > manifest.max_positions())
    return Status(StatusCode::InvalidArgument,
                  "--context: expected at most " + std::to_string(manifest.max_positions()) +
                      " positions, the model's, but got " + std::to_string(options.context));
  Expected<std::vector<int>> engines = findEngines(manifest, machine);
  if (!engines.ok())
    return engines.status();
  result.engines = std::move(*engines);
  int64_t pageSize = manifest.caches()->size() ? manifest.caches()->Get(0)->page_size() : 1;
  result.limits.pages = (result.options.context + pageSize - 1) / pageSize * result.options.batch;
  result.limits.tokens = result.limits.wanted = result.options.batch;
  if (manifest.placement())
    result.limits.tokens = std::max(result.limits.tokens, manifest.placement()->tokens());
  result.memory =
      computeMemory(manifest, result.limits, machine.partition, options.program.formats);
  // What was measured had no speculation.
  SimulationOptions measured = result.options;
  measured.program.overlap = Overlap::None;
  calibrate(manifest, machine, result.engines, makeFacts(manifest, measured),
            result.options.program);
  result.step = simulateDecode(manifest, machine, result.engines, result.options);
  result.steps = 1;
  for (const Variation &variation : listVariations(manifest, machine)) {
    Machine other = machine;
    SimulationOptions question = result.options;
    variation.change(other, question);
    StepResult step = simulateDecode(manifest, other, result.engines, question);
    result.whatIfs.push_back({variation.condition, step.nanoseconds, step.hiddenShare()});
  }
  return result;
}

} // namespace strata::sim
