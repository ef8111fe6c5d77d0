//===- Tiers.cpp - Near and far memory ------------------------------------===//
#include "strata/runtime/cpu/Tiers.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace strata::rt {

using package::Residence;

template <typename T> static uint32_t sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

Tiers::Tiers(const package::Manifest &manifest, const ExecutorOptions &options)
    : manifest_(manifest), options_(options) {
  for (const package::Cache *cache : *manifest.caches())
    caches_.push_back({RecordLayout(*cache), cache->residence(), cache->staging()});
  for (uint32_t i = 0; i < sizeOf(manifest.slot_tables()); ++i) {
    const package::SlotTable &table = *manifest.slot_tables()->Get(i);
    tables_.push_back({SlotTable(table.slots(), table.k()), nullptr});
  }
  for (uint32_t i = 0; i < sizeOf(manifest.hot_sets()); ++i) {
    const package::HotSet &hotSet = *manifest.hot_sets()->Get(i);
    hotSets_.push_back({hotSet.cache(), hotSet.table()});
  }
  stagingPools_.resize(sizeOf(manifest.staging_pools()));
  weightSlots_.resize(sizeOf(manifest.weight_slots()));
  for (const Cache &cache : caches_) {
    if (cache.residence != Residence::Streamed)
      continue;
    const package::BlockBuffers &table = *manifest.block_buffers()->Get(uint32_t(cache.staging));
    blockBuffers_.resize(manifest.block_buffers()->size());
    blockBuffers_[size_t(cache.staging)] = {
        std::max<int64_t>(table.block_records() / cache.layout.pageSize(), 1),
        cache.layout.pageBytes()};
  }
}

Expected<std::unique_ptr<Tiers>> Tiers::plan(const package::Manifest &manifest,
                                             const ExecutorOptions &options,
                                             uint64_t activationBytes, const Weights &weights) {
  std::unique_ptr<Tiers> tiers(new Tiers(manifest, options));
  tiers->planMemory(activationBytes, weights);
  if (Status status = tiers->checkCapacity(); !status.ok())
    return status;
  return tiers;
}

/// Every piece of memory of the tiers, by purpose.
void Tiers::planMemory(uint64_t activationBytes, const Weights &weights) {
  requests_.push_back({&activations_, activationBytes});
  addRequests(near_, "activations");
  for (Cache &cache : caches_)
    if (cache.residence == Residence::Whole)
      request(&cache.home, options_.maxPages, cache.layout.pageBytes());
  addRequests(near_, "caches");
  requests_.push_back({&weightCopies_, weights.copiedBytes()});
  addRequests(near_, "weights");
  for (HotSet &hotSet : hotSets_) {
    const RecordLayout &layout = caches_[size_t(hotSet.cache)].layout;
    request(&hotSet.data, layout.pagesFor(tables_[size_t(hotSet.table)].slots.slots()),
            layout.pageBytes());
  }
  addRequests(near_, "hot sets");
  for (Cache &cache : caches_)
    if (cache.residence == Residence::Rows || cache.residence == Residence::Streamed)
      request(&cache.stage, cache.layout.pagesFor(options_.maxTokens), cache.layout.pageBytes());
  addRequests(near_, "stages");
  for (uint32_t i = 0; i < stagingPools_.size(); ++i) {
    const package::StagingPool &pool = *manifest_.staging_pools()->Get(i);
    request(&stagingPools_[i], options_.maxPages, pool.record_bytes() * pool.page_size());
  }
  addRequests(near_, "staging pools");
  for (uint32_t i = 0; i < blockBuffers_.size(); ++i)
    for (std::byte *&buffer : blockBuffers_[i].data)
      request(&buffer, blockBuffers_[i].pages, blockBuffers_[i].pageBytes);
  addRequests(near_, "block buffers");
  for (uint32_t i = 0; i < weightSlots_.size(); ++i)
    requests_.push_back({&weightSlots_[i], manifest_.weight_slots()->Get(i)});
  addRequests(near_, "weight slots");
  nearRequests_ = requests_.size();
  for (Cache &cache : caches_)
    if (cache.residence != Residence::Whole)
      request(&cache.home, options_.maxPages, cache.layout.pageBytes());
  addRequests(far_, "homes");
}

void Tiers::request(std::byte **place, int64_t pages, int64_t pageBytes) {
  requests_.push_back({place, checkedProduct(uint64_t(pages), uint64_t(pageBytes))});
}

/// Adds what was requested since the last call to a plan.
void Tiers::addRequests(MemoryPlan &plan, const char *what) {
  std::optional<uint64_t> sum = 0;
  for (; plannedRequests_ < requests_.size(); ++plannedRequests_) {
    std::optional<uint64_t> bytes = requests_[plannedRequests_].bytes;
    sum = checkedSum(sum, bytes ? alignUp(*bytes) : std::nullopt);
  }
  plan.add(what, sum);
}

Status Tiers::checkCapacity() const {
  const package::Tier &tier = *manifest_.tiers()->Get(0);
  if (tier.capacity() == 0 || near_.total() <= tier.capacity())
    return Status::success();
  std::string message = "tier " + tier.name()->str() + " has " + std::to_string(tier.capacity()) +
                        " bytes but the run needs " + std::to_string(near_.total()) + ": " +
                        near_.text();
  if (const package::PlacementPlan *plan = manifest_.placement())
    message += "; the package was compiled for " + std::to_string(plan->batch()) +
               (plan->batch() == 1 ? " sequence of " : " sequences of ") +
               std::to_string(plan->context()) + " positions and steps of " +
               std::to_string(plan->tokens()) + (plan->tokens() == 1 ? " token" : " tokens");
  return Status(StatusCode::OutOfMemory, message);
}

Status Tiers::allocate(Weights &weights) {
  uint64_t capacity = manifest_.tiers()->Get(0)->capacity();
  Expected<TierMemory> nearMemory =
      TierMemory::allocate(capacity == 0 ? near_.total() : capacity, "the near tier");
  if (!nearMemory.ok())
    return nearMemory.status();
  nearMemory_ = std::move(*nearMemory);
  Expected<TierMemory> farMemory = TierMemory::allocate(far_.total(), "the far tier");
  if (!farMemory.ok())
    return farMemory.status();
  farMemory_ = std::move(*farMemory);
  for (size_t i = 0; i < requests_.size(); ++i) {
    TierMemory &memory = i < nearRequests_ ? nearMemory_ : farMemory_;
    *requests_[i].place = memory.take(*requests_[i].bytes);
    if (!*requests_[i].place)
      return Status(StatusCode::OutOfMemory, "a tier has fewer bytes than were planned");
  }
  if (options_.poison) {
    nearMemory_.poison();
    farMemory_.poison();
  }
  for (Cache &cache : caches_)
    if (cache.residence == Residence::Whole)
      cache.pool = cache.home;
    else if (cache.residence == Residence::Reloaded)
      cache.pool = stagingPools_[size_t(cache.staging)];
  weights.place(weightCopies_, weightSlots_);
  weights_ = &weights;

  size_t tokens = size_t(options_.maxTokens);
  tokenNumbers_.resize(tokens);
  std::iota(tokenNumbers_.begin(), tokenNumbers_.end(), 0);
  zeros_.assign(tokens, 0);
  unbounded_.assign(tokens, std::numeric_limits<int32_t>::max() - 1);
  int64_t records = options_.maxTokens;
  for (const Table &table : tables_)
    records = std::max(records, table.slots.slots());
  // A page has at least one record.
  pageNumbers_.resize(size_t(records));
  std::iota(pageNumbers_.begin(), pageNumbers_.end(), 0);
  return startEngines();
}

Status Tiers::startEngines() {
  counters_.tiers.resize(manifest_.tiers()->size());
  for (uint32_t i = 0; i < counters_.tiers.size(); ++i) {
    const package::Tier &tier = *manifest_.tiers()->Get(i);
    counters_.tiers[i].name = tier.name()->str();
    counters_.tiers[i].capacity = tier.capacity();
  }
  counters_.tiers[0].peakBytes = nearMemory_.used();
  if (counters_.tiers.size() > 1)
    counters_.tiers[1].peakBytes = farMemory_.used();
  for (uint32_t i = 0; i < sizeOf(manifest_.engines()); ++i) {
    const package::Engine &table = *manifest_.engines()->Get(i);
    Engine::Limits limits;
    limits.bandwidth = table.bandwidth();
    limits.operationSeconds = table.operation_seconds();
    limits.mostDelay = options_.transferDelay;
    limits.delaySeed = i + 1;
    Expected<std::unique_ptr<Engine>> engine =
        Engine::start(table.name()->str(), limits, options_.trace);
    if (!engine.ok())
      return engine.status();
    engines_.push_back(std::move(*engine));
    counters_.engines.push_back({table.name()->str()});
  }
  return Status::success();
}

const int32_t *Tiers::stepArray(package::StepArray array) const {
  switch (array) {
  case package::StepArray::TokenNumbers:
    return tokenNumbers_.data();
  case package::StepArray::Zeros:
    return zeros_.data();
  case package::StepArray::PageNumbers:
    return pageNumbers_.data();
  case package::StepArray::Unbounded:
    return unbounded_.data();
  default:
    return nullptr;
  }
}

} // namespace strata::rt
