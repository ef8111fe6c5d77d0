//===- Ops.cpp - Verifiers of the tier dialect ----------------------------===//
#include "strata/dialects/Tier/IR.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace strata;
using namespace strata::tier;

static LogicalResult verifyPageSpace(Operation *op, TableType table, PlanType plan,
                                     StringRef constraint) {
  if (table.getSlots() == plan.getSlots() && table.getPages() == plan.getPages())
    return success();
  return op->emitOpError() << "(" << constraint << ") expected a plan of " << table << " but got "
                           << plan;
}

LogicalResult ResolveOp::verify() {
  TableType table = getTable().getType();
  if (failed(verifyPageSpace(*this, table, getPlan().getType(), "resolve_c1")))
    return failure();
  int64_t columns = cast<ShapedType>(getRecords().getType()).getDimSize(1), k = int64_t(getK());
  if (columns != k || k < 1 || k > table.getSlots())
    return emitOpError() << "(resolve_c2) expected k columns of records and 1 to "
                         << table.getSlots() << " of them but got k = " << k << " and "
                         << getRecords().getType();
  return success();
}

LogicalResult SpeculateOp::verify() {
  if (failed(verifyPageSpace(*this, getTable().getType(), getPlan().getType(), "speculate_c1")))
    return failure();
  if (int64_t(getLimit()) < 1)
    return emitOpError() << "(speculate_c2) expected a positive limit but got "
                         << int64_t(getLimit());
  return success();
}

/// A plan to read by has slots; where the resolve is known, as many as it has records.
static LogicalResult verifyPlanRecords(Operation *op, Value plan, Type type, StringRef constraint) {
  if (auto speculate = plan.getDefiningOp<SpeculateOp>()) {
    InFlightDiagnostic error = op->emitOpError()
                               << "(" << constraint << ") expected a plan that was resolved";
    error.attachNote(speculate.getLoc()) << "but got this one's";
    return error;
  }
  auto resolve = plan.getDefiningOp<ResolveOp>();
  if (resolve && resolve.getRecords().getType() != type)
    return op->emitOpError() << "(" << constraint << ") expected " << resolve.getRecords().getType()
                             << " but got " << type;
  return success();
}

LogicalResult SlotsOp::verify() {
  return verifyPlanRecords(*this, getPlan(), getSlots().getType(), "slots_c1");
}

LogicalResult SplitOp::verify() {
  if (failed(verifyPlanRecords(*this, getPlan(), getHits().getType(), "split_c1")))
    return failure();
  return verifyPlanRecords(*this, getPlan(), getMisses().getType(), "split_c1");
}

static LogicalResult verifySameSlots(Operation *op, HotSetType hotSet, PlanType plan,
                                     StringRef constraint) {
  if (hotSet.getSlots() == plan.getSlots())
    return success();
  return op->emitOpError() << "(" << constraint << ") expected a plan of " << hotSet.getSlots()
                           << " slots but got " << plan;
}

static LogicalResult verifyType(Operation *op, Type expected, Type got, StringRef constraint) {
  if (expected == got)
    return success();
  return op->emitOpError() << "(" << constraint << ") expected " << expected << " but got " << got;
}

LogicalResult GatherOp::verify() {
  AtType home = getHome().getType();
  HotSetType hotSet = getHotSet().getType();
  if (home.getSpace() != hotSet.getSpace() || home.getValue() != hotSet.getValue())
    return emitOpError() << "(gather_c1) expected the home of " << hotSet << " but got " << home;
  if (getStage() && failed(verifyType(*this, home.getValue(), getStage().getType(), "gather_c1")))
    return failure();
  if (failed(verifySameSlots(*this, hotSet, getPlan().getType(), "gather_c2")))
    return failure();
  if (home.getRowStride() != hotSet.getRowStride() || home.getAlign() != hotSet.getAlign())
    return emitOpError() << "(gather_c3) expected rows of one stride and alignment but got "
                         << home.getRowStride() << " bytes at multiples of " << home.getAlign()
                         << " at home and " << hotSet.getRowStride() << " at multiples of "
                         << hotSet.getAlign() << " in the hot set";
  return verifyType(*this, PendingType::get(getContext(), hotSet), getPending().getType(),
                    "gather_c4");
}

LogicalResult WaitOp::verify() {
  return verifyType(*this, getPending().getType().getValue(), getResult().getType(), "wait_c1");
}

LogicalResult ViewOp::verify() {
  if (failed(verifyType(*this, getHotSet().getType().getValue(), getResult().getType(), "view_c1")))
    return failure();
  return verifySameSlots(*this, getHotSet().getType(), getPlan().getType(), "view_c2");
}

LogicalResult PresentOp::verify() {
  if (failed(
          verifyType(*this, getHotSet().getType().getValue(), getResult().getType(), "present_c1")))
    return failure();
  return verifySameSlots(*this, getHotSet().getType(), getPlan().getType(), "present_c2");
}

LogicalResult HomeOp::verify() {
  return verifyType(*this, getValue().getType(), getHome().getType().getValue(), "home_c1");
}

LogicalResult StageOp::verify() {
  Type value = getHome().getType().getValue();
  if (!isa<RowStoreTypeInterface>(value))
    return emitOpError() << "(stage_c1) expected the home of a row store but got "
                         << getHome().getType();
  return verifyType(*this, value, getStage().getType(), "stage_c1");
}

LogicalResult WriteBackOp::verify() {
  if (failed(verifyType(*this, getHome().getType().getValue(), getSource().getType(),
                        "write_back_c1")))
    return failure();
  return verifyType(*this, PendingType::get(getContext(), getHome().getType()),
                    getPending().getType(), "write_back_c2");
}

LogicalResult ReloadOp::verify() {
  Type value = getHome().getType().getValue();
  if (failed(verifyType(*this, PendingType::get(getContext(), value), getPending().getType(),
                        "reload_c1")))
    return failure();
  auto store = dyn_cast<RowStoreTypeInterface>(value);
  if (!store)
    return success();
  uint64_t page =
      llvm::SaturatingMultiply<uint64_t>(getHome().getType().getRowStride(), store.getPageRows());
  if (page > uint64_t(getSlot().getType().getBytes()))
    return emitOpError() << "(reload_c2) expected a slot of at least a page, " << page
                         << " bytes, but got " << getSlot().getType();
  return success();
}

LogicalResult StreamOp::verify() {
  Type value = getHome().getType().getValue();
  if (!isa<RowStoreTypeInterface>(value))
    return emitOpError() << "(stream_c1) expected the home of a row store but got "
                         << getHome().getType();
  if (failed(verifyType(*this, value, getResult().getType(), "stream_c1")))
    return failure();
  int64_t rows = int64_t(getRows());
  if (rows < 1)
    return emitOpError() << "(stream_c2) expected blocks of at least 1 row but got " << rows;
  uint64_t bytes = llvm::SaturatingMultiply<uint64_t>(rows, getHome().getType().getRowStride());
  for (Value buffer : {getFirst(), getSecond()})
    if (uint64_t(cast<SlotType>(buffer.getType()).getBytes()) < bytes)
      return emitOpError() << "(stream_c2) expected buffers for blocks of " << rows << " rows, "
                           << bytes << " bytes, but got " << buffer.getType();
  return success();
}

LogicalResult OffloadOp::verify() {
  if (failed(verifyType(*this, getHome().getType().getValue(), getValue().getType(), "offload_c1")))
    return failure();
  return verifyType(*this, PendingType::get(getContext(), getHome().getType()),
                    getPending().getType(), "offload_c2");
}
