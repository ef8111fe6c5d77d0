//===- TierGroups.cpp - Hot sets of layers that share rows ----------------===//
#include "strata/passes/Place/SplitAttention.h"
#include "strata/passes/Place/TierWriter.h"

#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Plan/Transfers.h"

using namespace mlir;
using namespace strata;

/// Adds the tables of groups and the hot sets of caches to the arguments, behind the caches. Their
/// last values are added to the results when all are known (finishSignature).
void TierWriter::addArguments() {
  MLIRContext *context = step.getContext();
  unsigned argument = 1 + unsigned(model.caches.size());
  auto insert = [&](Type type, const Twine &name, ArrayRef<NamedAttribute> more) {
    NamedAttrList attributes(more);
    attributes.set(kCacheNameAttr, builder.getStringAttr(name));
    bool isInserted = succeeded(
        step.insertArgument(argument, type, attributes.getDictionary(context), step.getLoc()));
    assert(isInserted);
    (void)isInserted;
    return Value(step.getArgument(argument++));
  };
  auto pages = [&](const StepGroup &group) {
    return builder.getStringAttr(model.caches[group.caches.front()].name);
  };
  auto number64 = [&](unsigned number) { return builder.getI64IntegerAttr(number); };
  tables.resize(model.groups.size());
  DenseMap<unsigned, unsigned> tableArgument;
  for (auto [number, group] : llvm::enumerate(model.groups))
    if (int64_t slots = decisions.slotsOfGroup[number]) {
      tableArgument[number] = argument;
      tables[number] =
          insert(tier::TableType::get(context, slots, pages(group)), "table of " + group.name, {});
    }
  for (auto [number, group] : llvm::enumerate(model.groups))
    if (int64_t slots = decisions.slotsOfGroup[number])
      for (unsigned cache : group.caches)
        hotSets[cache] =
            insert(tier::HotSetType::get(context, farSpace, model.caches[cache].type, slots),
                   "hot set of " + model.caches[cache].name,
                   {builder.getNamedAttr("tier.of", number64(model.caches[cache].argument)),
                    builder.getNamedAttr("tier.table", number64(tableArgument[number]))});
}

/// The kernel of heads that an attention stands in; it gets one if it has none.
KernelOp TierWriter::wrapAttention(AttentionOp attention) {
  if (auto kernel = dyn_cast<KernelOp>(attention->getParentOp()))
    return kernel;
  OpBuilder before(attention);
  auto kernel = KernelOp::create(before, attention.getLoc(), TypeRange{attention.getType()},
                                 KernelKind::Heads);
  if (Attribute layer = attention->getDiscardableAttr(kLayerAttr))
    kernel->setDiscardableAttr(kLayerAttr, layer);
  attention.getResult().replaceAllUsesWith(kernel.getResult(0));
  Block &body = kernel.getBody().emplaceBlock();
  attention->moveBefore(&body, body.end());
  before.setInsertionPointToEnd(&body);
  YieldOp::create(before, attention.getLoc(), attention.getResult());
  return kernel;
}

/// The attention reads records of a hot set instead of rows of a cache.
void TierWriter::attendToSlots(AttentionOp attention, Value view, Value slots) {
  attention.getCachesMutable().assign(view);
  attention.getRowsMutable().assign(slots);
  attention.setSelectorsAttr(builder.getArrayAttr(
      SelectorAttr::get(step.getContext(), SelectorKind::Records, /*count=*/0)));
}

void TierWriter::writeGroup(unsigned number) {
  const StepGroup &group = model.groups[number];
  Value batch = step.getArgument(0), ownRecords = getOwnRecords();
  bool isImported = isa<BlockArgument>(group.rows);
  if (isImported)
    builder.setInsertionPointAfter(lastAtTop ? lastAtTop : ownRecords.getDefiningOp());
  else
    builder.setInsertionPointAfterValue(group.rows);
  Location location = group.rows.getLoc();
  Type rows = group.rows.getType();
  MLIRContext *context = step.getContext();
  // What was fetched on speculation must be there before the table changes again.
  for (unsigned member : group.caches)
    if (isa<tier::PendingType>(hotSets[member].getType()))
      hotSets[member] = tier::WaitOp::create(builder, location, hotSets[member]);
  auto table = cast<tier::TableType>(tables[number].getType());
  auto planType = tier::PlanType::get(context, table.getSlots(), table.getPages());
  Value records = RecordsOp::create(builder, location, rows, group.rows, batch,
                                    model.caches[group.caches.front()].type.getPageSize());
  auto resolve = tier::ResolveOp::create(builder, location, table, planType, records,
                                         tables[number], ownRecords, group.k);
  tables[number] = resolve.getNextTable();
  Value plan = resolve.getPlan();
  Value slots = tier::SlotsOp::create(builder, location, rows, plan);
  Value hits, misses;
  if (!isImported) {
    auto split = tier::SplitOp::create(builder, location, rows, rows, plan);
    hits = split.getHits();
    misses = split.getMisses();
  }
  // All gathers start here, in the order in which they are needed.
  SmallVector<Value> pending;
  const plan::RowGroup &planned = problem.groups[number];
  double missing = plan::getExpectedMisses(problem, planned, table.getSlots());
  for (unsigned member : group.caches) {
    const StepCache &cache = model.caches[member];
    MovedCache &entry = moved[member];
    Value home = step.getArgument(cache.argument);
    bool isAppended = entry.appendPlace->isBeforeInBlock(resolve);
    auto gather = tier::GatherOp::create(
        builder, cache.readers.front()->getLoc(),
        tier::PendingType::get(context, hotSets[member].getType()), home, hotSets[member], plan,
        isAppended ? entry.appended : entry.stage, getEngine(index.ofCache(member)));
    annotate(gather, missing * double(cache.type.getRecordBytes()));
    pending.push_back(gather.getPending());
    if (isImported)
      lastAtTop = gather;
  }
  if (number + 1 < model.groups.size() && decisions.speculation[number + 1])
    writeSpeculation(number + 1, records);
  for (auto [place, member] : llvm::enumerate(group.caches)) {
    AttentionOp attention = cast<AttentionOp>(model.caches[member].readers.front());
    KernelOp kernel = wrapAttention(attention);
    bool isLeader = place == 0 && !isImported;
    Value known = isLeader ? writeHits(kernel, attention, hotSets[member], plan, hits) : Value();
    builder.setInsertionPoint(kernel);
    hotSets[member] = tier::WaitOp::create(builder, attention.getLoc(), pending[place]);
    // Not earlier: the gather reads the home.
    writeBack(member, /*inOrder=*/true);
    Value view = tier::ViewOp::create(builder, attention.getLoc(), model.caches[member].type,
                                      hotSets[member], plan);
    attendToSlots(attention, view, slots);
    if (isLeader)
      writeMisses(attention, view, misses, known);
  }
}

/// Behind the gathers of the group before: these records are needed later.
void TierWriter::writeSpeculation(unsigned number, Value records) {
  const StepGroup &group = model.groups[number];
  MLIRContext *context = step.getContext();
  Location location = records.getLoc();
  int64_t limit = decisions.speculation[number];
  auto table = cast<tier::TableType>(tables[number].getType());
  auto speculate = tier::SpeculateOp::create(
      builder, location, table, tier::PlanType::get(context, table.getSlots(), table.getPages()),
      records, tables[number], limit);
  tables[number] = speculate.getNextTable();
  for (unsigned member : group.caches) {
    const StepCache &cache = model.caches[member];
    Value &hotSet = hotSets[member];
    auto gather =
        tier::GatherOp::create(builder, location, tier::PendingType::get(context, hotSet.getType()),
                               step.getArgument(cache.argument), hotSet, speculate.getPlan(),
                               Value(), getEngine(index.ofCache(member)));
    annotate(gather, double(limit * cache.type.getRecordBytes()));
    hotSet = gather.getPending();
  }
}

/// The scores of the records that are there already, under the transfer of the others: a kernel of
/// what stands in front of the attention, and the scores (or the attention to these records).
Value TierWriter::writeHits(KernelOp kernel, AttentionOp attention, Value hotSet, Value plan,
                            Value hits) {
  Location location = attention.getLoc();
  builder.setInsertionPoint(kernel);
  Value present = tier::PresentOp::create(
      builder, location, cast<CacheType>(attention.getCaches().front().getType()), hotSet, plan);
  SmallVector<Operation *> front;
  for (Operation &op : kernel.getBody().front()) {
    if (&op == attention)
      break;
    front.push_back(&op);
  }
  SmallVector<Value> yielded;
  for (Operation *op : front)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !llvm::is_contained(front, user); }))
        yielded.push_back(result);
  int64_t heads = attention.getQuery().getType().getDimSize(1);
  int64_t width = splitAttention
                      ? cast<ShapedType>(attention.getType()).getDimSize(2) + kPartialNumbers
                      : cast<ShapedType>(hits.getType()).getDimSize(1);
  Type knownType =
      RankedTensorType::get({ShapedType::kDynamic, heads, width}, builder.getF32Type());
  SmallVector<Type> types(ValueRange(yielded).getTypes());
  types.push_back(knownType);
  auto first = KernelOp::create(builder, location, types, KernelKind::Heads);
  if (Attribute layer = kernel->getDiscardableAttr(kLayerAttr))
    first->setDiscardableAttr(kLayerAttr, layer);
  Block &body = first.getBody().emplaceBlock();
  for (Operation *op : front)
    op->moveBefore(&body, body.end());
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  Value batch = step.getArgument(0), known;
  if (splitAttention)
    known = PartialAttentionOp::create(inside, location, knownType, attention.getQuery(), present,
                                       hits, attention.getSinks(), batch, attention.getScaleAttr());
  else
    known = AttentionScoresOp::create(inside, location, knownType, attention.getQuery(), present,
                                      hits, batch, Value(), attention.getScaleAttr());
  for (auto [value, result] : llvm::zip(yielded, first.getResults()))
    value.replaceUsesWithIf(result, [&](OpOperand &use) {
      return use.getOwner()->getParentOp() != first.getOperation();
    });
  yielded.push_back(known);
  YieldOp::create(inside, location, yielded);
  return first.getResults().back();
}

/// The others' scores when they have come; then softmax and values in the order of the rows. Or the
/// rest of an attention that was cut in two.
void TierWriter::writeMisses(AttentionOp attention, Value view, Value misses, Value known) {
  if (splitAttention) {
    attention.getRowsMutable().assign(misses);
    attention.getSinksMutable().clear(); // the first part has them
    attention.getPartialMutable().assign(known);
    noteSplitAttention(step->getParentOfType<ModuleOp>(), attention);
    return;
  }
  OpBuilder before(attention);
  Value scores =
      AttentionScoresOp::create(before, attention.getLoc(), known.getType(), attention.getQuery(),
                                view, misses, step.getArgument(0), known, attention.getScaleAttr());
  attention.getScoresMutable().assign(scores);
}
