//===- Weights.cpp - The weights of a module, widened row by row ----------===//
#include "strata/lib/Reference/Weights.h"

#include <algorithm>

using namespace mlir;

namespace strata::reference {

void WeightView::forRows(int64_t member, int64_t begin, int64_t end,
                         llvm::function_ref<void(int64_t, const float *)> body) const {
  if (values_) {
    for (int64_t row = begin; row < end; ++row)
      body(row, values_ + (member * rows_ + row) * columns_);
    return;
  }
  constexpr int64_t kBlockBytes = 1 << 18; // stays in the second-level cache
  int64_t block = std::max<int64_t>(1, kBlockBytes / (4 * columns_));
  std::vector<float> values(std::min(block, std::max<int64_t>(end - begin, 0)) * columns_);
  for (int64_t first = begin; first < end; first += block) {
    int64_t count = std::min(block, end - first);
    weight_->readRows(member, first, count, values.data());
    for (int64_t row = 0; row < count; ++row)
      body(first + row, values.data() + row * columns_);
  }
}

static Expected<ElementType> storedType(WeightOp weight) {
  Type type = weight.getStored();
  if (type.isF32())
    return ElementType::F32;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF16())
    return ElementType::F16;
  if (isa<Float8E4M3FNType>(type))
    return ElementType::F8E4M3;
  return Status(StatusCode::Unsupported,
                "weight " + weight.getName().str() + ": expected f32, bf16, f16 or f8E4M3FN");
}

static Expected<WeightDescription> describe(WeightOp weight) {
  Expected<ElementType> stored = storedType(weight);
  if (!stored.ok())
    return stored.status();
  WeightDescription description;
  description.name = weight.getName().str();
  description.shape.assign(weight.getType().getShape().begin(), weight.getType().getShape().end());
  description.stored = *stored;
  if (std::optional<PartAttr> part = weight.getPart()) {
    description.partGroups = part->getGroups();
    description.partStride = part->getStride();
    description.partOffset = part->getOffset();
  }
  if (std::optional<BlockScalesAttr> scales = weight.getScales()) {
    description.scaleName = scales->getName().str();
    description.blockRows = scales->getRows();
    description.blockColumns = scales->getColumns();
  }
  return description;
}

Expected<WeightStore> WeightStore::bind(ArrayRef<WeightOp> weights, const Checkpoint *checkpoint,
                                        uint64_t budget) {
  WeightStore store;
  store.budget_ = budget;
  if (weights.empty())
    return store;
  if (!checkpoint)
    return Status(StatusCode::NotFound, "the module names " + std::to_string(weights.size()) +
                                            " weights but there is no checkpoint");
  std::vector<WeightDescription> descriptions;
  for (WeightOp weight : weights) {
    Expected<WeightDescription> description = describe(weight);
    if (!description.ok())
      return description.status();
    descriptions.push_back(*description);
  }
  Expected<std::vector<BoundWeight>> bound = bindWeights(descriptions, *checkpoint);
  if (!bound.ok())
    return bound.status();
  for (auto [weight, binding] : llvm::zip_equal(weights, *bound)) {
    store.indices_[weight] = store.entries_.size();
    store.entries_.push_back({std::move(binding), {}});
  }
  return store;
}

/// The address of all elements, if they lie in the checkpoint one after the other as aligned f32.
static const float *findInPlace(const BoundWeight &weight) {
  if (weight.description().stored != ElementType::F32 || weight.scaled() || weight.members() != 1)
    return nullptr;
  const std::byte *first = weight.row(0, 0);
  return reinterpret_cast<uintptr_t>(first) % alignof(float) == 0
             ? reinterpret_cast<const float *>(first)
             : nullptr;
}

WeightView WeightStore::view(WeightOp weight) {
  Entry &entry = entries_[indices_.lookup(weight)];
  const BoundWeight &bound = entry.bound;
  auto over = [&](const float *values) {
    return WeightView(values, bound.members(), bound.rows(), bound.columns());
  };
  if (!entry.widened.empty())
    return over(entry.widened.data());
  if (const float *values = findInPlace(bound))
    return over(values);
  uint64_t elements = uint64_t(bound.members()) * bound.rows() * bound.columns();
  if (widenedBytes_ + 4 * elements > budget_)
    return WeightView(bound);
  entry.widened.resize(elements);
  bound.readAll(entry.widened.data());
  widenedBytes_ += 4 * elements;
  return over(entry.widened.data());
}

} // namespace strata::reference
