//===- Bindings.cpp - Where the values of a lowered program lie -----------===//
#include "strata/lib/Target/Bindings.h"

#include "strata/dialects/Strata/ModelAttributes.h"

using namespace mlir;
using namespace strata;

int64_t strata::getWeightSlot(WeightOp weight) {
  auto slot = weight->getAttrOfType<IntegerAttr>(kWeightSlotAttr);
  return slot ? slot.getInt() : -1;
}

package::ElementType strata::getPackageType(Type type) {
  if (type.isBF16())
    return package::ElementType::BF16;
  if (type.isF16())
    return package::ElementType::F16;
  if (isa<Float8E4M3FNType>(type))
    return package::ElementType::F8E4M3;
  return type.isInteger(32) ? package::ElementType::I32 : package::ElementType::F32;
}

package::Size strata::getPackageSize(SizeAttr size) {
  return package::Size(size.getTokens(), size.getWanted(), size.getFixed());
}

/// Bytes of all rows of a buffer.
static package::Size getBytes(BufferOp buffer) {
  auto type = cast<MemRefType>(buffer.getBuffer().getType());
  int64_t rowBytes = type.getElementTypeBitWidth() / 8;
  for (int64_t size : type.getShape().drop_front())
    rowBytes *= size;
  SizeAttr rows = buffer.getRows();
  return package::Size(rows.getTokens() * rowBytes, rows.getWanted() * rowBytes,
                       rows.getFixed() * rowBytes);
}

FailureOr<Bindings> Bindings::create(func::FuncOp step) {
  Bindings bindings;
  for (BlockArgument argument : step.getArguments())
    if (isa<CacheType>(argument.getType()))
      bindings.caches.push_back(argument);

  auto buffers = llvm::to_vector(step.getOps<BufferOp>());
  for (BufferOp buffer : buffers) {
    std::optional<uint64_t> slot = buffer.getSlot();
    if (!slot)
      return buffer.emitOpError("expected a slot but got none; strata-plan-arena assigns them");
    // Slots are numbered without gaps, so a number beyond the buffers is no plan's.
    if (*slot >= buffers.size())
      return buffer.emitOpError() << "expected a slot below " << buffers.size()
                                  << ", the number of buffers, but got " << int64_t(*slot);
    if (*slot >= bindings.slots.size())
      bindings.slots.resize(*slot + 1, package::Size(0, 0, 0));
    package::Size &size = bindings.slots[*slot], bytes = getBytes(buffer);
    size = package::Size(std::max(size.tokens(), bytes.tokens()),
                         std::max(size.wanted(), bytes.wanted()),
                         std::max(size.fixed(), bytes.fixed()));
  }
  return bindings;
}

FailureOr<package::Argument> Bindings::getArgument(Operation *command, Value value) const {
  if (auto rows = value.getDefiningOp<NearRowsOp>())
    return package::Argument(rows.getKind() == NearKind::Stage ? package::ArgumentKind::Stage
                                                               : package::ArgumentKind::HotSet,
                             int32_t(rows.getIndex()), 0);
  if (isa<CacheType>(value.getType())) {
    FailureOr<int32_t> cache = getCache(command, value);
    if (failed(cache))
      return failure();
    return package::Argument(package::ArgumentKind::Cache, *cache, 0);
  }
  // A view counts from the first element of its source, itself a view perhaps.
  int64_t elements = 0;
  Value base = value;
  while (auto view = base.getDefiningOp<ViewOp>()) {
    elements += int64_t(view.getOffset());
    base = view.getSource();
  }
  if (auto array = base.getDefiningOp<StepArrayOp>())
    return package::Argument(package::ArgumentKind::Step, int32_t(array.getKind()),
                             elements * int64_t(sizeof(int32_t)));
  if (auto buffer = base.getDefiningOp<BufferOp>())
    return package::Argument(package::ArgumentKind::Slot, int32_t(*buffer.getSlot()),
                             elements *cast<MemRefType>(base.getType()).getElementTypeBitWidth() /
                                 8);
  InFlightDiagnostic error =
      command->emitOpError("expected buffers, views, step arrays, weights and caches");
  error.attachNote(base.getLoc()) << "but got this";
  return error;
}

FailureOr<package::View> Bindings::getView(Operation *command, Value value) const {
  FailureOr<package::Argument> base = getArgument(command, value);
  if (failed(base))
    return failure();
  auto type = cast<MemRefType>(value.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) ||
      llvm::any_of(strides, ShapedType::isDynamic) ||
      llvm::any_of(type.getShape().drop_front(), ShapedType::isDynamic) || strides.back() != 1)
    return command->emitOpError()
           << "expected features that lie side by side and static strides but got " << type;
  return package::View(*base, strides[0], type.getRank() == 3 ? strides[1] : 0);
}

FailureOr<int32_t> Bindings::getCache(Operation *command, Value value) const {
  const auto *found = llvm::find(caches, value);
  if (found == caches.end())
    return command->emitOpError("expected caches that are arguments of the entry point");
  return int32_t(found - caches.begin());
}

FailureOr<int32_t> Bindings::getWeight(Operation *command, Value value, bool widen) {
  auto weight = value.getDefiningOp<WeightOp>();
  if (!weight)
    return command->emitOpError("expected weights that strata.weight names");
  Builder builder(command->getContext());
  auto orUnit = [&](Attribute attribute) { return attribute ? attribute : builder.getUnitAttr(); };
  Attribute key = builder.getArrayAttr(
      {weight.getNameAttr(), weight.getStoredAttr(), orUnit(weight.getPartAttr()),
       orUnit(weight.getScalesAttr()), TypeAttr::get(weight.getValue().getType()),
       builder.getBoolAttr(widen), builder.getI64IntegerAttr(getWeightSlot(weight))});
  auto [entry, isNew] = weightNumbers.try_emplace(key, int32_t(weights.size()));
  if (isNew)
    weights.push_back({weight, widen});
  return entry->second;
}
