//===- JsonWriter.cpp - A simulation as JSON ------------------------------===//
#include "strata/lib/Sim/Writers.h"

#include <nlohmann/json.hpp>

namespace strata::sim {

using Json = nlohmann::ordered_json;

static Json writeMemory(const Simulation &simulation) {
  Json tiers = Json::array();
  for (size_t tier = 0; tier < simulation.memory.tiers.size(); ++tier) {
    Json classes = Json::object();
    for (int i = 0; i < kMemoryClasses; ++i)
      classes[std::string(getMemoryClassName(MemoryClass(i)))] =
          simulation.memory.tiers[tier][size_t(i)];
    tiers.push_back({{"name", simulation.tierName(tier)},
                     {"capacity", simulation.capacity(tier)},
                     {"peak_bytes", simulation.memory.total(tier)},
                     {"classes", classes}});
  }
  return tiers;
}

static Json writeEngines(const Simulation &simulation) {
  Json engines = Json::array();
  for (size_t i = 0; i < simulation.step.engines.size(); ++i) {
    const StepResult::Engine &engine = simulation.step.engines[i];
    engines.push_back({{"name", simulation.manifest().engines()->Get(uint32_t(i))->name()->str()},
                       {"transfers", engine.transfers},
                       {"bytes_to_near", engine.bytesToNear},
                       {"bytes_to_far", engine.bytesToFar}});
  }
  return engines;
}

static Json writeLayers(const Simulation &simulation) {
  Json layers = Json::array();
  for (const LayerResult &layer : simulation.step.layers)
    layers.push_back({{"layer", layer.layer < 0 ? Json() : Json(layer.layer)},
                      {"role", layer.leads     ? "leader"
                               : layer.follows ? "follower"
                                               : "other"},
                      {"compute_ns", layer.computeNanoseconds},
                      {"transfer_ns", layer.transferNanoseconds},
                      {"exposed_ns", layer.exposedNanoseconds},
                      {"bytes_to_near", layer.bytes}});
  return layers;
}

static Json writeWork(const Work &work) {
  return {{"flops", work.flops()},
          {"linear_flops", work.linearFlops},
          {"scan_flops", work.scanFlops},
          {"attention_flops", work.attentionFlops},
          {"elementwise_flops", work.elementwiseFlops},
          {"weight_bytes", work.weightBytes},
          {"latent_bytes", work.latentBytes},
          {"index_key_bytes", work.keyBytes},
          {"cache_bytes_written", work.cacheBytesWritten},
          {"activation_bytes", work.activationBytes}};
}

std::string writeJson(const Simulation &simulation) {
  const StepResult &step = simulation.step;
  const MachinePartition &partition = simulation.machine.partition;
  Json json = {{"model_type", simulation.manifest().model_type()->str()},
               {"machine", simulation.machine.name},
               {"devices", simulation.machine.devices},
               {"partition",
                {{"tensor", partition.tensor},
                 {"expert", partition.expert},
                 {"pipeline", partition.pipeline}}},
               {"context", simulation.options.context},
               {"batch", simulation.options.batch},
               {"steps", simulation.steps},
               {"tokens", step.tokens},
               {"time_ns", step.nanoseconds},
               {"tokens_per_second", simulation.tokensPerSecond()},
               {"compute_ns", step.computeNanoseconds},
               {"collective_ns", step.collectiveNanoseconds},
               {"transfer_ns", step.transferNanoseconds},
               {"exposed_ns", step.exposedNanoseconds},
               {"hidden_share", step.hiddenShare()},
               {"hits", step.hits},
               {"misses", step.misses},
               {"own_records", step.ownRecords},
               {"speculated", step.speculated},
               {"traffic",
                {{"rows", step.traffic.rows},
                 {"index_keys", step.traffic.keys},
                 {"weights", step.traffic.weights},
                 {"pages", step.traffic.pages},
                 {"write_back", step.traffic.writeBack}}}};
  json["engines"] = writeEngines(simulation);
  Json stalls = Json::object();
  for (int cause = 0; cause < rt::kStallCauses; ++cause)
    stalls[std::string(rt::getStallName(rt::StallCause(cause)))] = step.stalls[size_t(cause)];
  json["stalls_ns"] = stalls;
  json["memory"] = writeMemory(simulation);
  json["layers"] = writeLayers(simulation);
  json["work"] = writeWork(step.work);
  json["what_if"] = Json::array();
  for (const Simulation::WhatIf &each : simulation.whatIfs)
    json["what_if"].push_back({{"condition", each.condition},
                               {"time_ns", each.nanoseconds},
                               {"hidden_share", each.hiddenShare}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace strata::sim
