//===- TierCaches.cpp - Homes, stages, staging pools and blocks -----------===//
#include "strata/passes/Place/TierWriter.h"

#include "strata/dialects/Strata/ModelAttributes.h"

#include <map>

using namespace mlir;
using namespace strata;

/// The far tier that homes lie in: the next one from the near tier.
static constexpr int kFarTier = 1;

TierWriter::TierWriter(StepModel &model, const Decisions &decisions, const plan::Problem &problem,
                       const Machine &machine, bool splitAttention)
    : model(model), decisions(decisions), problem(problem), machine(machine),
      splitAttention(splitAttention),
      index{unsigned(model.weights.size()), unsigned(model.caches.size())}, step(model.step),
      block(step.getBody().front()), builder(step.getContext()) {
  farSpace = builder.getStringAttr(machine.tiers[kFarTier].name);
}

void TierWriter::run() {
  moveHomes();
  addArguments();
  for (unsigned cache = 0; cache < model.caches.size(); ++cache) {
    if (!isMoved(cache))
      continue;
    switch (model.caches[cache].access) {
    case CacheAccess::Rows:
      writeStaged(cache);
      break;
    case CacheAccess::Stream:
      writeStaged(cache);
      writeStreamed(cache);
      break;
    case CacheAccess::Pages:
    case CacheAccess::Fixed:
      break;
    }
  }
  writeReloaded();
  for (unsigned group = 0; group < model.groups.size(); ++group)
    if (decisions.slotsOfGroup[group])
      writeGroup(group);
  writeWeights();
  waitForHomes();
  finishSignature();
}

StringRef TierWriter::getEngine(unsigned buffer) const {
  return machine.engines[decisions.engineOf[buffer]].name;
}

StringRef TierWriter::getWriteEngine() const {
  int engine = machine.findEngine(MachineEngine::Kind::Copy, 0, kFarTier);
  if (engine < 0)
    engine = machine.findEngine(MachineEngine::Kind::Gather, 0, kFarTier);
  return machine.engines[engine].name;
}

void TierWriter::annotate(Operation *transfer, double bytes) {
  transfer->setAttr("tier.bytes", builder.getI64IntegerAttr(int64_t(bytes)));
}

/// All caches have pages of one size, so one op serves them all.
Value TierWriter::getOwnRecords() {
  if (own)
    return own;
  OpBuilder top = OpBuilder::atBlockBegin(&block);
  Type type = RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  own = OwnRecordsOp::create(top, step.getLoc(), type, step.getArgument(0),
                             model.caches.front().type.getPageSize());
  return own;
}

void TierWriter::moveHomes() {
  for (auto [number, cache] : llvm::enumerate(model.caches)) {
    if (!isMoved(number))
      continue;
    BlockArgument argument = step.getArgument(cache.argument);
    MovedCache &entry = moved[number];
    entry.home = argument;
    entry.appended = cache.append.getResult();
    entry.appendPlace = block.findAncestorOpInBlock(*cache.append);
    if (entry.appendPlace != cache.append)
      for (OpOperand &use : cache.append.getResult().getUses())
        if (isa<YieldOp>(use.getOwner()))
          entry.appended = entry.appendPlace->getResult(use.getOperandNumber());
    argument.setType(tier::AtType::get(step.getContext(), farSpace, cache.type));
  }
}

/// The records of the step go to a stage, and home from there.
void TierWriter::writeStaged(unsigned number) {
  StepCache &cache = model.caches[number];
  MovedCache &entry = moved[number];
  Value ownRecords = getOwnRecords();
  builder.setInsertionPointAfter(lastAtTop ? lastAtTop : ownRecords.getDefiningOp());
  Location location = cache.append.getLoc();
  entry.stage = tier::StageOp::create(builder, location, cache.type, entry.home);
  lastAtTop = entry.stage.getDefiningOp();
  entry.home.replaceUsesWithIf(
      entry.stage, [&](OpOperand &use) { return use.getOwner() == cache.append.getOperation(); });
  cache.append.setInOrder(true);
}

void TierWriter::writeBack(unsigned number, bool inOrder) {
  const StepCache &cache = model.caches[number];
  MovedCache &entry = moved[number];
  auto write = tier::WriteBackOp::create(
      builder, cache.getAppend().getLoc(),
      tier::PendingType::get(step.getContext(), entry.home.getType()), entry.appended, entry.home,
      getOwnRecords(), getWriteEngine(), inOrder);
  annotate(write, double(problem.tokens * cache.type.getRecordBytes()));
  entry.home = write.getPending();
  // The value that the step returns is the home.
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (operand.get() == entry.appended)
      operand.set(entry.home);
}

/// Waits at the builder's place.
void TierWriter::waitForHome(unsigned number, Location location) {
  Value &home = moved[number].home;
  Value written = tier::WaitOp::create(builder, location, home);
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (operand.get() == home)
      operand.set(written);
  home = written;
}

/// Index keys come through two buffers, block after block, while they are scored.
void TierWriter::writeStreamed(unsigned number) {
  StepCache &cache = model.caches[number];
  MovedCache &entry = moved[number];
  auto select = cast<SelectOp>(cache.readers.front());
  builder.setInsertionPointAfter(entry.appendPlace);
  writeBack(number, /*inOrder=*/true);
  builder.setInsertionPoint(select);
  // What the step wrote must be there before it is read.
  waitForHome(number, select.getLoc());
  auto &buffers = blockBuffers[cache.type.getRecordBytes()];
  if (buffers.empty())
    for (int buffer = 0; buffer < 2; ++buffer)
      buffers.push_back(makeSlot(uint64_t(decisions.blockRecords * cache.type.getRecordBytes())));
  auto stream =
      tier::StreamOp::create(builder, select.getLoc(), cache.type, entry.home, buffers[0],
                             buffers[1], decisions.blockRecords, getEngine(index.ofCache(number)));
  annotate(stream, double(problem.buffers[index.ofCache(number)].bytesPerStep));
  select.getCacheMutable().set(stream.getResult());
}

/// Caches with records of one size take turns with the same staging pools.
void TierWriter::writeReloaded() {
  struct Pool {
    SmallVector<Value> slots;
    unsigned next = 0;
  };
  std::map<std::pair<uint64_t, uint64_t>, Pool> pools;
  SmallVector<unsigned> order;
  for (auto [number, cache] : llvm::enumerate(model.caches))
    if (isMoved(number) && cache.access == CacheAccess::Pages)
      order.push_back(number);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return model.caches[a].first->isBeforeInBlock(model.caches[b].first);
  });
  for (unsigned number : order) {
    const plan::Buffer &buffer = problem.buffers[index.ofCache(number)];
    Pool &pool = pools[{buffer.rowBytes, buffer.bytes}];
    if (pool.slots.size() < decisions.depth)
      pool.slots.push_back(makeSlot(buffer.bytes));
    Value &slot = pool.slots[pool.next++ % decisions.depth];
    writeReload(number, slot);
  }
}

void TierWriter::writeReload(unsigned number, Value &slot) {
  StepCache &cache = model.caches[number];
  MovedCache &entry = moved[number];
  Location location = cache.append.getLoc();
  builder.setInsertionPoint(cache.first);
  auto reload = tier::ReloadOp::create(builder, location,
                                       tier::PendingType::get(step.getContext(), cache.type),
                                       entry.home, slot, getEngine(index.ofCache(number)));
  annotate(reload, double(problem.buffers[index.ofCache(number)].bytesPerStep));
  Value pages = tier::WaitOp::create(builder, location, reload.getPending());
  entry.home.replaceUsesWithIf(
      pages, [&](OpOperand &use) { return use.getOwner() != reload.getOperation(); });
  builder.setInsertionPointAfter(entry.appendPlace);
  writeBack(number, /*inOrder=*/false);
  // The pool is read by the write-back too.
  builder.setInsertionPointAfter(cache.last == entry.appendPlace ? entry.home.getDefiningOp()
                                                                 : cache.last);
  waitForHome(number, location);
  slot = tier::ReleaseOp::create(builder, location, slot.getType(), entry.appended);
}

Value TierWriter::makeSlot(uint64_t bytes) {
  OpBuilder top = OpBuilder::atBlockBegin(&block);
  return tier::SlotOp::create(top, step.getLoc(),
                              tier::SlotType::get(step.getContext(), int64_t(bytes)));
}

/// Write-backs that nothing in the step needs end with the step.
void TierWriter::waitForHomes() {
  builder.setInsertionPoint(block.getTerminator());
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (isa<tier::PendingType>(operand.get().getType()))
      operand.set(tier::WaitOp::create(builder, operand.get().getLoc(), operand.get()));
}
