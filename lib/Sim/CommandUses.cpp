//===- CommandUses.cpp - When buffers are in use --------------------------===//
#include "strata/lib/Sim/CommandUses.h"

#include "strata/lib/Sim/Device.h"

#include <functional>

namespace strata::sim {

using package::Argument;
using package::ArgumentKind;

namespace {

/// Calls a function for each argument of a command that is a piece of the arena.
class ArenaUses {
public:
  explicit ArenaUses(std::function<void(int)> use) : use_(std::move(use)) {}

  void visit(const package::CommandEntry &entry) {
    add(entry.command_as_Launch());
    if (const auto *rope = entry.command_as_RopeTable())
      add(rope->output());
    add(entry.command_as_Product());
    if (const auto *group = entry.command_as_GroupByExpert())
      addAll({group->experts(), group->order(), group->rank(), group->offsets()});
    if (const auto *product = entry.command_as_GroupedProduct()) {
      addAll({product->order(), product->offsets()});
      add(product->input());
      add(product->output());
    }
    if (const auto *route = entry.command_as_Route()) {
      add(route->logits());
      addAll({route->experts(), route->weights()});
    }
    if (const auto *select = entry.command_as_Select()) {
      add(select->query());
      add(select->head_weights());
      add(select->output());
    }
    if (const auto *rows = entry.command_as_ImportRows())
      add(rows->output());
    if (const auto *gated = entry.command_as_GatedProduct()) {
      add(gated->input());
      add(gated->output());
    }
    if (const auto *heads = entry.command_as_HeadAttention()) {
      add(heads->absorb());
      add(heads->attention());
      add(heads->expand());
      add(heads->scores());
    }
    if (const auto *partial = entry.command_as_PartialScores()) {
      add(partial->absorb());
      add(partial->scores());
    }
    if (const auto *records = entry.command_as_Records())
      addAll({records->rows(), records->output()});
    if (const auto *resolve = entry.command_as_Resolve())
      addAll({resolve->records(), resolve->slots(), resolve->hits(), resolve->misses()});
  }

  void add(const package::View *view) {
    if (view)
      add(&view->base());
  }

private:
  void add(const Argument *argument) {
    if (argument && argument->kind() == ArgumentKind::Slot)
      use_(argument->index());
  }
  void addAll(std::initializer_list<const Argument *> arguments) {
    for (const Argument *argument : arguments)
      add(argument);
  }
  void add(const package::Launch *launch) {
    if (launch)
      for (const Argument *argument : *launch->arguments())
        add(argument);
  }
  void add(const package::Product *product) {
    if (!product)
      return;
    add(product->input());
    add(product->residual());
    for (const package::ProductPart *part : *product->parts())
      add(part->output());
  }

  std::function<void(int)> use_;
};

} // namespace

std::vector<Lifetime> findArenaLifetimes(const package::Manifest &manifest) {
  std::vector<Lifetime> lifetimes(manifest.slots()->size());
  int command = 0;
  ArenaUses uses([&](int slot) {
    Lifetime &lifetime = lifetimes[size_t(slot)];
    if (lifetime.last < 0)
      lifetime.first = command;
    lifetime.last = command;
  });
  for (const package::CommandEntry *entry : *manifest.commands()) {
    uses.visit(*entry);
    ++command;
  }
  // The caller reads the logits after the last command.
  command -= 1;
  uses.add(manifest.logits());
  return lifetimes;
}

std::vector<std::vector<Lifetime>> findWeightSlotLifetimes(const package::Manifest &manifest) {
  std::vector<std::vector<Lifetime>> slots(manifest.weight_slots() ? manifest.weight_slots()->size()
                                                                   : 0);
  for (uint32_t i = 0; i < manifest.commands()->size(); ++i) {
    const package::CommandEntry &entry = *manifest.commands()->Get(i);
    if (const auto *reload = entry.command_as_Reload()) {
      if (reload->weight() >= 0)
        slots[size_t(manifest.weights()->Get(uint32_t(reload->weight()))->slot())].push_back(
            {int(i), int(i)});
      continue;
    }
    for (const WeightUse &use : findWeightUses(manifest, entry, StepFacts(), Format::AsWritten)) {
      int slot = manifest.weights()->Get(uint32_t(use.weight))->slot();
      if (slot >= 0 && !slots[size_t(slot)].empty())
        slots[size_t(slot)].back().last = int(i);
    }
  }
  return slots;
}

} // namespace strata::sim
