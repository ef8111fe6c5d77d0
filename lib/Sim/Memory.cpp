//===- Memory.cpp - Bytes of each class in each tier ----------------------===//
#include "strata/lib/Sim/Memory.h"

#include "strata/lib/Sim/CommandUses.h"
#include "strata/lib/Support/ElementType.h"
#include "strata/runtime/core/Package.h"

#include <algorithm>
#include <cmath>

namespace strata::sim {

using package::Residence;

std::string_view getMemoryClassName(MemoryClass memoryClass) {
  switch (memoryClass) {
  case MemoryClass::Weights:
    return "weights";
  case MemoryClass::Latents:
    return "latents";
  case MemoryClass::IndexKeys:
    return "index keys";
  case MemoryClass::Activations:
    return "activations";
  case MemoryClass::Workspace:
    return "workspace";
  }
  return "unknown";
}

uint64_t MemoryUse::total(size_t tier) const {
  uint64_t sum = 0;
  for (uint64_t bytes : tiers[tier])
    sum += bytes;
  return sum;
}

static uint64_t alignUp(double bytes) { return (uint64_t(std::ceil(bytes)) + 63) / 64 * 64; }

namespace {

/// Sizes of the pieces of memory of one device.
class Sizes {
public:
  Sizes(const package::Manifest &manifest, const MemoryLimits &limits,
        const MachinePartition &partition, const Formats &formats)
      : manifest_(manifest), limits_(limits), partition_(partition), formats_(formats),
        stages_(double(partition.pipeline)) {}

  bool hasTiers() const { return manifest_.tiers() && manifest_.tiers()->size() > 0; }

  uint64_t weight(const package::Weight &weight) const {
    double bytes = elementCount(weight) * (weight.widen() ? 4 : storedSize(weight));
    if (formats_.weights != Format::AsWritten && !weight.widen())
      bytes = weightBytes(weight, formats_.weights);
    return alignUp(bytes / weightDegree(weight, partition_) / stages_);
  }
  /// Records in whole pages.
  uint64_t records(const package::Cache &cache, int64_t count) const {
    return pages(cache, (count + cache.page_size() - 1) / cache.page_size());
  }
  uint64_t pages(const package::Cache &cache, int64_t count) const {
    double page = double(recordBytes(cache, formats_.caches)) * cache.page_size();
    return alignUp(double(count) * page / stages_);
  }
  uint64_t arenaSlot(const package::Slot &slot) const {
    return alignUp(double(rt::evaluate(*slot.bytes(), limits_.tokens, limits_.wanted)));
  }
  uint64_t weightSlot(uint32_t number) const {
    // The slot is as large as its largest weight.
    uint64_t bytes = 0;
    for (const package::Weight *each : *manifest_.weights())
      if (each->slot() == int(number))
        bytes = std::max(bytes, weight(*each));
    bool isDivided = partition_.tensor > 1 || partition_.expert > 1 || partition_.pipeline > 1 ||
                     formats_.weights != Format::AsWritten;
    return isDivided ? bytes : alignUp(double(manifest_.weight_slots()->Get(number)));
  }
  uint64_t stagingPool(const package::StagingPool &pool) const {
    return alignUp(double(limits_.pages) * double(pool.record_bytes()) * pool.page_size());
  }
  /// Both of a pair.
  uint64_t blockBuffers(uint32_t number) const {
    const package::BlockBuffers &buffers = *manifest_.block_buffers()->Get(number);
    for (const package::Cache *cache : *manifest_.caches())
      if (cache->residence() == Residence::Streamed && cache->staging() == int(number)) {
        int64_t count = std::max<int64_t>(buffers.block_records() / cache->page_size(), 1);
        return 2 * alignUp(double(count) * cache->page_size() *
                           double(recordBytes(*cache, formats_.caches)));
      }
    return 0;
  }

  const package::Manifest &manifest_;
  const MemoryLimits &limits_;

private:
  static double storedSize(const package::Weight &weight) {
    return double(elementSize(ElementType(weight.stored())));
  }

  const MachinePartition &partition_;
  const Formats &formats_;
  double stages_;
};

MemoryClass classOf(const package::Cache &cache) {
  return holdsIndexKeys(cache) ? MemoryClass::IndexKeys : MemoryClass::Latents;
}

} // namespace

MemoryUse computeMemory(const package::Manifest &manifest, const MemoryLimits &limits,
                        const MachinePartition &partition, const Formats &formats) {
  Sizes sizes(manifest, limits, partition, formats);
  MemoryUse use;
  use.tiers.resize(sizes.hasTiers() ? std::max<size_t>(manifest.tiers()->size(), 2) : 1);
  auto add = [&](size_t tier, MemoryClass memoryClass, uint64_t bytes) {
    use.tiers[tier][size_t(memoryClass)] += bytes;
  };
  for (const package::Slot *slot : *manifest.slots())
    add(0, MemoryClass::Activations, sizes.arenaSlot(*slot));
  for (const package::Weight *weight : *manifest.weights())
    if (weight->slot() < 0)
      add(0, MemoryClass::Weights, sizes.weight(*weight));
  if (sizes.hasTiers())
    for (uint32_t i = 0; manifest.weight_slots() && i < manifest.weight_slots()->size(); ++i)
      add(0, MemoryClass::Weights, sizes.weightSlot(i));
  for (const package::Cache *cache : *manifest.caches()) {
    bool isWhole = cache->residence() == Residence::Whole;
    // Devices that have the same latents share their home.
    uint64_t pool = sizes.pages(*cache, limits.pages);
    add(isWhole ? 0 : 1, classOf(*cache), isWhole ? pool : pool / uint64_t(partition.tensor));
    if (cache->residence() == Residence::Rows || cache->residence() == Residence::Streamed)
      add(0, MemoryClass::Workspace, sizes.records(*cache, limits.tokens));
  }
  if (!sizes.hasTiers())
    return use;
  for (uint32_t i = 0; manifest.hot_sets() && i < manifest.hot_sets()->size(); ++i) {
    const package::HotSet &hotSet = *manifest.hot_sets()->Get(i);
    const package::Cache &cache = *manifest.caches()->Get(uint32_t(hotSet.cache()));
    add(0, classOf(cache),
        sizes.records(cache, manifest.slot_tables()->Get(uint32_t(hotSet.table()))->slots()));
  }
  for (uint32_t i = 0; manifest.staging_pools() && i < manifest.staging_pools()->size(); ++i)
    add(0, MemoryClass::Workspace, sizes.stagingPool(*manifest.staging_pools()->Get(i)));
  for (uint32_t i = 0; manifest.block_buffers() && i < manifest.block_buffers()->size(); ++i)
    add(0, MemoryClass::Workspace, sizes.blockBuffers(i));
  return use;
}

std::vector<MemoryAtCommand> computeMemoryOverTime(const package::Manifest &manifest,
                                                   const MemoryLimits &limits,
                                                   const MachinePartition &partition,
                                                   const Formats &formats) {
  Sizes sizes(manifest, limits, partition, formats);
  MemoryUse all = computeMemory(manifest, limits, partition, formats);
  MemoryAtCommand constant;
  for (int i = 0; i < kMemoryClasses; ++i)
    constant.bytes[size_t(i)] = all.tiers[0][size_t(i)];
  uint32_t count = manifest.commands()->size();
  std::vector<MemoryAtCommand> result(count, constant);
  // What lives for a part of the step only: taken out, and added where it lives.
  auto addLifetime = [&](MemoryClass memoryClass, uint64_t bytes, const Lifetime &lifetime) {
    for (uint32_t i = 0; i < count; ++i)
      if (int(i) < lifetime.first || int(i) > lifetime.last)
        result[i].bytes[size_t(memoryClass)] -= bytes;
  };
  std::vector<Lifetime> arena = findArenaLifetimes(manifest);
  for (uint32_t i = 0; i < arena.size(); ++i)
    addLifetime(MemoryClass::Activations, sizes.arenaSlot(*manifest.slots()->Get(i)), arena[i]);
  if (!sizes.hasTiers() || !manifest.weight_slots())
    return result;
  std::vector<std::vector<Lifetime>> slots = findWeightSlotLifetimes(manifest);
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    uint64_t bytes = sizes.weightSlot(slot);
    std::vector<bool> isFull(count);
    for (const Lifetime &lifetime : slots[slot])
      for (int i = lifetime.first; i <= lifetime.last; ++i)
        isFull[size_t(i)] = true;
    for (uint32_t i = 0; i < count; ++i)
      if (!isFull[i])
        result[i].bytes[size_t(MemoryClass::Weights)] -= bytes;
  }
  return result;
}

} // namespace strata::sim
