//===- TierLowering.cpp - From ops of tier to commands --------------------===//
#include "strata/passes/Lower/TierLowering.h"

#include "strata/dialects/Strata/ModelAttributes.h"

using namespace mlir;
using namespace strata;

CacheType TierLowering::getCacheOf(Type argument) {
  if (auto at = dyn_cast<tier::AtType>(argument))
    argument = at.getValue();
  return dyn_cast<CacheType>(argument);
}

bool TierLowering::takeArgument(BlockArgument argument) {
  if (auto table = dyn_cast<tier::TableType>(argument.getType())) {
    tables[argument] = int64_t(slotTables.size()) / 2;
    // k is known when records are resolved.
    slotTables.append({table.getSlots(), 0});
    return true;
  }
  if (!isa<tier::HotSetType>(argument.getType()))
    return false;
  hotSets[argument] = int64_t(hotSetPairs.size()) / 2;
  // Cache and table are known when rows are gathered.
  hotSetPairs.append({-1, -1});
  return true;
}

FailureOr<int64_t> TierLowering::getEngine(Operation *op, StringRef name) const {
  auto module = newStep->getParentOfType<ModuleOp>();
  if (auto engines = module->getAttrOfType<ArrayAttr>("tier.engines"))
    for (auto [number, engine] : llvm::enumerate(engines.getAsRange<DictionaryAttr>()))
      if (auto given = engine.getAs<StringAttr>("name"); given && given.getValue() == name)
        return int64_t(number);
  return op->emitOpError() << "expected an engine of the module's tier.engines but got \"" << name
                           << "\"";
}

/// The layer of the first op that needs a value which moves: looked for through ops of tier.
static Attribute findReader(Operation *op) {
  if (Attribute layer = op->getDiscardableAttr(kLayerAttr))
    return layer;
  if (!isa<tier::TierDialect>(op->getDialect()) || isa<tier::ReleaseOp>(op))
    return {};
  for (Operation *user : op->getUsers())
    if (Attribute layer = findReader(user))
      return layer;
  return {};
}

/// The layer of the op that made a value, looked for in the same way.
static Attribute findWriter(Value value) {
  for (Operation *op = value.getDefiningOp(); op; op = op->getOperand(0).getDefiningOp()) {
    if (Attribute layer = op->getDiscardableAttr(kLayerAttr))
      return layer;
    if (op->getNumOperands() == 0)
      break;
  }
  return {};
}

template <typename Op, typename... Args>
void TierLowering::command(Attribute layer, Args &&...args) {
  Op op = commands.command<Op>(std::forward<Args>(args)...);
  if (layer)
    op->setDiscardableAttr(kLayerAttr, layer);
}

TierLowering::Transfer &TierLowering::addTransfer(Value pending) {
  Transfer &transfer = transfers[pending];
  transfer.number = transferCount++;
  return transfer;
}

Value TierLowering::getNearRows(NearKind kind, int64_t index, Type cache) {
  Value &rows = nearRows[{kind, index}];
  if (!rows)
    rows = NearRowsOp::create(commands.getBuilder(), commands.getLoc(), cache, kind, index);
  return rows;
}

Value TierLowering::makeArray(int64_t k) {
  return commands.makeBuffer(commands.tokens(), {k}, commands.getBuilder().getI32Type());
}

//===----------------------------------------------------------------------===//
// Hot sets
//===----------------------------------------------------------------------===//

/// All records that are looked up in a slot table have one number for each token.
LogicalResult TierLowering::setWidth(Operation *op, int64_t table, Value records) {
  int64_t k = cast<RankedTensorType>(records.getType()).getDimSize(1);
  int64_t &width = slotTables[size_t(2 * table + 1)];
  if (width != 0 && width != k)
    return op->emitOpError() << "expected " << width
                             << " records of a token, as at the table's other resolutions, but got "
                             << k;
  width = k;
  return success();
}

LogicalResult TierLowering::lowerOp(tier::ResolveOp op) {
  int64_t table = tables.lookup(op.getTable()), k = int64_t(op.getK());
  if (failed(setWidth(op, table, op.getRecords())))
    return failure();
  Plan plan{table, makeArray(k), makeArray(k), makeArray(k)};
  command<LaunchResolveOp>(findWriter(op.getRecords()), commands.lookup(op.getRecords()),
                           plan.slots, plan.hits, plan.misses, table, IntegerAttr());
  tables[op.getNextTable()] = table;
  plans[op.getPlan()] = plan;
  return success();
}

LogicalResult TierLowering::lowerOp(tier::SpeculateOp op) {
  int64_t table = tables.lookup(op.getTable());
  if (failed(setWidth(op, table, op.getRecords())))
    return failure();
  Builder builder(op.getContext());
  command<LaunchResolveOp>(findWriter(op.getRecords()), commands.lookup(op.getRecords()), Value(),
                           Value(), Value(), table,
                           builder.getI64IntegerAttr(int64_t(op.getLimit())));
  tables[op.getNextTable()] = table;
  plans[op.getPlan()] = {table, {}, {}, {}};
  return success();
}

LogicalResult TierLowering::lowerOp(tier::SlotsOp op) {
  commands.map(op.getSlots(), plans.lookup(op.getPlan()).slots);
  return success();
}

LogicalResult TierLowering::lowerOp(tier::SplitOp op) {
  Plan plan = plans.lookup(op.getPlan());
  commands.map(op.getHits(), plan.hits);
  commands.map(op.getMisses(), plan.misses);
  return success();
}

LogicalResult TierLowering::lowerOp(tier::GatherOp op) {
  FailureOr<int64_t> engine = getEngine(op, op.getEngine());
  if (failed(engine))
    return failure();
  int64_t hotSet = hotSets.lookup(op.getHotSet()), home = homes.lookup(op.getHome());
  hotSetPairs[size_t(2 * hotSet)] = home;
  hotSetPairs[size_t(2 * hotSet + 1)] = plans.lookup(op.getPlan()).table;
  getCacheState(home).residence = Residence::Rows;
  Transfer &transfer = addTransfer(op.getPending());
  transfer.hotSet = hotSet;
  command<LaunchGatherOp>(findReader(op), hotSet, *engine, transfer.number);
  return success();
}

LogicalResult TierLowering::lowerView(Operation *op, Value hotSet) {
  commands.map(op->getResult(0),
               getNearRows(NearKind::HotSet, hotSets.lookup(hotSet), op->getResult(0).getType()));
  return success();
}

LogicalResult TierLowering::lowerOp(tier::ViewOp op) { return lowerView(op, op.getHotSet()); }
LogicalResult TierLowering::lowerOp(tier::PresentOp op) { return lowerView(op, op.getHotSet()); }

//===----------------------------------------------------------------------===//
// Homes
//===----------------------------------------------------------------------===//

LogicalResult TierLowering::lowerOp(tier::HomeOp op) {
  weightHomes[op.getHome()] = commands.lookup(op.getValue());
  return success();
}

LogicalResult TierLowering::lowerOp(tier::StageOp op) {
  commands.map(op.getStage(),
               getNearRows(NearKind::Stage, homes.lookup(op.getHome()), op.getStage().getType()));
  return success();
}

LogicalResult TierLowering::lowerOp(tier::WriteBackOp op) {
  FailureOr<int64_t> engine = getEngine(op, op.getEngine());
  if (failed(engine))
    return failure();
  int64_t home = homes.lookup(op.getHome());
  Transfer &transfer = addTransfer(op.getPending());
  transfer.home = home;
  command<LaunchWriteBackOp>(findWriter(op.getSource()), home, *engine, transfer.number);
  return success();
}

LogicalResult TierLowering::lowerOp(tier::SlotOp op) {
  rooms[op.getSlot()] = roomCount++;
  return success();
}

LogicalResult TierLowering::lowerOp(tier::ReloadOp op) {
  FailureOr<int64_t> engine = getEngine(op, op.getEngine());
  if (failed(engine))
    return failure();
  Transfer &transfer = addTransfer(op.getPending());
  transfer.root = rooms.lookup(op.getSlot());
  Builder builder(op.getContext());
  if (Value weight = weightHomes.lookup(op.getHome())) {
    auto [slot, isNew] = weightSlotOfRoom.try_emplace(transfer.root, int64_t(weightSlots.size()));
    if (isNew)
      weightSlots.push_back(int64_t(op.getSlot().getType().getBytes()));
    Operation *copy = commands.getBuilder().clone(*weight.getDefiningOp());
    copy->setDiscardableAttr(kWeightSlotAttr, builder.getI64IntegerAttr(slot->second));
    transfer.lowered = copy->getResult(0);
    command<LaunchReloadOp>(findReader(op), transfer.lowered, IntegerAttr(), *engine,
                            transfer.number);
    return success();
  }
  int64_t home = homes.lookup(op.getHome());
  CacheType cache = getCacheType(home);
  auto [pool, isNew] = poolOfRoom.try_emplace(transfer.root, int64_t(stagingPools.size()) / 2);
  int64_t description[] = {cache.getRecordBytes(), cache.getPageSize()};
  if (isNew)
    stagingPools.append(std::begin(description), std::end(description));
  if (stagingPools[size_t(2 * pool->second)] != description[0])
    return op.emitOpError() << "expected the caches that share a slot to have records of "
                            << stagingPools[size_t(2 * pool->second)] << " bytes but got "
                            << description[0];
  getCacheState(home) = {Residence::Reloaded, pool->second};
  transfer.lowered = getCache(home);
  command<LaunchReloadOp>(findReader(op), Value(), builder.getI64IntegerAttr(home), *engine,
                          transfer.number);
  return success();
}

LogicalResult TierLowering::lowerOp(tier::WaitOp op) {
  Transfer transfer = transfers.lookup(op.getPending());
  Attribute layer = findReader(op);
  if (auto back = op.getPending().getDefiningOp<tier::WriteBackOp>())
    layer = findWriter(back.getSource());
  command<LaunchWaitOp>(layer, transfer.number);
  if (transfer.hotSet >= 0) {
    hotSets[op.getResult()] = transfer.hotSet;
  } else if (transfer.home >= 0) {
    homes[op.getResult()] = transfer.home;
  } else {
    commands.map(op.getResult(), transfer.lowered);
    roomOfLowered[transfer.lowered] = transfer.root;
  }
  return success();
}

LogicalResult TierLowering::lowerOp(tier::ReleaseOp op) {
  rooms[op.getSlot()] = roomOfLowered.lookup(commands.lookup(op.getValue()));
  return success();
}

LogicalResult TierLowering::lowerOp(tier::StreamOp op) {
  FailureOr<int64_t> engine = getEngine(op, op.getEngine());
  if (failed(engine))
    return failure();
  int64_t home = homes.lookup(op.getHome());
  std::pair rootsOf(rooms.lookup(op.getFirst()), rooms.lookup(op.getSecond()));
  auto [buffers, isNew] = buffersOfRooms.try_emplace(rootsOf, int64_t(blockBuffers.size()) / 2);
  int64_t description[] = {int64_t(op.getRows()), getCacheType(home).getRecordBytes()};
  if (isNew)
    blockBuffers.append(std::begin(description), std::end(description));
  if (blockBuffers[size_t(2 * buffers->second)] != description[0] ||
      blockBuffers[size_t(2 * buffers->second + 1)] != description[1])
    return op.emitOpError() << "expected the caches that share buffers to have blocks of "
                            << blockBuffers[size_t(2 * buffers->second)] << " records of "
                            << blockBuffers[size_t(2 * buffers->second + 1)] << " bytes";
  getCacheState(home) = {Residence::Streamed, buffers->second};
  streamEngines[home] = *engine;
  commands.map(op.getResult(), getCache(home));
  return success();
}

std::optional<int64_t> TierLowering::getStreamEngine(Value cache) const {
  for (auto [number, engine] : streamEngines)
    if (getCache(number) == cache)
      return engine;
  return std::nullopt;
}

void TierLowering::finish(ModuleOp module) const {
  if (!module->hasAttr("tier.capacity"))
    return;
  Builder builder(module.getContext());
  for (auto [number, cache] : caches) {
    unsigned argument = unsigned(number) + 1;
    func::FuncOp step = newStep;
    if (cache.residence != Residence::Whole)
      step.setArgAttr(argument, kResidenceAttr,
                      builder.getI64IntegerAttr(int64_t(cache.residence)));
    if (cache.staging >= 0)
      step.setArgAttr(argument, kStagingAttr, builder.getI64IntegerAttr(cache.staging));
  }
  NamedAttrList described;
  for (auto [name, numbers] : {std::pair<StringRef, ArrayRef<int64_t>>("slot_tables", slotTables),
                               {"hot_sets", hotSetPairs},
                               {"staging_pools", stagingPools},
                               {"block_buffers", blockBuffers},
                               {"weight_slots", weightSlots}})
    described.append(name, builder.getDenseI64ArrayAttr(numbers));
  module->setAttr(kTiersAttr, described.getDictionary(module.getContext()));
}
