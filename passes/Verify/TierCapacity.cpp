//===- TierCapacity.cpp - What must fit into a tier -----------------------===//
#include "strata/passes/Verify/TierCapacity.h"

#include "strata/dialects/Tier/IR.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace strata;
using namespace strata::tier;

static bool isTransfer(Operation *op) {
  return isa<GatherOp, WriteBackOp, ReloadOp, StreamOp, OffloadOp>(op);
}

/// The product, or the greatest number: sizes in a module may be anything.
static int64_t multiply(int64_t a, int64_t b) {
  uint64_t product =
      llvm::SaturatingMultiply<uint64_t>(std::max<int64_t>(a, 0), std::max<int64_t>(b, 0));
  return int64_t(std::min<uint64_t>(product, std::numeric_limits<int64_t>::max()));
}

static int64_t addUp(int64_t a, int64_t b) {
  return int64_t(
      std::min<uint64_t>(uint64_t(a) + uint64_t(b), std::numeric_limits<int64_t>::max()));
}

static int64_t roundUp(int64_t count, int64_t unit) {
  return multiply(count / unit + (count % unit != 0), unit);
}

namespace {

/// Adds up the bytes of a function.
class Ledger {
public:
  Ledger(ModuleOp module, func::FuncOp function) : module(module), function(function) {}

  LogicalResult run();

private:
  LogicalResult readMachine();
  LogicalResult checkNames();
  void countArguments();
  void countOp(Operation *op);
  /// A step's size: an attribute of the module, or 0 if it has none.
  int64_t getSize(StringRef name) const;
  /// Bytes of a whole value: a row store for all positions of all sequences, a tensor by its type.
  int64_t getWholeBytes(Type value, int64_t stride) const;
  LogicalResult checkBlock(Block &block, int64_t before);
  /// `what` names a sum in messages.
  void add(StringRef what, int64_t bytes) {
    sums[what] = addUp(sums[what], bytes);
    always = addUp(always, bytes);
  }
  void addFar(AtType at, int64_t bytes) {
    int64_t &sum = far[at.getSpace().getValue()];
    sum = addUp(sum, bytes);
  }
  InFlightDiagnostic &list(InFlightDiagnostic &error) const;

  ModuleOp module;
  func::FuncOp function;
  llvm::StringMap<int64_t> capacity;
  StringRef near;
  llvm::MapVector<StringRef, int64_t> sums;
  int64_t always = 0; ///< near bytes that are in use throughout
  llvm::StringMap<int64_t> far;
};

} // namespace

int64_t Ledger::getSize(StringRef name) const {
  auto size = module->getAttrOfType<IntegerAttr>(name);
  return size ? size.getInt() : 0;
}

int64_t Ledger::getWholeBytes(Type value, int64_t stride) const {
  if (auto store = dyn_cast<RowStoreTypeInterface>(value))
    return multiply(
        multiply(roundUp(getSize("tier.context"), store.getPageRows()), getSize("tier.batch")),
        stride);
  auto tensor = cast<RankedTensorType>(value);
  if (!tensor.hasStaticShape() || tensor.getRank() == 0)
    return 0;
  return multiply(tensor.getDimSize(0), stride);
}

LogicalResult Ledger::readMachine() {
  auto sizes = module->getAttrOfType<DictionaryAttr>("tier.capacity");
  if (!sizes)
    return module.emitError() << "expected tier.capacity to be a dictionary of bytes by tier";
  for (NamedAttribute size : sizes) {
    auto bytes = dyn_cast<IntegerAttr>(size.getValue());
    if (!bytes || bytes.getInt() < 0)
      return module.emitError() << "expected bytes for tier " << size.getName() << " but got "
                                << size.getValue();
    capacity[size.getName()] = bytes.getInt();
  }
  // The attributes of a dictionary are sorted by name; only a list says what is near.
  auto tiers = module->getAttrOfType<ArrayAttr>("tier.tiers");
  if (!tiers || tiers.empty() || !llvm::all_of(tiers, llvm::IsaPred<StringAttr>))
    return module.emitError() << "expected tier.tiers to list the tiers, the near one first";
  for (Attribute tier : tiers)
    if (!capacity.contains(cast<StringAttr>(tier).getValue()))
      return module.emitError() << "expected tier.capacity to have the tier " << tier;
  near = cast<StringAttr>(tiers[0]).getValue();
  return success();
}

LogicalResult Ledger::checkNames() {
  auto checkSpace = [&](Type type) {
    StringRef space;
    if (auto at = dyn_cast<AtType>(type))
      space = at.getSpace().getValue();
    if (auto hotSet = dyn_cast<HotSetType>(type))
      space = hotSet.getSpace().getValue();
    if (space.empty() || (capacity.contains(space) && space != near))
      return success();
    return LogicalResult(function.emitError()
                         << "expected a far tier of tier.tiers but got " << type);
  };
  for (Type type : function.getArgumentTypes())
    if (failed(checkSpace(type)))
      return failure();
  llvm::StringMap<bool> engines;
  auto list = module->getAttrOfType<ArrayAttr>("tier.engines");
  for (Attribute attribute : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto engine = dyn_cast<DictionaryAttr>(attribute);
    auto name = engine ? engine.getAs<StringAttr>("name") : StringAttr();
    if (!name)
      return module.emitError() << "expected engines with a name but got " << attribute;
    engines[name] = true;
  }
  auto result = function.walk([&](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes())
      if (failed(checkSpace(type)))
        return WalkResult::interrupt();
    auto name = isTransfer(op) ? op->getAttrOfType<StringAttr>("engine") : StringAttr();
    if (list && name && !engines.contains(name))
      return op->emitOpError() << "expected an engine of tier.engines but got " << name;
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void Ledger::countArguments() {
  for (Type type : function.getArgumentTypes()) {
    if (auto hotSet = dyn_cast<HotSetType>(type))
      add("hot sets", multiply(hotSet.getSlots(), hotSet.getRowStride()));
    else if (auto slot = dyn_cast<SlotType>(type))
      add("slots", slot.getBytes());
    else if (auto store = dyn_cast<RowStoreTypeInterface>(type))
      add("whole row stores", getWholeBytes(type, store.getRowBytes()));
    else if (auto at = dyn_cast<AtType>(type))
      addFar(at, getWholeBytes(at.getValue(), at.getRowStride()));
  }
}

/// Room that is taken when the program is loaded, whether it is in use or not.
void Ledger::countOp(Operation *op) {
  if (auto slot = dyn_cast<SlotOp>(op)) {
    add("slots", slot.getSlot().getType().getBytes());
  } else if (auto stage = dyn_cast<StageOp>(op)) {
    AtType home = stage.getHome().getType();
    auto store = cast<RowStoreTypeInterface>(home.getValue());
    add("stages",
        multiply(roundUp(getSize("tier.tokens"), store.getPageRows()), home.getRowStride()));
  } else if (auto home = dyn_cast<HomeOp>(op)) {
    AtType at = home.getHome().getType();
    auto bytes = op->getAttrOfType<IntegerAttr>("tier.bytes");
    addFar(at, bytes ? bytes.getInt() : getWholeBytes(at.getValue(), at.getRowStride()));
  } else if (auto bytes = op->getAttrOfType<IntegerAttr>("tier.bytes")) {
    if (!isTransfer(op) && op->getNumOperands() == 0)
      add("resident values", std::max<int64_t>(bytes.getInt(), 0));
  }
}

InFlightDiagnostic &Ledger::list(InFlightDiagnostic &error) const {
  for (auto &[what, bytes] : sums)
    if (bytes)
      error << ", " << what << " " << bytes;
  return error;
}

/// The last op of a block that needs an op's results; where a transfer reads one, the op that waits
/// for it.
static Operation *getLastUse(Operation *op, Block &block) {
  Operation *last = op;
  SmallVector<Operation *> makers{op};
  while (!makers.empty())
    for (Operation *user : makers.pop_back_val()->getUsers()) {
      if (isa<OffloadOp, WriteBackOp>(user))
        makers.push_back(user);
      Operation *here = block.findAncestorOpInBlock(*user);
      if (!here) // used in another block of the region
        return &block.back();
      if (last->isBeforeInBlock(here))
        last = here;
    }
  return last;
}

LogicalResult Ledger::checkBlock(Block &block, int64_t before) {
  llvm::DenseMap<Operation *, int64_t> ends;
  int64_t live = before;
  for (Operation &op : block) {
    auto bytes = op.getAttrOfType<IntegerAttr>("tier.bytes");
    if (bytes && !isTransfer(&op) && !isa<HomeOp>(op) && op.getNumOperands()) {
      int64_t added = std::max<int64_t>(bytes.getInt(), 0);
      live = addUp(live, added);
      int64_t &end = ends[getLastUse(&op, block)];
      end = addUp(end, added);
    }
    if (live > capacity.lookup(near)) {
      InFlightDiagnostic error = op.emitOpError() << "expected at most " << capacity.lookup(near)
                                                  << " bytes in " << near << " here but got "
                                                  << live << ": live values " << live - always;
      return list(error);
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        if (failed(checkBlock(inner, live)))
          return failure();
    live -= ends.lookup(&op);
  }
  return success();
}

LogicalResult Ledger::run() {
  if (failed(readMachine()) || failed(checkNames()))
    return failure();
  countArguments();
  function.walk([&](Operation *op) {
    if (op != function)
      countOp(op);
  });
  if (auto workspace = function->getAttrOfType<IntegerAttr>("tier.workspace"))
    add("workspace", std::max<int64_t>(workspace.getInt(), 0));
  for (auto &tier : far)
    if (int64_t bytes = capacity.lookup(tier.first()); tier.second > bytes)
      return function.emitError() << "expected at most " << bytes << " bytes in " << tier.first()
                                  << " but got " << tier.second;
  if (always > capacity.lookup(near)) {
    InFlightDiagnostic error = function.emitError()
                               << "expected at most " << capacity.lookup(near) << " bytes in "
                               << near << " but got " << always;
    return list(error);
  }
  for (Block &block : function.getBody())
    if (failed(checkBlock(block, always)))
      return failure();
  return success();
}

LogicalResult strata::tier::checkCapacity(ModuleOp module, func::FuncOp function) {
  if (!module->hasAttr("tier.capacity"))
    return success();
  return Ledger(module, function).run();
}
