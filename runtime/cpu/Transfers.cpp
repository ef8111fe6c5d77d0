//===- Transfers.cpp - What moves between the tiers within a step ---------===//
#include "strata/runtime/core/StepRecords.h"
#include "strata/runtime/core/Trace.h"
#include "strata/runtime/cpu/Tiers.h"

namespace strata::rt {

using package::Residence;

void Tiers::beginStep(const StepInput &input) {
  input_ = &input;
  own_ = ownRecords(input, caches_.empty() ? 1 : caches_[0].layout.pageSize());
  for (Table &table : tables_) {
    table.slots.beginStep();
    table.plan = nullptr;
  }
  if (options_.poison)
    for (const Cache &cache : caches_)
      if (cache.stage)
        for (size_t n = 0; n < own_.size(); ++n)
          cache.layout.poisonRecord(cache.stage, int64_t(n));
  stepHits_ = stepMisses_ = stepStall_ = 0;
  if (options_.trace)
    for (const TierCounters::Tier &tier : counters_.tiers)
      options_.trace->setCounter(Trace::getTierCounter(tier.name), Trace::Clock::now(),
                                 int64_t(tier.peakBytes));
}

Status Tiers::endStep(bool failed) {
  started_.clear();
  Status first;
  for (std::unique_ptr<Engine> &engine : engines_)
    if (Status status = engine->drain(); !status.ok() && first.ok())
      first = std::move(status);
  if (failed || !first.ok())
    for (Table &table : tables_)
      table.slots.clear();
  return first;
}

void Tiers::forgetPages(const std::vector<int32_t> &pages) {
  int64_t pageSize = manifest_.caches()->Get(0)->page_size();
  for (Table &table : tables_)
    for (int64_t page : pages)
      table.slots.forget(page * pageSize, (page + 1) * pageSize);
}

//===----------------------------------------------------------------------===//
// Starting and waiting
//===----------------------------------------------------------------------===//

Tiers::Started Tiers::submit(int engine, StallCause cause, std::string_view label, int64_t bytes,
                             bool toNear, std::function<Status()> work) {
  TierCounters::Engine &counter = counters_.engines[size_t(engine)];
  ++counter.transfers;
  (toNear ? counter.bytesToNear : counter.bytesToFar) += uint64_t(bytes);
  return {engine, engines_[size_t(engine)]->submit({label, bytes, std::move(work)}), cause};
}

Status Tiers::await(const Started &started) {
  Engine &engine = *engines_[size_t(started.engine)];
  if (engine.hasEnded(started.ticket))
    return engine.wait(started.ticket);
  Engine::Clock::time_point begin = Engine::Clock::now();
  Status status = engine.wait(started.ticket);
  Engine::Clock::time_point end = Engine::Clock::now();
  uint64_t stall =
      uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count());
  counters_.stalls[size_t(started.cause)] += stall;
  stepStall_ += stall;
  if (options_.trace) {
    options_.trace->addStall(getStallName(started.cause), begin, end);
    options_.trace->setCounter(Trace::kStallCounter, end, int64_t(stepStall_));
  }
  return status;
}

Status Tiers::wait(int transfer) {
  auto found = started_.find(transfer);
  if (found == started_.end())
    return Status::success();
  std::vector<Started> all = std::move(found->second);
  started_.erase(found);
  Status first;
  for (const Started &started : all)
    if (Status status = await(started); !status.ok() && first.ok())
      first = std::move(status);
  return first;
}

//===----------------------------------------------------------------------===//
// Hot sets
//===----------------------------------------------------------------------===//

void Tiers::resolve(int number, const int32_t *records, int64_t limit, int32_t *slots,
                    int32_t *hits, int32_t *misses) {
  Table &table = tables_[size_t(number)];
  int64_t tokens = int64_t(own_.size());
  if (limit > 0) {
    table.plan = std::make_shared<SlotPlan>(table.slots.speculate(records, tokens, own_, limit));
    table.leaderIsMissing = false;
    counters_.speculated += uint64_t(table.plan->misses);
    return;
  }
  table.plan =
      std::make_shared<SlotPlan>(table.slots.resolve(records, tokens, own_, slots, hits, misses));
  table.leaderIsMissing = true;
  counters_.hits += uint64_t(table.plan->hits);
  counters_.misses += uint64_t(table.plan->misses);
  counters_.ownRecords += uint64_t(table.plan->own);
  stepHits_ += uint64_t(table.plan->hits);
  stepMisses_ += uint64_t(table.plan->misses);
  if (options_.trace) {
    options_.trace->setCounter(Trace::kHitsCounter, Trace::Clock::now(), int64_t(stepHits_));
    options_.trace->setCounter(Trace::kMissesCounter, Trace::Clock::now(), int64_t(stepMisses_));
  }
}

/// Starts the gather of a block's records from their home. False if there are none: the step's own
/// are copied when they are needed.
bool Tiers::startBlock(HotSet &hotSet, size_t number, StallCause cause, std::string_view label,
                       Started &started) {
  const Cache &cache = caches_[size_t(hotSet.cache)];
  std::shared_ptr<const SlotPlan> plan = tables_[size_t(hotSet.table)].plan;
  const SlotPlan::Block &block = plan->blocks[number];
  if (options_.poison) {
    if (number == 0)
      for (int32_t slot : plan->freed)
        cache.layout.poisonRecord(hotSet.data, slot);
    for (const SlotMiss &miss : block.misses)
      cache.layout.poisonRecord(hotSet.data, miss.slot);
  }
  int64_t records = 0;
  for (const SlotMiss &miss : block.misses)
    records += miss.token < 0;
  if (records == 0)
    return false;
  const RecordLayout *layout = &cache.layout;
  started = submit(hotSet.engine, cause, label, records * layout->recordBytes(), /*toNear=*/true,
                   [plan, number, layout, home = cache.home, slots = hotSet.data] {
                     for (const SlotMiss &miss : plan->blocks[number].misses)
                       if (miss.token < 0)
                         layout->copyRecord(home, miss.record, slots, miss.slot);
                     return Status::success();
                   });
  return true;
}

Status Tiers::startGather(int number, int engine, int transfer, std::string_view label) {
  HotSet &hotSet = hotSets_[size_t(number)];
  Table &table = tables_[size_t(hotSet.table)];
  if (!table.plan || table.plan->blocks.empty())
    return Status(StatusCode::Corrupt, "expected records to be resolved before they are gathered");
  hotSet.engine = engine;
  StallCause cause = table.leaderIsMissing ? StallCause::LeaderRows : StallCause::FollowerRows;
  table.leaderIsMissing = false;
  Started started;
  if (startBlock(hotSet, 0, cause, label, started))
    started_[transfer].push_back(started);
  return Status::success();
}

Status Tiers::forEachBlock(int number, std::string_view label,
                           const std::function<Status(int64_t, int64_t)> &run) {
  HotSet &hotSet = hotSets_[size_t(number)];
  const Cache &cache = caches_[size_t(hotSet.cache)];
  std::shared_ptr<const SlotPlan> plan = tables_[size_t(hotSet.table)].plan;
  if (!plan)
    return Status(StatusCode::Corrupt, "expected records to be resolved before they are read");
  for (size_t b = 0; b < plan->blocks.size(); ++b) {
    const SlotPlan::Block &block = plan->blocks[b];
    Started started;
    if (b > 0 && startBlock(hotSet, b, StallCause::FurtherRows, label, started))
      if (Status status = await(started); !status.ok())
        return status;
    for (const SlotMiss &miss : block.misses)
      if (miss.token >= 0)
        cache.layout.copyRecord(cache.stage, miss.token, hotSet.data, miss.slot);
    if (Status status = run(block.firstToken, block.endToken); !status.ok())
      return status;
  }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Homes and weights
//===----------------------------------------------------------------------===//

void Tiers::startWriteBack(int number, int engine, int transfer, std::string_view label) {
  const Cache &cache = caches_[size_t(number)];
  const RecordLayout *layout = &cache.layout;
  bool fromStage = cache.stage != nullptr;
  const std::byte *source = fromStage ? cache.stage : cache.pool;
  started_[transfer].push_back(
      submit(engine, StallCause::WriteBack, label, int64_t(own_.size()) * layout->recordBytes(),
             /*toNear=*/false, [this, layout, fromStage, source, home = cache.home] {
               for (size_t n = 0; n < own_.size(); ++n)
                 layout->copyRecord(source, fromStage ? int64_t(n) : own_[n], home, own_[n]);
               return Status::success();
             }));
}

void Tiers::startReload(int weight, int number, int engine, int transfer, std::string_view label) {
  if (weight >= 0) {
    const BoundWeight *bound = &weights_->bound(weight);
    std::byte *slot = weightSlots_[size_t(manifest_.weights()->Get(uint32_t(weight))->slot())];
    uint64_t slotBytes =
        manifest_.weight_slots()->Get(uint32_t(manifest_.weights()->Get(uint32_t(weight))->slot()));
    if (options_.poison)
      std::memset(slot, 0xff, slotBytes);
    started_[transfer].push_back(submit(engine, StallCause::Weights, label,
                                        int64_t(bound->storedBytes()), /*toNear=*/true,
                                        [bound, slot] {
                                          bound->copyStored(slot);
                                          return Status::success();
                                        }));
    return;
  }
  const Cache &cache = caches_[size_t(number)];
  const RecordLayout *layout = &cache.layout;
  std::vector<int32_t> pages = earlierPages(*input_, layout->pageSize());
  int64_t bytes = int64_t(pages.size()) * layout->pageBytes();
  // What another cache left is poisoned by the engine: it may still be on its way home.
  int64_t poisonBytes = options_.poison ? options_.maxPages * layout->pageBytes() : 0;
  started_[transfer].push_back(
      submit(engine, StallCause::Pages, label, bytes, /*toNear=*/true,
             [layout, pages = std::move(pages), poisonBytes, home = cache.home, pool = cache.pool] {
               std::memset(pool, 0xff, size_t(poisonBytes));
               for (int32_t page : pages)
                 layout->copyPage(home, page, pool, page);
               return Status::success();
             }));
}

Status Tiers::stream(int number, int engine, std::string_view label,
                     const std::vector<StreamBlock> &blocks,
                     const std::function<Status(size_t, std::byte *)> &use) {
  const Cache &cache = caches_[size_t(number)];
  const RecordLayout *layout = &cache.layout;
  const Buffers &buffers = blockBuffers_[size_t(cache.staging)];
  std::array<Started, 2> started;
  auto start = [&](size_t b) {
    const StreamBlock *block = &blocks[b];
    std::byte *buffer = buffers.data[b % 2];
    if (options_.poison)
      std::memset(buffer, 0xff, size_t(buffers.pages * buffers.pageBytes));
    started[b % 2] =
        submit(engine, StallCause::IndexKeys, label, block->count * layout->pageBytes(),
               /*toNear=*/true, [layout, block, buffer, home = cache.home] {
                 for (int64_t page = 0; page < block->count; ++page)
                   layout->copyPage(home, block->pages[page], buffer, page);
                 return Status::success();
               });
  };
  for (size_t b = 0; b < std::min<size_t>(blocks.size(), 2); ++b)
    start(b);
  for (size_t b = 0; b < blocks.size(); ++b) {
    Status status = await(started[b % 2]);
    if (status.ok())
      status = use(b, buffers.data[b % 2]);
    if (!status.ok()) {
      // The other buffer's transfer uses `blocks`.
      if (b + 1 < blocks.size())
        (void)await(started[(b + 1) % 2]);
      return status;
    }
    if (b + 2 < blocks.size())
      start(b + 2);
  }
  return Status::success();
}

} // namespace strata::rt
