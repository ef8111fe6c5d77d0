//===- LayerCuts.cpp - What crosses a cut between two layers --------------===//
#include "strata/lib/Analysis/LayerCuts.h"

using namespace mlir;
using namespace strata;

/// Bytes of a value for each token of a step.
static int64_t getBytesPerToken(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  for (int64_t size : type.getShape().drop_front())
    bytes *= ShapedType::isDynamic(size) ? 1 : size;
  return bytes;
}

static int64_t getBytesPerToken(ArrayRef<Value> values) {
  int64_t bytes = 0;
  for (Value value : values)
    bytes += getBytesPerToken(value);
  return bytes;
}

int64_t LayerCut::getActivationBytesPerToken() const { return getBytesPerToken(activations); }
int64_t LayerCut::getRowBytesPerToken() const { return getBytesPerToken(rows); }

/// Tensors with a row for each token, unless they follow from the batch alone.
static bool isSent(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > 1 && type.isDynamicDim(0) && type.getElementType().isIntOrFloat();
}

namespace {

/// The ops, by number, from the definition of a value to its last use.
struct LiveRange {
  Value value;
  unsigned first, last;
};

} // namespace

static SmallVector<LiveRange> findRanges(Block &block,
                                         const DenseMap<Operation *, unsigned> &numbers) {
  SmallVector<LiveRange> ranges;
  for (Operation &op : block)
    for (Value value : op.getResults()) {
      if (!isSent(value) && !isa<CacheType>(value.getType()))
        continue;
      unsigned last = numbers.at(&op);
      for (Operation *user : value.getUsers()) {
        user = block.findAncestorOpInBlock(*user);
        // Each stage returns its own results.
        if (user && user != block.getTerminator())
          last = std::max(last, numbers.at(user));
      }
      ranges.push_back({value, numbers.at(&op), last});
    }
  return ranges;
}

SmallVector<LayerCut> strata::findLayerCuts(func::FuncOp function, const AttentionLayers &layers) {
  SmallVector<LayerCut> cuts;
  if (function.isExternal())
    return cuts;
  Block &block = function.getBody().front();
  DenseMap<Operation *, unsigned> numbers;
  SmallVector<Operation *> ops;
  for (Operation &op : block) {
    numbers[&op] = ops.size();
    ops.push_back(&op);
  }
  DenseSet<Value> allRows;
  for (unsigned layer : layers.getSparseLayers()) {
    AttentionOp attention = layers[layer].op;
    allRows.insert_range(attention.getRows());
  }

  // Before op i crosses what is defined before it and used by it or later. Sums of differences give
  // the bytes of all places in one pass. A cache that would be divided weighs more than all else.
  constexpr int64_t kCacheWeight = int64_t(1) << 40;
  SmallVector<LiveRange> ranges = findRanges(block, numbers);
  SmallVector<int64_t> bytes(ops.size() + 1, 0);
  for (const LiveRange &range : ranges) {
    int64_t weight =
        isa<CacheType>(range.value.getType()) ? kCacheWeight : getBytesPerToken(range.value);
    bytes[range.first + 1] += weight;
    bytes[range.last + 1] -= weight;
  }
  for (unsigned i = 1; i < bytes.size(); ++i)
    bytes[i] += bytes[i - 1];

  for (const AttentionLayer &layer : layers.getLayers()) {
    Operation *here = block.findAncestorOpInBlock(*layer.op);
    if (layer.number == 0 || !here)
      continue;
    Operation *before = block.findAncestorOpInBlock(*layers[layer.number - 1].op);
    if (!before || !before->isBeforeInBlock(here))
      continue;
    // The last of the cheapest places: the feed-forward part belongs to the layer below.
    unsigned place = numbers.at(here);
    for (unsigned i = place; i > numbers.at(before); --i)
      if (bytes[i] < bytes[place])
        place = i;
    LayerCut cut;
    cut.layer = layer.number;
    cut.first = ops[place];
    cuts.push_back(std::move(cut));
  }

  for (const LiveRange &range : ranges) {
    // Few values live through a cut, so this is not layers × ops but about the sum of both.
    auto cut = llvm::partition_point(
        cuts, [&](const LayerCut &other) { return numbers.at(other.first) <= range.first; });
    for (; cut != cuts.end() && numbers.at(cut->first) <= range.last; ++cut) {
      if (isa<CacheType>(range.value.getType()))
        cut->caches.push_back(range.value);
      else if (allRows.contains(range.value))
        cut->rows.push_back(range.value);
      else
        cut->activations.push_back(range.value);
    }
  }
  return cuts;
}

SmallVector<unsigned> strata::proposeStages(ArrayRef<LayerCut> cuts, unsigned layers,
                                            unsigned stages) {
  SmallVector<unsigned> starts;
  unsigned previous = 0;
  for (unsigned stage = 1; stage < stages; ++stage) {
    unsigned even = (2 * layers * stage + stages) / (2 * stages); // rounded, half up
    std::optional<unsigned> best;
    auto distance = [&](unsigned layer) { return layer > even ? layer - even : even - layer; };
    for (const LayerCut &cut : cuts)
      if (cut.isSafe() && cut.layer > previous && (!best || distance(cut.layer) < distance(*best)))
        best = cut.layer;
    previous = best.value_or(std::max(even, previous + 1));
    if (previous >= layers)
      break; // there are more stages than layers
    starts.push_back(previous);
  }
  return starts;
}
