//===- TransferVerifier.cpp - Is what commands use there? -----------------===//
#include "strata/runtime/core/TransferVerifier.h"

#include "strata/lib/Support/Text.h"

namespace strata::rt {

using package::ArgumentKind;
using package::Residence;

/// Entries of a vector that may be missing.
template <typename T> static size_t countOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

TransferChecker::TransferChecker(const package::Manifest &manifest)
    : ManifestChecker(manifest), tables_(countOf(manifest.slot_tables())),
      hotSets_(countOf(manifest.hot_sets())), weightSlots_(countOf(manifest.weight_slots())),
      pools_(countOf(manifest.staging_pools())), caches_(manifest.caches()->size()) {}

bool TransferChecker::run() {
  for (uint32_t i = 0; i < manifest_.commands()->size(); ++i) {
    const package::CommandEntry &entry = *manifest_.commands()->Get(i);
    enter("command " + std::to_string(i) + " (" + printable(entry.label()->string_view()) + ")");
    if (!checkCommand(entry))
      return false;
  }
  enter("");
  return checkEnd();
}

bool TransferChecker::checkCommand(const package::CommandEntry &entry) {
  switch (entry.command_type()) {
  case package::Command::Launch: {
    const package::Launch *launch = entry.command_as_Launch();
    if (!useLaunch(launch, /*needsAll=*/true))
      return false;
    finishReading(*launch);
    return true;
  }
  case package::Command::Product:
    return useProduct(entry.command_as_Product());
  case package::Command::GatedProduct: {
    const package::GatedProduct *product = entry.command_as_GatedProduct();
    return useWeight(product->gate()) && useWeight(product->up());
  }
  case package::Command::GroupedProduct: {
    const package::GroupedProduct *product = entry.command_as_GroupedProduct();
    return useWeight(product->weight()) && (product->up() == -1 || useWeight(product->up()));
  }
  case package::Command::HeadAttention: {
    const package::HeadAttention *attention = entry.command_as_HeadAttention();
    if (!useProduct(attention->absorb()) || !useLaunch(attention->scores(), /*needsAll=*/true) ||
        !useLaunch(attention->attention(), /*needsAll=*/true) || !useProduct(attention->expand()))
      return false;
    finishReading(*attention->attention());
    return true;
  }
  case package::Command::PartialScores: {
    const package::PartialScores *partial = entry.command_as_PartialScores();
    return useProduct(partial->absorb()) && useLaunch(partial->scores(), /*needsAll=*/false);
  }
  case package::Command::Select:
    return checkSelect(*entry.command_as_Select());
  case package::Command::Resolve:
    return checkResolve(*entry.command_as_Resolve());
  case package::Command::Gather:
    return checkGather(*entry.command_as_Gather());
  case package::Command::WriteBack:
    return checkWriteBack(*entry.command_as_WriteBack());
  case package::Command::Reload:
    return checkReload(*entry.command_as_Reload());
  case package::Command::Wait:
    return checkWait(*entry.command_as_Wait());
  default:
    return true; // neither weights with slots nor caches
  }
}

//===----------------------------------------------------------------------===//
// What commands use
//===----------------------------------------------------------------------===//

bool TransferChecker::useWeight(int32_t index) {
  int32_t slot = weight(index).slot();
  if (slot < 0)
    return true;
  const Room &room = weightSlots_[size_t(slot)];
  return (room.content == index ||
          fail("weight " + std::to_string(index) + " isn't in its slot")) &&
         (!room.isComing || fail("weight " + std::to_string(index) +
                                 " is on its way: expected a "
                                 "wait for its transfer"));
}

/// The staging pool of a reloaded cache; null for others.
TransferChecker::Room *TransferChecker::poolOf(int32_t cache) {
  const package::Cache &table = *manifest_.caches()->Get(uint32_t(cache));
  return table.residence() == Residence::Reloaded ? &pools_[size_t(table.staging())] : nullptr;
}

bool TransferChecker::useCache(int32_t cache) {
  const Room *room = poolOf(cache);
  return !room || ((room->content == cache ||
                    fail("cache " + std::to_string(cache) + " isn't in its staging pool")) &&
                   (!room->isComing || fail("cache " + std::to_string(cache) +
                                            " is on its way: expected a wait for its transfer")));
}

bool TransferChecker::useProduct(const package::Product *product) {
  if (!product)
    return true;
  for (const package::ProductPart *part : *product->parts())
    if (!useWeight(part->weight()))
      return false;
  return true;
}

/// `needsAll`: the records that a gather brings too, not only those that were there.
bool TransferChecker::useLaunch(const package::Launch *launch, bool needsAll) {
  if (!launch)
    return true;
  for (const package::Argument *argument : *launch->arguments()) {
    int32_t index = argument->index();
    switch (argument->kind()) {
    case ArgumentKind::Weight:
      if (!useWeight(index))
        return false;
      break;
    case ArgumentKind::Cache:
      if (!useCache(index))
        return false;
      break;
    case ArgumentKind::HotSet:
      if (!useHotSet(index, needsAll))
        return false;
      break;
    case ArgumentKind::Stage: // kernels only write stages
      if (caches_[size_t(index)].isLeaving)
        return fail("the stage of cache " + std::to_string(index) +
                    " is on its way home: expected a wait for that transfer");
      caches_[size_t(index)].isStaged = true;
      break;
    default:
      break;
    }
  }
  return true;
}

bool TransferChecker::useHotSet(int32_t index, bool needsAll) {
  const HotSet &hotSet = hotSets_[size_t(index)];
  const Table &table = tables_[size_t(manifest_.hot_sets()->Get(uint32_t(index))->table())];
  std::string name = "hot set " + std::to_string(index);
  if (table.resolution == 0 || table.isSpeculation)
    return fail(name + ": expected its records to be resolved before");
  if (hotSet.gathered != table.resolution)
    return fail(name + ": expected a gather by the last resolution of its slot table");
  // A plan of several blocks leaves the last one's records.
  if (hotSet.wasRead)
    return fail(name + ": expected a gather for each attention that reads it");
  return !needsAll || !hotSet.isComing ||
         fail(name + " is on its way: expected a wait for its transfer");
}

void TransferChecker::finishReading(const package::Launch &launch) {
  for (const package::Argument *argument : *launch.arguments())
    if (argument->kind() == ArgumentKind::HotSet)
      hotSets_[size_t(argument->index())].wasRead = true;
}

bool TransferChecker::checkSelect(const package::Select &select) {
  const Cache &cache = caches_[size_t(select.cache())];
  if (manifest_.caches()->Get(uint32_t(select.cache()))->residence() != Residence::Streamed)
    return useCache(select.cache());
  return check(!cache.isStaged && !cache.isLeaving,
               "expected the step's records to be home before its cache is streamed");
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

bool TransferChecker::start(int32_t transfer, Kind kind, int32_t index) {
  return started_.try_emplace(transfer, Transfer{kind, index}).second ||
         fail("transfer " + std::to_string(transfer) + " was started before and not waited for");
}

bool TransferChecker::checkResolve(const package::Resolve &resolve) {
  tables_[size_t(resolve.table())] = {++resolutions_, resolve.limit() > 0};
  return true;
}

bool TransferChecker::checkGather(const package::Gather &gather) {
  HotSet &hotSet = hotSets_[size_t(gather.hot_set())];
  int64_t resolution =
      tables_[size_t(manifest_.hot_sets()->Get(uint32_t(gather.hot_set()))->table())].resolution;
  if (!check(resolution != 0, "expected its slot table to be resolved before") ||
      !check(!hotSet.isComing, "expected a wait for the hot set's gather before"))
    return false;
  hotSet = {resolution, /*isComing=*/true, /*wasRead=*/false};
  return start(gather.transfer(), Kind::Gather, gather.hot_set());
}

bool TransferChecker::checkWriteBack(const package::WriteBack &back) {
  Cache &cache = caches_[size_t(back.cache())];
  if (!check(!cache.isLeaving, "expected a wait for the cache's write-back before"))
    return false;
  cache = {/*isStaged=*/false, /*isLeaving=*/true};
  if (Room *room = poolOf(back.cache())) {
    if (!useCache(back.cache()))
      return false;
    ++room->leaving;
    room->leavingBy = back.engine();
  }
  return start(back.transfer(), Kind::WriteBack, back.cache());
}

bool TransferChecker::checkReload(const package::Reload &reload) {
  bool isWeight = reload.weight() != -1;
  Room &room =
      isWeight ? weightSlots_[size_t(weight(reload.weight()).slot())] : *poolOf(reload.cache());
  // An engine runs its transfers in order, so that it may itself still have to empty the pool.
  if (!check(!room.isComing, "expected a wait for what comes to the same memory before") ||
      !check(room.leaving == 0 || room.leavingBy == reload.engine(),
             "expected a wait for the write-back from the same memory before"))
    return false;
  room.content = isWeight ? reload.weight() : reload.cache();
  room.isComing = true;
  return start(reload.transfer(), isWeight ? Kind::Weight : Kind::Cache, room.content);
}

bool TransferChecker::checkWait(const package::Wait &wait) {
  auto found = started_.find(wait.transfer());
  if (found == started_.end())
    return fail("no command before it starts transfer " + std::to_string(wait.transfer()));
  auto [kind, index] = found->second;
  started_.erase(found);
  switch (kind) {
  case Kind::Gather:
    hotSets_[size_t(index)].isComing = false;
    break;
  case Kind::WriteBack:
    caches_[size_t(index)].isLeaving = false;
    if (Room *room = poolOf(index))
      --room->leaving;
    break;
  case Kind::Weight:
    weightSlots_[size_t(weight(index).slot())].isComing = false;
    break;
  case Kind::Cache:
    poolOf(index)->isComing = false;
    break;
  }
  return true;
}

bool TransferChecker::checkEnd() {
  if (!started_.empty())
    return fail("nothing waits for transfer " + std::to_string(started_.begin()->first));
  for (size_t i = 0; i < caches_.size(); ++i)
    if (caches_[i].isStaged)
      return fail("the step's records of cache " + std::to_string(i) + " are never written home");
  return true;
}

} // namespace strata::rt
