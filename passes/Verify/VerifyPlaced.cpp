//===- VerifyPlaced.cpp - Steps whose data lie in tiers -------------------===//
#include "strata/passes/Verify/VerifyPlaced.h"

#include "strata/dialects/Strata/IR.h"
#include "strata/dialects/Tier/IR.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace strata;

Type strata::getCacheOfArgument(Type type) {
  auto at = dyn_cast<tier::AtType>(type);
  Type cache = at ? at.getValue() : type;
  return isa<CacheType>(cache) ? cache : Type();
}

/// Through kernels: what their results are inside.
static Value lookThrough(Value value) {
  while (auto kernel = value.getDefiningOp<KernelOp>()) {
    Operation *yield = kernel.getBody().front().getTerminator();
    value = yield->getOperand(cast<OpResult>(value).getResultNumber());
  }
  return value;
}

static LogicalResult note(InFlightDiagnostic error, Operation *op, StringRef text) {
  if (op)
    error.attachNote(op->getLoc()) << text;
  return error;
}

//===----------------------------------------------------------------------===//
// Record numbers
//===----------------------------------------------------------------------===//

/// Positions, record numbers and slots are all i32 tensors; only the op that made them tells.
static LogicalResult verifyRecordNumbers(tier::ResolveOp op) {
  auto records = op.getRecords().getDefiningOp<RecordsOp>();
  auto own = op.getOwn().getDefiningOp<OwnRecordsOp>();
  if (!records || !own)
    return op.emitOpError() << "page spaces are mixed up: expected numbers of records, from "
                               "strata.records and strata.own_records";
  if (records.getPageSize() != own.getPageSize())
    return op.emitOpError() << "page spaces are mixed up: expected pages of one size but got "
                            << int64_t(records.getPageSize()) << " and "
                            << int64_t(own.getPageSize());
  return success();
}

static LogicalResult verifyRecordNumbers(tier::SpeculateOp op) {
  if (op.getRecords().getDefiningOp<RecordsOp>())
    return success();
  return op.emitOpError()
         << "page spaces are mixed up: expected numbers of records, from strata.records";
}

static LogicalResult verifyPageSize(Operation *op, tier::AtType home, int64_t pageSize) {
  int64_t expected = cast<CacheType>(home.getValue()).getPageSize();
  if (pageSize == expected)
    return success();
  return op->emitOpError() << "page spaces are mixed up: expected numbers for pages of " << expected
                           << " records but got " << pageSize;
}

static LogicalResult verifyRecordNumbers(tier::GatherOp op) {
  auto resolve = op.getPlan().getDefiningOp<tier::ResolveOp>();
  auto records = resolve ? resolve.getRecords().getDefiningOp<RecordsOp>() : RecordsOp();
  if (!records || !isa<CacheType>(op.getHome().getType().getValue()))
    return success();
  return verifyPageSize(op, op.getHome().getType(), records.getPageSize());
}

static LogicalResult verifyRecordNumbers(tier::WriteBackOp op) {
  auto own = op.getOwn().getDefiningOp<OwnRecordsOp>();
  if (!own || !isa<CacheType>(op.getHome().getType().getValue()))
    return op.emitOpError() << "page spaces are mixed up: expected numbers of records, from "
                               "strata.own_records";
  return verifyPageSize(op, op.getHome().getType(), own.getPageSize());
}

//===----------------------------------------------------------------------===//
// Hot sets
//===----------------------------------------------------------------------===//

namespace {

/// A hot set that an op reads as a cache.
struct HotRead {
  Value hotSet; ///< where its values come from, before gathers and waits
  Value plan;
  bool isPresent = false;
};

} // namespace

/// The value that a hot set was at the function's begin or where it is not known what it was.
static Value getRoot(Value hotSet) {
  while (Operation *op = hotSet.getDefiningOp()) {
    auto wait = dyn_cast<tier::WaitOp>(op);
    auto gather = wait ? wait.getPending().getDefiningOp<tier::GatherOp>() : tier::GatherOp();
    if (!gather)
      break;
    hotSet = gather.getHotSet();
  }
  return hotSet;
}

static std::optional<HotRead> getHotRead(Value cache) {
  if (auto view = cache.getDefiningOp<tier::ViewOp>())
    return HotRead{getRoot(view.getHotSet()), view.getPlan(), false};
  if (auto present = cache.getDefiningOp<tier::PresentOp>())
    return HotRead{getRoot(present.getHotSet()), present.getPlan(), true};
  return std::nullopt;
}

/// The plan whose hits, misses or slots a list is. `kind`: which of the three.
enum class ListKind { Slots, Hits, Misses };
static std::optional<std::pair<Value, ListKind>> getList(Value list) {
  if (auto slots = list.getDefiningOp<tier::SlotsOp>())
    return std::make_pair(slots.getPlan(), ListKind::Slots);
  if (auto split = list.getDefiningOp<tier::SplitOp>())
    return std::make_pair(split.getPlan(),
                          list == split.getHits() ? ListKind::Hits : ListKind::Misses);
  return std::nullopt;
}

/// Records of a hot set are slots of the plan that it is read by; before the others are there only
/// hits.
static LogicalResult verifyHotSource(Operation *op, Value cache, SelectorKind selector,
                                     Value records) {
  std::optional<HotRead> read = getHotRead(cache);
  auto list = records ? getList(records) : std::nullopt;
  if (!read) {
    if (!list)
      return success();
    return note(op->emitOpError() << "page spaces are mixed up: slots of a hot set number records "
                                     "of another cache",
                records.getDefiningOp(), "the slots");
  }
  if (selector != SelectorKind::Records || !list)
    return note(op->emitOpError()
                    << "page spaces are mixed up: expected records of a hot set by slots of a plan",
                cache.getDefiningOp(), "the hot set");
  if (list->first != read->plan)
    return note(op->emitOpError() << "reads a hot set by the slots of another plan",
                read->plan.getDefiningOp(), "expected this plan's");
  if (read->isPresent && list->second != ListKind::Hits)
    return note(op->emitOpError() << "reads records that may not be there yet; expected the hits",
                cache.getDefiningOp(), "what is present");
  return success();
}

/// What was computed before belongs to the same hot set and plan, and lists the other records.
/// `isSum`: a record that both list would count twice.
static LogicalResult verifyParts(Operation *op, Value before, Value cache, Value records,
                                 bool isSum) {
  before = lookThrough(before);
  Value beforeCache, beforeRecords;
  if (auto scores = before.getDefiningOp<AttentionScoresOp>()) {
    beforeCache = scores.getCache();
    beforeRecords = scores.getRecords();
  } else if (auto part = before.getDefiningOp<PartialAttentionOp>()) {
    beforeCache = part.getCache();
    beforeRecords = part.getRecords();
  } else {
    return op->emitOpError() << "expected what a part of the attention computed before";
  }
  std::optional<HotRead> here = getHotRead(cache), there = getHotRead(beforeCache);
  auto list = getList(records), beforeList = getList(beforeRecords);
  if (!here || !there || !list || !beforeList)
    return success(); // not of a hot set: nothing is missing
  if (here->hotSet != there->hotSet)
    return note(op->emitOpError() << "layers are mixed up: goes on with a part of another hot set",
                before.getDefiningOp(), "the part");
  if (here->plan != there->plan)
    return note(op->emitOpError() << "goes on with a part of another plan", before.getDefiningOp(),
                "the part");
  bool hasAll = list->second == ListKind::Slots || beforeList->second == ListKind::Slots;
  if (list->second == beforeList->second || (isSum && hasAll))
    return note(op->emitOpError() << "lists the records that a part before has listed",
                before.getDefiningOp(), "the part");
  return success();
}

static LogicalResult verifyAttention(AttentionOp op) {
  for (const AttentionOp::Source &source : op.getSources())
    if (failed(verifyHotSource(op, source.cache, source.selector.getKind(), source.rows)))
      return failure();
  if (op.getPartial())
    for (const AttentionOp::Source &source : op.getSources())
      if (source.rows && getHotRead(source.cache))
        return verifyParts(op, op.getPartial(), source.cache, source.rows, /*isSum=*/true);
  if (!op.getScores())
    return success();
  // All scores must be there: the last part lists misses, and one before it the hits.
  auto last = lookThrough(op.getScores()).getDefiningOp<AttentionScoresOp>();
  if (!last)
    return op.emitOpError() << "expected scores of strata.attention_scores";
  for (const AttentionOp::Source &source : op.getSources()) {
    std::optional<HotRead> read = getHotRead(source.cache), scored = getHotRead(last.getCache());
    if (!source.rows || !read)
      continue;
    if (!scored || scored->hotSet != read->hotSet || scored->plan != read->plan)
      return note(op.emitOpError() << "goes on with scores of another hot set or plan", last,
                  "the scores");
    auto list = getList(last.getRecords());
    if (list && list->second != ListKind::Slots && !last.getInto())
      return note(op.emitOpError() << "goes on with the scores of a part of its records", last,
                  "the scores");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static LogicalResult verifyAppend(AppendOp op) {
  bool isStage = op.getCache().getDefiningOp<tier::StageOp>() != nullptr;
  if (isStage == op.getInOrder())
    return success();
  return op.emitOpError() << "expected records in order in a stage and nowhere else";
}

/// A stage's record numbers are tokens; nothing but its append may take it for a cache.
static LogicalResult verifyStage(tier::StageOp op) {
  for (Operation *user : op.getStage().getUsers())
    if (!isa<AppendOp, tier::GatherOp>(user))
      return note(user->emitOpError() << "reads a stage; expected an append in order or a gather",
                  op, "the stage");
  return success();
}

LogicalResult strata::verifyPlaced(func::FuncOp step) {
  auto result = step.walk([&](Operation *op) -> WalkResult {
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<tier::ResolveOp, tier::SpeculateOp, tier::GatherOp, tier::WriteBackOp>(
            [](auto placed) { return verifyRecordNumbers(placed); })
        .Case([](tier::StageOp stage) { return verifyStage(stage); })
        .Case([](AppendOp append) { return verifyAppend(append); })
        .Case([](AttentionOp attention) { return verifyAttention(attention); })
        .Case([](AttentionScoresOp scores) -> LogicalResult {
          if (failed(verifyHotSource(scores, scores.getCache(), SelectorKind::Records,
                                     scores.getRecords())))
            return failure();
          return scores.getInto() ? verifyParts(scores, scores.getInto(), scores.getCache(),
                                                scores.getRecords(), /*isSum=*/false)
                                  : success();
        })
        .Case([](PartialAttentionOp part) {
          return verifyHotSource(part, part.getCache(), SelectorKind::Records, part.getRecords());
        })
        .Default([](Operation *) { return success(); });
  });
  return failure(result.wasInterrupted());
}
