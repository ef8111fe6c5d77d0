//===- StepModel.cpp - What a step keeps, and who reads it ----------------===//
#include "strata/passes/Place/StepModel.h"

#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/dialects/Strata/StoredBytes.h"

#include "llvm/ADT/MapVector.h"

#include <map>
#include <set>

using namespace mlir;
using namespace strata;

int64_t strata::getLayer(Operation *op) {
  auto layer = op->getAttrOfType<IntegerAttr>(kLayerAttr);
  return layer ? layer.getInt() : -1;
}

/// Only one attention, which reads rows of the cache and nothing else at all: then its kernel can
/// work on slots instead of records.
static bool isReadByRows(const StepCache &cache) {
  if (cache.readers.size() != 1)
    return false;
  auto attention = dyn_cast<AttentionOp>(cache.readers.front());
  if (!attention || attention.getCaches().size() != 1)
    return false;
  AttentionOp::Source source = attention.getSources().front();
  return source.selector.getKind() == SelectorKind::Rows;
}

static CacheAccess getAccess(const StepCache &cache, bool isReadBefore) {
  if (!cache.append)
    return CacheAccess::Fixed;
  // The step's own records are read through the stage, so nothing may look before they are there.
  if (isReadBefore)
    return CacheAccess::Pages;
  if (isReadByRows(cache))
    return CacheAccess::Rows;
  if (cache.readers.size() == 1 && isa<SelectOp>(cache.readers.front()))
    return CacheAccess::Stream;
  return CacheAccess::Pages;
}

static StepCache describeCache(func::FuncOp step, unsigned number) {
  Block &block = step.getBody().front();
  BlockArgument argument = step.getArgument(number);
  StepCache cache{number, cast<CacheType>(argument.getType())};
  auto name = step.getArgAttrOfType<StringAttr>(number, kCacheNameAttr);
  cache.name = name ? name.getValue().str() : "cache " + std::to_string(number - 1);
  bool isReadBefore = false;
  SmallVector<Value> values{argument};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<func::ReturnOp>(user))
        continue;
      if (isa<YieldOp>(user)) {
        values.push_back(user->getParentOp()->getResult(use.getOperandNumber()));
        continue;
      }
      if (auto append = dyn_cast<AppendOp>(user)) {
        cache.append = append;
        values.push_back(append.getResult());
      } else {
        if (!llvm::is_contained(cache.readers, user))
          cache.readers.push_back(user);
        isReadBefore |= value == argument;
      }
      Operation *place = block.findAncestorOpInBlock(*user);
      if (!cache.first || place->isBeforeInBlock(cache.first))
        cache.first = place;
      if (!cache.last || cache.last->isBeforeInBlock(place))
        cache.last = place;
    }
  }
  cache.access = getAccess(cache, isReadBefore);
  return cache;
}

/// Whether an operand is a weight of a product, which reads all of it. All others are arguments of
/// generated kernels: small, or a table of which a step reads some rows.
static bool isOfProduct(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned operand = use.getOperandNumber();
  if (isa<LinearOp, HeadLinearOp, LogitsOp, RouteOp>(op))
    return operand == 1;
  if (isa<GatedLinearOp>(op))
    return operand >= 1;
  return isa<ExpertOutputsOp>(op) && operand >= 2;
}

static std::string getWeightName(WeightOp weight) {
  std::string name = weight.getName().str();
  if (PartAttr part = weight.getPartAttr())
    name += " rows " + std::to_string(part.getOffset()) + "-" +
            std::to_string(part.getOffset() + weight.getValue().getType().getDimSize(1) - 1) +
            " of " + std::to_string(part.getStride());
  return name;
}

static void addWeights(func::FuncOp step, std::vector<StepWeight> &weights) {
  Block &block = step.getBody().front();
  SmallVector<WeightOp> ops;
  step.walk([&](WeightOp op) { ops.push_back(op); });
  std::set<std::string> names;
  for (WeightOp op : ops) {
    // An op may be read in both ways; then the runtime binds it twice.
    StepWeight stored{op}, other{op};
    stored.isStored = true;
    for (OpOperand &use : op.getValue().getUses()) {
      StepWeight &weight = isOfProduct(use) ? stored : other;
      weight.uses.push_back(&use);
      Operation *command = block.findAncestorOpInBlock(*use.getOwner());
      if (!llvm::is_contained(weight.commands, command))
        weight.commands.push_back(command);
    }
    for (StepWeight *weight : {&stored, &other}) {
      if (weight->uses.empty())
        continue;
      llvm::sort(weight->commands,
                 [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
      // Look-ups read a table of bf16 as it is.
      bool isTable = op.getStored().isBF16() && llvm::all_of(weight->uses, [](OpOperand *use) {
                       return isa<EmbeddingOp>(use->getOwner());
                     });
      bool isWidened = !weight->isStored && !isTable;
      std::string name = getWeightName(op) + (isWidened ? " (f32)" : "");
      weight->name = name;
      for (int copy = 2; !names.insert(weight->name).second; ++copy)
        weight->name = name + " #" + std::to_string(copy);
      double bytes =
          isWidened ? 4.0 * double(op.getValue().getType().getNumElements()) : op.getStoredBytes();
      weight->bytes = uint64_t(bytes);
      weights.push_back(std::move(*weight));
    }
  }
}

/// "layer 3", "layers 2-5", "layers 2, 7" from ascending numbers.
static std::string describeLayers(ArrayRef<int64_t> layers) {
  std::string text = layers.size() == 1 ? "layer " : "layers ";
  if (layers.size() > 1 && layers.back() - layers.front() == int64_t(layers.size()) - 1)
    return text + std::to_string(layers.front()) + "-" + std::to_string(layers.back());
  for (size_t i = 0; i < layers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(layers[i]);
  return text;
}

static void addGroups(ArrayRef<StepCache> caches, std::vector<StepGroup> &groups) {
  llvm::MapVector<Value, SmallVector<unsigned>> byRows;
  for (auto [number, cache] : llvm::enumerate(caches))
    if (cache.access == CacheAccess::Rows)
      byRows[cast<AttentionOp>(cache.readers.front()).getRows().front()].push_back(number);
  std::map<std::string, int> names;
  for (auto &[rows, members] : byRows) {
    llvm::sort(members, [&](unsigned a, unsigned b) {
      return caches[a].last->isBeforeInBlock(caches[b].last);
    });
    SmallVector<int64_t> layers;
    for (auto [place, member] : llvm::enumerate(members)) {
      int64_t layer = getLayer(caches[member].readers.front());
      layers.push_back(layer < 0 ? int64_t(member) : layer);
    }
    StepGroup group{describeLayers(layers), rows, cast<ShapedType>(rows.getType()).getDimSize(1),
                    members};
    if (int copy = ++names[group.name]; copy > 1)
      group.name += " #" + std::to_string(copy);
    groups.push_back(std::move(group));
  }
  llvm::sort(groups, [&](const StepGroup &a, const StepGroup &b) {
    return caches[a.caches.front()].last->isBeforeInBlock(caches[b.caches.front()].last);
  });
}

StepModel::StepModel(func::FuncOp step) : step(step) {
  for (BlockArgument argument : step.getArguments())
    if (isa<CacheType>(argument.getType()))
      caches.push_back(describeCache(step, argument.getArgNumber()));
  addWeights(step, weights);
  addGroups(caches, groups);
}
