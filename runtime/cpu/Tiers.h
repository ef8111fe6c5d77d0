//===- Tiers.h - Near and far memory, and what moves between them -*- C++ -*-===//
//
// Compute works in the near tier alone. Everything of it lies in one piece of memory that is as
// large as the tier's capacity: activations, caches that stay, weights, hot sets, stages, staging
// pools, block buffers. The homes of the other caches are in the far tier.
//
// The thread that calls the executor starts transfers and waits for them; an engine's thread runs
// them. What a transfer uses is fixed when it starts.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_RUNTIME_CPU_TIERS_H
#define STRATA_RUNTIME_CPU_TIERS_H

#include "strata/runtime/core/SlotTable.h"
#include "strata/runtime/core/TierCounters.h"
#include "strata/runtime/cpu/Engine.h"
#include "strata/runtime/cpu/MemoryPlan.h"
#include "strata/runtime/cpu/RecordLayout.h"
#include "strata/runtime/cpu/TierMemory.h"
#include "strata/runtime/cpu/Weights.h"

#include <array>
#include <functional>
#include <map>

namespace strata::rt {

class Tiers {
public:
  /// Plans the memory of a manifest with tiers for these limits. An error if the near tier is too
  /// small: it names the need, the capacity and what the package was compiled for.
  static Expected<std::unique_ptr<Tiers>> plan(const package::Manifest &manifest,
                                               const ExecutorOptions &options,
                                               uint64_t activationBytes, const Weights &weights);

  uint64_t nearBytes() const { return near_.total(); }
  uint64_t farBytes() const { return far_.total(); }

  /// Gets the memory, places the weights and starts the engines. `weights` outlives this.
  Status allocate(Weights &weights);

  // Addresses, after `allocate`.
  std::byte *activations() const { return activations_; }
  /// The pool that kernels work on: of a Reloaded cache its staging pool; null for Rows and
  /// Streamed, which have none.
  std::byte *pool(int cache) const { return caches_[size_t(cache)].pool; }
  std::byte *stage(int cache) const { return caches_[size_t(cache)].stage; }
  /// Pages of a cache wherever they live: what remains between steps.
  std::byte *home(int cache) const { return caches_[size_t(cache)].home; }
  std::byte *hotSet(int index) const { return hotSets_[size_t(index)].data; }
  /// The step arrays that address records by their own number.
  const int32_t *stepArray(package::StepArray array) const;

  // Within a step.

  void beginStep(const StepInput &input);
  /// Waits for what is left. After an error hot sets may lack what their tables say, so that tables
  /// forget all.
  Status endStep(bool failed);

  /// The records of i32 [tokens, k] get slots: see SlotTable.
  void resolve(int table, const int32_t *records, int64_t limit, int32_t *slots, int32_t *hits,
               int32_t *misses);
  /// `label` is the command's.
  Status startGather(int hotSet, int engine, int transfer, std::string_view label);
  void startWriteBack(int cache, int engine, int transfer, std::string_view label);
  void startReload(int weight, int cache, int engine, int transfer, std::string_view label);
  /// Waits for what was started under a number since the last wait for it.
  Status wait(int transfer);

  /// Calls run(firstToken, endToken) for each block of the plan of a hot set whose first block was
  /// gathered: with the block's records in their slots.
  Status forEachBlock(int hotSet, std::string_view label,
                      const std::function<Status(int64_t, int64_t)> &run);

  /// Pages of a Streamed cache, at most `streamPages`.
  struct StreamBlock {
    const int32_t *pages;
    int64_t count;
  };
  int64_t streamPages(int cache) const {
    return blockBuffers_[size_t(caches_[size_t(cache)].staging)].pages;
  }
  /// Brings one block after the other to near memory, the next while use(number, data) runs.
  Status stream(int cache, int engine, std::string_view label,
                const std::vector<StreamBlock> &blocks,
                const std::function<Status(size_t, std::byte *)> &use);

  /// Takes the slots of records of these pages of all caches: their content changed from outside.
  void forgetPages(const std::vector<int32_t> &pages);

  const TierCounters &counters() const { return counters_; }

private:
  struct Cache {
    RecordLayout layout;
    package::Residence residence;
    int staging; ///< its staging pool, or its block buffers
    std::byte *home = nullptr, *pool = nullptr, *stage = nullptr;
  };
  struct HotSet {
    int cache, table;
    std::byte *data = nullptr;
    int engine = 0; ///< that gathered last
  };
  struct Table {
    SlotTable slots;
    std::shared_ptr<const SlotPlan> plan; ///< of the last resolution in this step
    bool leaderIsMissing = false;         ///< no cache was gathered since
  };
  struct Buffers {
    int64_t pages = 0, pageBytes = 0;
    std::array<std::byte *, 2> data = {};
  };
  struct Request {
    std::byte **place;
    std::optional<uint64_t> bytes; ///< nothing: a number that overflowed
  };
  struct Started {
    int engine;
    Engine::Ticket ticket;
    StallCause cause;
  };

  Tiers(const package::Manifest &manifest, const ExecutorOptions &options);
  void planMemory(uint64_t activationBytes, const Weights &weights);
  void request(std::byte **place, int64_t pages, int64_t pageBytes);
  void addRequests(MemoryPlan &plan, const char *what);
  Status checkCapacity() const;
  Status startEngines();
  Started submit(int engine, StallCause cause, std::string_view label, int64_t bytes, bool toNear,
                 std::function<Status()> work);
  bool startBlock(HotSet &hotSet, size_t block, StallCause cause, std::string_view label,
                  Started &started);
  Status await(const Started &started);
  void remember(int transfer, const Started &started);

  const package::Manifest &manifest_;
  const ExecutorOptions &options_;
  MemoryPlan near_, far_;
  TierMemory nearMemory_, farMemory_;
  std::vector<Request> requests_; ///< near ones first
  size_t nearRequests_ = 0, plannedRequests_ = 0;

  std::byte *activations_ = nullptr, *weightCopies_ = nullptr;
  std::vector<Cache> caches_;
  std::vector<HotSet> hotSets_;
  std::vector<Table> tables_;
  std::vector<std::byte *> stagingPools_, weightSlots_;
  std::vector<Buffers> blockBuffers_;
  const Weights *weights_ = nullptr;

  const StepInput *input_ = nullptr; ///< of the step
  std::vector<int32_t> own_;         ///< records that the step writes
  std::vector<int32_t> tokenNumbers_, zeros_, pageNumbers_, unbounded_;
  std::map<int, std::vector<Started>> started_; ///< by transfer: not waited for yet
  TierCounters counters_;
  uint64_t stepHits_ = 0, stepMisses_ = 0, stepStall_ = 0;

  std::vector<std::unique_ptr<Engine>> engines_; ///< last: they end before what they use
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_TIERS_H
