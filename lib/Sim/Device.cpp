//===- Device.cpp - What a command costs one device -----------------------===//
#include "strata/lib/Sim/Device.h"

#include <algorithm>
#include <cmath>

namespace strata::sim {

using package::Command;
using package::ElementType;

Work &Work::operator+=(const Work &other) {
  linearFlops += other.linearFlops;
  scanFlops += other.scanFlops;
  attentionFlops += other.attentionFlops;
  elementwiseFlops += other.elementwiseFlops;
  weightBytes += other.weightBytes;
  latentBytes += other.latentBytes;
  keyBytes += other.keyBytes;
  cacheBytesWritten += other.cacheBytesWritten;
  activationBytes += other.activationBytes;
  return *this;
}

/// Stacks of experts are named by a pattern and used by grouped products alone.
static bool isExpertStack(const package::Weight &weight) {
  return weight.shape()->size() == 3 && weight.part_groups() == 0 &&
         weight.name()->string_view().find('{') != std::string_view::npos;
}

double weightDegree(const package::Weight &weight, const MachinePartition &partition) {
  if (isExpertStack(weight))
    return double(std::max(partition.expert, partition.tensor));
  return weight.shape()->size() < 2 ? 1 : double(partition.tensor);
}

//===----------------------------------------------------------------------===//
// Weights and caches of a command
//===----------------------------------------------------------------------===//

namespace {

/// Collects what a command reads.
class Uses {
public:
  Uses(const package::Manifest &manifest, const StepFacts &facts, Format format)
      : manifest_(manifest), facts_(facts), format_(format) {}

  std::vector<WeightUse> weights;
  std::vector<int> caches;

  void add(const package::CommandEntry &entry);

private:
  const package::Weight &weight(int number) const {
    return *manifest_.weights()->Get(uint32_t(number));
  }
  void addWhole(int number) {
    if (number >= 0)
      weights.push_back({number, weightBytes(weight(number), format_)});
  }
  void add(const package::Product *product) {
    if (product)
      for (const package::ProductPart *part : *product->parts()) {
        addWhole(part->weight());
        addWhole(part->bias());
      }
  }
  /// A kernel reads vectors, or rows of a table.
  void add(const package::Launch *launch) {
    if (!launch)
      return;
    for (const package::Argument *argument : *launch->arguments()) {
      if (argument->kind() == package::ArgumentKind::Weight) {
        const package::Weight &read = weight(argument->index());
        double bytes = weightBytes(read, format_);
        if (read.shape()->size() >= 2)
          bytes *= std::min(1.0, double(facts_.tokens()) / double(read.shape()->Get(0)));
        weights.push_back({argument->index(), bytes});
      } else if (argument->kind() == package::ArgumentKind::Cache ||
                 argument->kind() == package::ArgumentKind::Stage) {
        caches.push_back(argument->index());
      } else if (argument->kind() == package::ArgumentKind::HotSet) {
        caches.push_back(manifest_.hot_sets()->Get(uint32_t(argument->index()))->cache());
      }
    }
  }
  void addExperts(int number, const package::GroupedProduct &product) {
    if (number < 0)
      return;
    double experts = double(product.expert_count()), chosen = double(product.experts_per_token());
    double untouched = std::pow(1 - chosen / experts, double(facts_.tokens()));
    weights.push_back({number, weightBytes(weight(number), format_) * (1 - untouched)});
  }

  const package::Manifest &manifest_;
  const StepFacts &facts_;
  Format format_;
};

} // namespace

void Uses::add(const package::CommandEntry &entry) {
  if (const auto *heads = entry.command_as_HeadAttention()) {
    add(heads->absorb());
    add(heads->attention());
    add(heads->expand());
    add(heads->scores());
  } else if (const auto *partial = entry.command_as_PartialScores()) {
    add(partial->absorb());
    add(partial->scores());
  } else if (const auto *gated = entry.command_as_GatedProduct()) {
    addWhole(gated->gate());
    addWhole(gated->up());
  } else if (const auto *grouped = entry.command_as_GroupedProduct()) {
    addExperts(grouped->weight(), *grouped);
    addExperts(grouped->up(), *grouped);
  } else if (const auto *route = entry.command_as_Route()) {
    addWhole(route->correction());
  } else if (const auto *select = entry.command_as_Select()) {
    caches.push_back(select->cache());
  } else {
    add(entry.command_as_Product());
    add(entry.command_as_Launch());
  }
}

std::vector<WeightUse> findWeightUses(const package::Manifest &manifest,
                                      const package::CommandEntry &entry, const StepFacts &facts,
                                      Format format) {
  Uses uses(manifest, facts, format);
  uses.add(entry);
  return std::move(uses.weights);
}

/// Bytes of the records of some caches in a format, over those that costs were written for.
static double cacheFactor(const package::Manifest &manifest, const std::vector<int> &caches,
                          Format format) {
  double wanted = 0, written = 0;
  for (int number : caches) {
    const package::Cache &cache = *manifest.caches()->Get(uint32_t(number));
    wanted += double(recordBytes(cache, format));
    written += double(recordBytes(cache, Format::AsWritten));
  }
  return written > 0 ? wanted / written : 1;
}

Work computeWork(const package::Manifest &manifest, const package::CommandEntry &entry,
                 const StepFacts &facts, const Formats &formats) {
  Work work;
  Uses uses(manifest, facts, formats.weights);
  uses.add(entry);
  for (const WeightUse &use : uses.weights)
    work.weightBytes += use.bytes;
  const package::CommandCost *cost = entry.cost();
  if (!cost)
    return work;
  bool isScan = entry.command_type() == Command::Select;
  // What grows with positions is no product with weights.
  for (const package::CostTerm *term : *cost->flops()) {
    double value = term->factor();
    if (term->variable() == package::CostVariable::Visible)
      (isScan ? work.scanFlops : work.attentionFlops) += value * facts.visible(term->limit());
    else
      work.linearFlops +=
          value * (term->variable() == package::CostVariable::One      ? 1
                   : term->variable() == package::CostVariable::Tokens ? double(facts.tokens())
                                                                       : double(facts.wanted));
  }
  double factor = cacheFactor(manifest, uses.caches, formats.caches);
  (isScan ? work.keyBytes : work.latentBytes) += factor * facts.evaluate(cost->cache_bytes_read());
  work.cacheBytesWritten = factor * facts.evaluate(cost->cache_bytes_written());
  work.elementwiseFlops = facts.evaluate(cost->elementwise_flops());
  work.activationBytes = facts.evaluate(cost->activation_bytes());
  return work;
}

//===----------------------------------------------------------------------===//
// One device
//===----------------------------------------------------------------------===//

Work Device::share(const package::CommandEntry &entry, const StepFacts &facts) const {
  Work work = computeWork(manifest_, entry, facts, formats_);
  const MachinePartition &partition = machine_.partition;
  work.weightBytes = 0;
  double matrixElements = 0, ownElements = 0;
  for (const WeightUse &use : findWeightUses(manifest_, entry, facts, formats_.weights)) {
    const package::Weight &weight = *manifest_.weights()->Get(uint32_t(use.weight));
    double degree = weightDegree(weight, partition);
    work.weightBytes += use.bytes / degree;
    if (weight.shape()->size() >= 2) {
      matrixElements += elementCount(weight);
      ownElements += elementCount(weight) / degree;
    }
  }
  // Products go with their weights, attention with its heads; each device scans all index keys.
  if (matrixElements > 0)
    work.linearFlops *= ownElements / matrixElements;
  work.attentionFlops /= double(partition.tensor);
  return work;
}

double Device::rate(bool isFp8) const {
  if (manifest_.compute() == ElementType::F32)
    return machine_.f32Flops;
  return isFp8 && machine_.fp8Flops > 0 ? machine_.fp8Flops : machine_.bf16Flops;
}

double Device::seconds(const package::CommandEntry &entry, const StepFacts &facts) const {
  Work work = share(entry, facts);
  bool isFp8 = false;
  for (const WeightUse &use : findWeightUses(manifest_, entry, facts, formats_.weights)) {
    const package::Weight &weight = *manifest_.weights()->Get(uint32_t(use.weight));
    isFp8 |= weight.shape()->size() >= 2 &&
             (formats_.weights == Format::FP8 ||
              (formats_.weights == Format::AsWritten && weight.stored() == ElementType::F8E4M3));
  }
  auto time = [&](double amount, double perSecond) {
    return perSecond > 0 ? amount / (perSecond * machine_.efficiency) : 0;
  };
  double operations = time(work.linearFlops, rate(isFp8)) +
                      time(work.attentionFlops + work.scanFlops, rate(false)) +
                      time(work.elementwiseFlops, machine_.f32Flops);
  return std::max(operations, time(work.bytes(), machine_.tiers.front().bandwidth)) +
         machine_.launchSeconds;
}

} // namespace strata::sim
