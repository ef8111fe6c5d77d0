//===- Collectives.cpp - What devices exchange in a step ------------------===//
#include "strata/lib/Sim/Collectives.h"

#include <algorithm>

namespace strata::sim {

using package::Command;

namespace {

/// The commands of a layer that matter here, by number.
struct Layer {
  int attention = -1;  ///< last one that attends
  int projection = -1; ///< the product after it
  int last = -1;       ///< that computes
  int64_t expertsPerToken = 0;
};

/// Its operations grow with the positions that tokens see, and it isn't an indexer.
bool attends(const package::CommandEntry &entry) {
  if (entry.command_type() == Command::Select || !entry.cost())
    return false;
  for (const package::CostTerm *term : *entry.cost()->flops())
    if (term->variable() == package::CostVariable::Visible)
      return true;
  return false;
}

bool computes(const package::CommandEntry &entry) {
  switch (entry.command_type()) {
  case Command::Gather:
  case Command::WriteBack:
  case Command::Reload:
  case Command::Wait:
    return false;
  default:
    return true;
  }
}

} // namespace

int64_t hiddenSize(const package::Manifest &manifest) {
  int64_t hidden = 0;
  for (const package::CommandEntry *entry : *manifest.commands())
    if (const package::Product *product = entry->command_as_Product())
      if (product->rows()->wanted() > 0)
        hidden = product->inputs();
  return hidden;
}

static std::map<int, Layer> findLayers(const package::Manifest &manifest) {
  std::map<int, Layer> layers;
  for (uint32_t i = 0; i < manifest.commands()->size(); ++i) {
    const package::CommandEntry &entry = *manifest.commands()->Get(i);
    if (entry.layer() < 0 || !computes(entry))
      continue;
    Layer &layer = layers[entry.layer()];
    layer.last = int(i);
    if (attends(entry)) {
      layer.attention = int(i);
      layer.projection = -1;
    } else if (layer.attention >= 0 && layer.projection < 0 && entry.command_as_Product()) {
      layer.projection = int(i);
    }
    if (const package::GroupByExpert *group = entry.command_as_GroupByExpert())
      layer.expertsPerToken = group->experts_per_token();
  }
  return layers;
}

std::vector<double> findCollectives(const package::Manifest &manifest, const Machine &machine,
                                    const StepFacts &facts) {
  std::vector<double> seconds(manifest.commands()->size(), 0);
  const MachinePartition &partition = machine.partition;
  if (std::max({partition.tensor, partition.expert, partition.pipeline}) <= 1)
    return seconds;
  double bytes = 2 * double(facts.tokens()) * double(hiddenSize(manifest));
  auto move = [&](double moved) {
    return machine.collectiveSeconds +
           (machine.collectiveBandwidth > 0 ? moved / machine.collectiveBandwidth : 0);
  };
  double tensor = double(partition.tensor), expert = double(partition.expert);
  bool dividesTokens = partition.expert > partition.tensor;
  std::map<int, Layer> layers = findLayers(manifest);
  int64_t number = 0;
  for (const auto &[name, layer] : layers) {
    ++number;
    double &end = seconds[size_t(layer.last)];
    if (partition.tensor > 1 && layer.projection >= 0)
      seconds[size_t(layer.projection)] += move(2 * (tensor - 1) / tensor * bytes);
    if (dividesTokens && layer.expertsPerToken > 0)
      end += 2 * move(bytes * double(layer.expertsPerToken) * (expert - 1) / expert / tensor);
    else if (partition.tensor > 1)
      end += move(2 * (tensor - 1) / tensor * bytes);
    int64_t stages = partition.pipeline, count = int64_t(layers.size());
    bool endsStage = number < count && number * stages / count != (number + 1) * stages / count;
    if (stages > 1 && endsStage)
      end += move(bytes);
  }
  if (partition.tensor > 1 && !seconds.empty())
    seconds.back() +=
        move((tensor - 1) / tensor * 2 * double(facts.wanted) * double(manifest.vocabulary_size()));
  return seconds;
}

} // namespace strata::sim
