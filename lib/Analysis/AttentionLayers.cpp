//===- AttentionLayers.cpp - Attention layers and their order -------------===//
#include "strata/lib/Analysis/AttentionLayers.h"

#include "strata/dialects/Strata/ModelAttributes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace strata;

namespace {

/// Layers whose outputs reach a value, less those that reach it only through another of the set.
/// Along one residual stream that is a single layer, so sets stay small whatever the model's depth.
using Frontier = SmallVector<unsigned, 1>;

} // namespace

static void addTo(Frontier &frontier, ArrayRef<unsigned> more, ArrayRef<AttentionLayer> layers) {
  for (unsigned layer : more) {
    if (llvm::any_of(frontier, [&](unsigned other) {
          return other == layer || layers[other].ancestors[layer];
        }))
      continue;
    llvm::erase_if(frontier, [&](unsigned other) { return layers[layer].ancestors[other]; });
    frontier.push_back(layer);
  }
}

AttentionLayers::AttentionLayers(func::FuncOp function) {
  // In SSA form program order is an order of dependence, so one walk sees operands before users.
  // Nested ops come before the op that holds them, whose results may depend on all of them.
  DenseMap<Value, Frontier> frontiers;
  DenseMap<Operation *, Frontier> nested;
  unsigned count = 0;
  function.walk([&](AttentionOp) { ++count; });
  layers.reserve(count);

  function.getBody().walk([&](Operation *op) {
    Frontier frontier = nested.lookup(op);
    for (Value operand : op->getOperands())
      if (auto known = frontiers.find(operand); known != frontiers.end())
        addTo(frontier, known->second, layers);
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      add(attention, std::move(frontier));
      frontier = {unsigned(layers.size() - 1)};
    }
    if (frontier.empty())
      return;
    for (Value result : op->getResults())
      frontiers[result] = frontier;
    if (Operation *parent = op->getParentOp(); parent != function)
      addTo(nested[parent], frontier, layers);
  });
}

void AttentionLayers::add(AttentionOp op, SmallVector<unsigned, 1> below) {
  AttentionLayer layer;
  layer.op = op;
  layer.number = layers.size();
  layer.below = std::move(below);
  llvm::sort(layer.below);
  layer.ancestors.resize(layers.capacity());
  for (unsigned lower : layer.below) {
    layer.ancestors |= layers[lower].ancestors;
    layer.ancestors.set(lower);
  }
  if (layer.below.empty()) {
    unsigned streams = 0;
    for (const AttentionLayer &other : layers)
      streams = std::max(streams, other.stream + 1);
    layer.stream = streams;
  } else {
    layer.stream = layers[layer.below.front()].stream;
  }
  if (!op.getRows().empty()) {
    layer.rows = op.getRows().front();
    layer.hasSeveralRows = op.getRows().size() > 1;
    layer.sparse = sparse.size();
    sparse.push_back(layer.number);
    auto owner = llvm::find_if(
        layers, [&](const AttentionLayer &other) { return other.rows == layer.rows; });
    layer.owner = owner == layers.end() ? layer.number : owner->number;
  }
  layers.push_back(std::move(layer));
}

SmallVector<unsigned> AttentionLayers::getGroup(const AttentionLayer &layer) const {
  SmallVector<unsigned> group;
  for (unsigned number : sparse)
    if (layers[number].rows == layer.rows)
      group.push_back(number);
  return group;
}

BlockArgument strata::findCacheArgument(Value cache) {
  while (auto append = cache.getDefiningOp<AppendOp>())
    cache = append.getCache();
  return dyn_cast<BlockArgument>(cache);
}

AppendOp strata::findAppend(Value cache) { return cache.getDefiningOp<AppendOp>(); }

std::string strata::describeSources(AttentionOp op) {
  std::string text;
  for (const AttentionOp::Source &source : op.getSources()) {
    if (!text.empty())
      text += " and ";
    switch (source.selector.getKind()) {
    case SelectorKind::All:
      text += "all";
      break;
    case SelectorKind::Window:
      text += "window " + std::to_string(source.selector.getCount());
      break;
    case SelectorKind::First:
      text += "first " + std::to_string(source.selector.getCount());
      break;
    case SelectorKind::Records:
    case SelectorKind::Rows:
      text += "rows " + std::to_string(cast<ShapedType>(source.rows.getType()).getDimSize(1));
      break;
    }
  }
  return text;
}

std::string strata::describeLayer(const AttentionLayer &layer) {
  std::string text = "layer " + std::to_string(layer.number);
  auto given = layer.op->getAttrOfType<IntegerAttr>(kLayerAttr);
  if (given && given.getInt() != int64_t(layer.number))
    text += " (layer " + std::to_string(given.getInt()) + " of the model)";
  return text;
}
