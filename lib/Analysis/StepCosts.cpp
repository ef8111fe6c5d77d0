//===- StepCosts.cpp - What a step costs, by layer and by kind ------------===//
#include "strata/lib/Analysis/StepCosts.h"

#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/dialects/Strata/StoredBytes.h"
#include "strata/lib/Analysis/LayerCuts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <map>

using namespace mlir;
using namespace strata;

/// The numbers of KindCosts, for what is done to each of them.
static constexpr double KindCosts::*kNumbers[] = {
    &KindCosts::linearFlops,      &KindCosts::scanFlops,         &KindCosts::attentionFlops,
    &KindCosts::elementwiseFlops, &KindCosts::weightBytes,       &KindCosts::latentBytes,
    &KindCosts::indexKeyBytes,    &KindCosts::cacheBytesWritten, &KindCosts::scoreRowBytes};

KindCosts &KindCosts::operator+=(const KindCosts &other) {
  for (double KindCosts::*number : kNumbers)
    this->*number += other.*number;
  return *this;
}

KindCosts KindCosts::dividedBy(double divisor) const {
  KindCosts result = *this;
  for (double KindCosts::*number : kNumbers)
    result.*number /= divisor;
  return result;
}

KindCosts StepCosts::getTotal() const {
  KindCosts total = outside;
  for (const LayerCosts &layer : layers)
    total += layer.costs;
  return total;
}

StringRef strata::getRoleName(LayerRole role) {
  switch (role) {
  case LayerRole::Leader:
    return "leader";
  case LayerRole::Follower:
    return "follower";
  case LayerRole::Full:
    return "full";
  case LayerRole::Other:
    return "other";
  }
  llvm_unreachable("a role without a name");
}

static KindCosts getCosts(Operation *op, const StepSizes &sizes) {
  KindCosts costs;
  if (isa<arith::AddFOp, arith::MulFOp>(op)) {
    if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType())) {
      costs.elementwiseFlops = sizes.tokens;
      for (int64_t size : type.getShape().drop_front())
        costs.elementwiseFlops *= double(size);
    }
    return costs;
  }
  auto counted = dyn_cast<CostOpInterface>(op);
  if (!counted)
    return costs;
  Cost cost = counted.getCost(sizes);
  costs.elementwiseFlops = cost.elementwiseFlops;
  costs.weightBytes = cost.weightBytes;
  costs.cacheBytesWritten = cost.cacheBytesWritten;
  switch (counted.getCostKind()) {
  case CostKind::Linear:
    costs.linearFlops = cost.flops;
    break;
  case CostKind::Scan:
    costs.scanFlops = cost.flops;
    costs.indexKeyBytes = cost.cacheBytesRead;
    break;
  case CostKind::Attention:
    costs.attentionFlops = cost.flops;
    costs.latentBytes = cost.cacheBytesRead;
    break;
  }
  if (isa<SelectOp, TopKOp>(op))
    costs.scoreRowBytes = 2 * sizeof(float) * sizes.tokens * sizes.visible;
  return costs;
}

namespace {

/// Which layer an op belongs to; none outside all layers.
class LayerNumbers {
public:
  explicit LayerNumbers(func::FuncOp step, const AttentionLayers &attentions) {
    step.walk([&](Operation *op) { hasNumbers |= op->hasAttrOfType<IntegerAttr>(kLayerAttr); });
    if (!hasNumbers && !attentions.getLayers().empty())
      followCuts(step, attentions);
  }

  std::optional<int64_t> get(Operation *op) const {
    if (hasNumbers) {
      auto given = op->getAttrOfType<IntegerAttr>(kLayerAttr);
      return given ? std::optional<int64_t>(given.getInt()) : std::nullopt;
    }
    auto place = places.find(op);
    return place == places.end() ? std::nullopt : std::optional<int64_t>(place->second);
  }

private:
  void followCuts(func::FuncOp step, const AttentionLayers &attentions) {
    SmallVector<LayerCut> cuts = findLayerCuts(step, attentions);
    int64_t layer = 0;
    size_t next = 0;
    for (Operation &op : step.getBody().front()) {
      for (; next < cuts.size() && cuts[next].first == &op; ++next)
        layer = cuts[next].layer;
      if (!isa<EmbeddingOp, LogitsOp>(op))
        op.walk([&](Operation *nested) { places[nested] = layer; });
    }
  }

  bool hasNumbers = false;
  DenseMap<Operation *, int64_t> places;
};

} // namespace

/// Roles and groups of the layers with attention, which are in `layers` already.
static void assignRoles(const AttentionLayers &attentions, const LayerNumbers &numbers,
                        std::map<int64_t, LayerCosts> &layers) {
  DenseMap<Value, int64_t> groups, leaders;
  for (const AttentionLayer &attention : attentions.getLayers()) {
    std::optional<int64_t> number = numbers.get(attention.op);
    if (!number)
      continue;
    LayerCosts &layer = layers[*number];
    if (!attention.rows) {
      layer.role = LayerRole::Full;
      continue;
    }
    bool isFirst = groups.try_emplace(attention.rows, groups.size()).second;
    leaders.try_emplace(attention.rows, *number);
    bool isComputed = attention.rows.getDefiningOp() != nullptr;
    layer.role = isFirst && isComputed ? LayerRole::Leader : LayerRole::Follower;
    layer.group = groups[attention.rows];
    if (isComputed)
      layer.leader = leaders[attention.rows];
  }
}

StepCosts strata::computeStepCosts(func::FuncOp step, const StepSizes &sizes) {
  StepCosts result;
  AttentionLayers attentions(step);
  LayerNumbers numbers(step, attentions);
  std::map<int64_t, LayerCosts> layers;
  step.walk([&](Operation *op) {
    if (isa<KernelOp>(op))
      return; // its ops are counted themselves, each by its kind
    std::optional<int64_t> number = numbers.get(op);
    (number ? layers[*number].costs : result.outside) += getCosts(op, sizes);
    result.indexers += isa<SelectOp, TopKOp>(op);
  });
  assignRoles(attentions, numbers, layers);
  for (auto &[number, layer] : layers) {
    layer.number = number;
    result.layers.push_back(std::move(layer));
  }
  result.attentions = int64_t(attentions.getLayers().size());
  for (Type type : step.getArgumentTypes())
    if (auto cache = dyn_cast<CacheType>(type))
      result.cacheBytesPerToken += getRecordBytes(cache, sizes.caches);
  return result;
}
