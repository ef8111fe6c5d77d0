//===- WeightSlots.cpp - Which slot each streamed weight uses -------------===//
#include "strata/passes/Place/WeightSlots.h"

#include "llvm/ADT/MapVector.h"

#include <numeric>

using namespace mlir;
using namespace strata;

uint64_t WeightSlots::getBytes() const {
  return std::accumulate(bytes.begin(), bytes.end(), uint64_t(0));
}

WeightSlots strata::assignWeightSlots(const StepModel &model, ArrayRef<uint64_t> bytes,
                                      ArrayRef<unsigned> streamed, unsigned depth) {
  // Commands in order, each with its streamed weights, the largest first: so large ones share the
  // first slot of a set, and the others stay small.
  llvm::MapVector<Operation *, SmallVector<unsigned>> commands;
  for (unsigned weight : streamed)
    for (Operation *command : model.weights[weight].commands)
      commands[command].push_back(weight);
  auto order = commands.takeVector();
  llvm::sort(order, [](auto &a, auto &b) { return a.first->isBeforeInBlock(b.first); });
  WeightSlots slots;
  SmallVector<SmallVector<unsigned>> sets(depth); // numbers of slots
  for (auto [place, entry] : llvm::enumerate(order)) {
    SmallVector<unsigned> &weights = entry.second;
    llvm::sort(weights, [&](unsigned a, unsigned b) {
      return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b;
    });
    SmallVector<unsigned> &set = sets[place % depth];
    llvm::SmallDenseSet<unsigned> taken;
    for (unsigned weight : weights) {
      if (slots.slotOf.contains(weight))
        continue;
      // One that comes again may meet others then, so it has a slot to itself.
      if (model.weights[weight].commands.size() > 1) {
        slots.slotOf[weight] = slots.bytes.size();
        slots.bytes.push_back(bytes[weight]);
        continue;
      }
      auto *free = llvm::find_if(set, [&](unsigned slot) { return !taken.contains(slot); });
      if (free == set.end()) {
        set.push_back(slots.bytes.size());
        slots.bytes.push_back(0);
        free = std::prev(set.end());
      }
      taken.insert(*free);
      slots.slotOf[weight] = *free;
      slots.bytes[*free] = std::max(slots.bytes[*free], bytes[weight]);
    }
  }
  return slots;
}
