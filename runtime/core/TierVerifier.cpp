//===- TierVerifier.cpp - Are a manifest's tiers and transfers sound? -----===//
#include "strata/lib/Support/ElementType.h"
#include "strata/lib/Support/Text.h"
#include "strata/runtime/core/ManifestVerifier.h"
#include "strata/runtime/core/Package.h"

#include <cmath>
#include <limits>
#include <set>

namespace strata::rt {

using package::Argument;
using package::ArgumentKind;
using package::Residence;
using package::Size;

/// Entries of a vector that may be missing.
template <typename T> static int64_t countOf(const flatbuffers::Vector<T> *vector) {
  return vector ? int64_t(vector->size()) : 0;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

bool TierChecker::run() {
  return checkTiers() && checkEngines() && checkHotSets() && checkCaches() && checkWeights();
}

bool TierChecker::checkTiers() {
  if (countOf(manifest_.tiers()) == 0)
    return check(
        countOf(manifest_.engines()) == 0 && countOf(manifest_.slot_tables()) == 0 &&
            countOf(manifest_.hot_sets()) == 0 && countOf(manifest_.staging_pools()) == 0 &&
            countOf(manifest_.block_buffers()) == 0 && countOf(manifest_.weight_slots()) == 0,
        "expected tiers, since there is what belongs to them");
  enter("tiers");
  if (!checkRange(countOf(manifest_.tiers()), 1, 16, "the number of tiers"))
    return false;
  for (const package::Tier *tier : *manifest_.tiers())
    if (!check(tier->name(), "a tier has no name"))
      return false;
  enter("");
  return true;
}

bool TierChecker::checkEngines() {
  if (!checkRange(countOf(manifest_.engines()), 0, 64, "the number of engines"))
    return false;
  for (int64_t i = 0; i < countOf(manifest_.engines()); ++i) {
    const package::Engine &engine = *manifest_.engines()->Get(uint32_t(i));
    enter("engine " + std::to_string(i));
    if (!check(engine.name(), "name is missing") ||
        !check(std::isfinite(engine.bandwidth()) && engine.bandwidth() >= 0,
               "expected a bandwidth of at least 0") ||
        !check(engine.operation_seconds() >= 0 && engine.operation_seconds() <= 1,
               "expected operation_seconds in [0, 1]"))
      return false;
  }
  enter("");
  return true;
}

bool TierChecker::checkHotSets() {
  for (int64_t i = 0; i < countOf(manifest_.slot_tables()); ++i) {
    const package::SlotTable &table = *manifest_.slot_tables()->Get(uint32_t(i));
    enter("slot table " + std::to_string(i));
    if (!checkRange(table.k(), 1, kMaxRowWidth, "k") ||
        !checkRange(table.slots(), table.k(), kMaxHotSetSlots, "slots"))
      return false;
  }
  std::set<int32_t> caches;
  for (int64_t i = 0; i < countOf(manifest_.hot_sets()); ++i) {
    const package::HotSet &hotSet = *manifest_.hot_sets()->Get(uint32_t(i));
    enter("hot set " + std::to_string(i));
    if (!checkRange(hotSet.table(), 0, countOf(manifest_.slot_tables()) - 1, "table") ||
        !checkRange(hotSet.cache(), 0, countOf(manifest_.caches()) - 1, "cache") ||
        !check(manifest_.caches()->Get(uint32_t(hotSet.cache()))->residence() == Residence::Rows,
               "expected a cache of which rows are near") ||
        !check(caches.insert(hotSet.cache()).second, "its cache has another one"))
      return false;
  }
  enter("");
  return true;
}

bool TierChecker::checkCaches() {
  for (int64_t i = 0; i < countOf(manifest_.staging_pools()); ++i) {
    enter("staging pool " + std::to_string(i));
    const package::StagingPool &pool = *manifest_.staging_pools()->Get(uint32_t(i));
    if (!checkRange(pool.page_size(), 1, 1 << 16, "page_size") ||
        !checkRange(pool.record_bytes(), 1, kMaxPageBytes / pool.page_size(), "record_bytes"))
      return false;
  }
  for (int64_t i = 0; i < countOf(manifest_.block_buffers()); ++i) {
    enter("block buffers " + std::to_string(i));
    const package::BlockBuffers &buffers = *manifest_.block_buffers()->Get(uint32_t(i));
    if (!checkRange(buffers.block_records(), 1, kMaxExtent, "block_records") ||
        !checkRange(buffers.record_bytes(), 1, kMaxPageBytes, "record_bytes"))
      return false;
  }
  for (const package::Cache *cache : *manifest_.caches()) {
    enter("cache " + printable(cache->name()->string_view()));
    int64_t bytes = recordBytes(*cache);
    Residence residence = cache->residence();
    if (!checkEnum(residence, Residence::MAX, "residence") ||
        !check(residence == Residence::Whole || countOf(manifest_.tiers()) >= 2,
               "expected a second tier, since it isn't near"))
      return false;
    if (residence == Residence::Reloaded) {
      if (!checkRange(cache->staging(), 0, countOf(manifest_.staging_pools()) - 1, "staging"))
        return false;
      const package::StagingPool &pool =
          *manifest_.staging_pools()->Get(uint32_t(cache->staging()));
      if (!check(pool.record_bytes() == bytes && pool.page_size() == cache->page_size(),
                 "expected a staging pool of its pages"))
        return false;
    } else if (residence == Residence::Streamed) {
      if (!checkRange(cache->staging(), 0, countOf(manifest_.block_buffers()) - 1, "staging") ||
          !check(manifest_.block_buffers()->Get(uint32_t(cache->staging()))->record_bytes() ==
                     bytes,
                 "expected block buffers of its records"))
        return false;
    }
  }
  enter("");
  return true;
}

bool TierChecker::checkWeights() {
  if (manifest_.weight_slots() && !checkAligned(manifest_.weight_slots(), "weight slots"))
    return false;
  if (!check(countOf(manifest_.weight_slots()) == 0 || countOf(manifest_.tiers()) >= 2,
             "expected a second tier, since there are weight slots"))
    return false;
  for (int64_t i = 0; i < countOf(manifest_.weight_slots()); ++i)
    if (!checkRange(int64_t(manifest_.weight_slots()->Get(uint32_t(i))), 1, kMaxTotalBytes,
                    "bytes of a weight slot"))
      return false;
  for (const package::Weight *weight : *manifest_.weights()) {
    enter("weight " + printable(weight->name()->string_view()));
    if (!checkRange(weight->slot(), -1, countOf(manifest_.weight_slots()) - 1, "slot"))
      return false;
    if (weight->slot() < 0)
      continue;
    int64_t bytes = int64_t(elementSize(static_cast<strata::ElementType>(weight->stored())));
    for (int64_t extent : *weight->shape())
      bytes *= extent;
    if (!check(!weight->widen(), "a widened weight has no slot") ||
        !check(uint64_t(bytes) <= manifest_.weight_slots()->Get(uint32_t(weight->slot())),
               "it is larger than its slot"))
      return false;
  }
  enter("");
  return true;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// The first hot set that a kernel gets; −1 if there is none.
static int32_t findHotSet(const package::Launch &launch) {
  for (const Argument *argument : *launch.arguments())
    if (argument->kind() == ArgumentKind::HotSet)
      return argument->index();
  return -1;
}

/// Arguments that name memory of tiers.
bool CommandChecker::checkTierArgument(const Argument &argument, const char *what) {
  if (!check(argument.offset() == 0, what, "a stage or a hot set has no offset"))
    return false;
  if (argument.kind() == ArgumentKind::HotSet)
    return checkRange(argument.index(), 0, countOf(manifest_.hot_sets()) - 1, what);
  if (!checkRange(argument.index(), 0, countOf(manifest_.caches()) - 1, what))
    return false;
  Residence residence = manifest_.caches()->Get(uint32_t(argument.index()))->residence();
  return check(residence == Residence::Rows || residence == Residence::Streamed, what,
               "expected a cache with a stage");
}

/// A cache whose pool kernels can work on.
bool CommandChecker::checkNearCache(int32_t cache, const char *what) {
  if (!checkRange(cache, 0, countOf(manifest_.caches()) - 1, what))
    return false;
  Residence residence = manifest_.caches()->Get(uint32_t(cache))->residence();
  return check(residence == Residence::Whole || residence == Residence::Reloaded, what,
               "expected a cache that is near");
}

/// What reads a hot set runs block by block: it has the same number of items for each token, and no
/// other hot set, whose blocks nobody would bring.
bool CommandChecker::checkBlocks(const package::Launch &launch, int64_t itemsOfToken) {
  int32_t hotSet = findHotSet(launch);
  if (hotSet == -1)
    return true;
  for (const Argument *argument : *launch.arguments())
    if (!check(argument->kind() != ArgumentKind::HotSet || argument->index() == hotSet,
               "expected no more than one hot set"))
      return false;
  const Size &items = *launch.items();
  return check(items.wanted() == 0 && items.fixed() == 0 &&
                   (itemsOfToken == 0 || items.tokens() == itemsOfToken),
               "expected items of tokens, since it reads a hot set");
}

/// A command says which hot set its kernel reads.
bool CommandChecker::checkHotSet(int32_t hotSet, const package::Launch &launch) {
  return hotSet == findHotSet(launch) ||
         fail("expected hot_set " + std::to_string(findHotSet(launch)) +
              ", as its kernel has it, but got " + std::to_string(hotSet));
}

bool CommandChecker::checkTransfer(int32_t engine, int32_t transfer) {
  return checkRange(engine, 0, countOf(manifest_.engines()) - 1, "engine") &&
         checkRange(transfer, 0, std::numeric_limits<int32_t>::max(), "transfer");
}

bool CommandChecker::check(const package::Records &records) {
  return checkRange(records.k(), 1, kMaxRowWidth, "k") &&
         check(countOf(manifest_.caches()) != 0 &&
                   records.page_size() == manifest_.caches()->Get(0)->page_size(),
               "expected the page size of the caches") &&
         checkArray(records.rows(), Size(records.k(), 0, 0), "rows") &&
         checkArray(records.output(), Size(records.k(), 0, 0), "output");
}

bool CommandChecker::check(const package::Resolve &resolve) {
  if (!checkRange(resolve.table(), 0, countOf(manifest_.slot_tables()) - 1, "table") ||
      !check(countOf(manifest_.caches()) != 0, "expected a cache") ||
      !checkRange(resolve.limit(), 0, kMaxExtent, "limit"))
    return false;
  const Size entries(manifest_.slot_tables()->Get(uint32_t(resolve.table()))->k(), 0, 0);
  return checkArray(resolve.records(), entries, "records") &&
         (resolve.limit() > 0 || (checkArray(resolve.slots(), entries, "slots") &&
                                  checkArray(resolve.hits(), entries, "hits") &&
                                  checkArray(resolve.misses(), entries, "misses")));
}

bool CommandChecker::check(const package::Gather &gather) {
  return checkRange(gather.hot_set(), 0, countOf(manifest_.hot_sets()) - 1, "hot_set") &&
         checkTransfer(gather.engine(), gather.transfer());
}

bool CommandChecker::check(const package::WriteBack &back) {
  return checkRange(back.cache(), 0, countOf(manifest_.caches()) - 1, "cache") &&
         check(manifest_.caches()->Get(uint32_t(back.cache()))->residence() != Residence::Whole,
               "expected a cache whose home is far") &&
         checkTransfer(back.engine(), back.transfer());
}

bool CommandChecker::check(const package::Reload &reload) {
  if (!check((reload.weight() == -1) != (reload.cache() == -1),
             "expected either a weight or a cache") ||
      !checkTransfer(reload.engine(), reload.transfer()))
    return false;
  if (reload.weight() != -1)
    return checkWeight(reload.weight(), "weight") &&
           check(manifest_.weights()->Get(uint32_t(reload.weight()))->slot() >= 0,
                 "expected a weight with a slot");
  return checkRange(reload.cache(), 0, countOf(manifest_.caches()) - 1, "cache") &&
         check(manifest_.caches()->Get(uint32_t(reload.cache()))->residence() ==
                   Residence::Reloaded,
               "expected a cache that is reloaded");
}

bool CommandChecker::check(const package::Wait &wait) {
  return checkRange(wait.transfer(), 0, std::numeric_limits<int32_t>::max(), "transfer");
}

} // namespace strata::rt
