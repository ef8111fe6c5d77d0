//===- Memory.h - Bytes of each class in each tier --------------*- C++ -*-===//
#ifndef STRATA_LIB_SIM_MEMORY_H
#define STRATA_LIB_SIM_MEMORY_H

#include "strata/lib/Sim/Device.h"

#include <array>
#include <string>

namespace strata::sim {

/// What memory is for; reports add up by it.
enum class MemoryClass {
  Weights,     ///< those that stay, and the slots of those that don't
  Latents,     ///< caches that attention reads: whole ones, homes, hot sets
  IndexKeys,   ///< caches that indexers read
  Activations, ///< the arena of a step
  Workspace,   ///< stages, staging pools and block buffers
};
constexpr int kMemoryClasses = 5;
std::string_view getMemoryClassName(MemoryClass memoryClass);

/// What a run needs room for.
struct MemoryLimits {
  int64_t pages = 1;  ///< of each cache, for all sequences
  int64_t tokens = 1; ///< of a step, at most
  int64_t wanted = 1;
};

/// What one device allocates, by tier and class. Every piece is rounded up to 64 bytes, as the
/// executor does. With a partition weights are divided by their degree, and weights, caches and
/// what belongs to them by the number of stages; activations are whole on each device. Homes are
/// divided by the tensor degree as well: devices that need the same records read the same home.
struct MemoryUse {
  std::vector<std::array<uint64_t, kMemoryClasses>> tiers;
  uint64_t total(size_t tier) const;
};
MemoryUse computeMemory(const package::Manifest &manifest, const MemoryLimits &limits,
                        const MachinePartition &partition, const Formats &formats);

/// Bytes of the near tier that hold something, from one command to the next: what is allocated for
/// good, buffers of the arena from their first to their last use, weight slots and staging from
/// the transfer that fills them to the last use of what it brought.
struct MemoryAtCommand {
  std::array<uint64_t, kMemoryClasses> bytes = {};
};
std::vector<MemoryAtCommand> computeMemoryOverTime(const package::Manifest &manifest,
                                                   const MemoryLimits &limits,
                                                   const MachinePartition &partition,
                                                   const Formats &formats);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_MEMORY_H
