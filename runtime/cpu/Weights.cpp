//===- Weights.cpp - A package's weights, ready for its commands ----------===//
#include "strata/runtime/cpu/Weights.h"

#include "strata/lib/Support/Text.h"

#include <cstring>

namespace strata::rt {

static constexpr uint64_t kNotCopied = ~uint64_t(0);

static WeightDescription describe(const package::Weight &weight) {
  WeightDescription description;
  description.name = weight.name()->str();
  description.shape.assign(weight.shape()->begin(), weight.shape()->end());
  description.stored = static_cast<ElementType>(weight.stored());
  description.partGroups = weight.part_groups();
  description.partStride = weight.part_stride();
  description.partOffset = weight.part_offset();
  if (weight.scale_name())
    description.scaleName = weight.scale_name()->str();
  description.blockRows = weight.block_rows();
  description.blockColumns = weight.block_columns();
  return description;
}

/// Which weights does a kernel get?
static std::vector<bool> kernelWeights(const package::Manifest &manifest) {
  std::vector<bool> used(manifest.weights()->size());
  for (const package::CommandEntry *entry : *manifest.commands()) {
    const package::Launch *launch = entry->command_as_Launch();
    if (const package::HeadAttention *attention = entry->command_as_HeadAttention())
      launch = attention->attention();
    if (!launch)
      continue;
    for (const package::Argument *argument : *launch->arguments())
      if (argument->kind() == package::ArgumentKind::Weight)
        used[size_t(argument->index())] = true;
  }
  return used;
}

Expected<Weights> Weights::bind(const package::Manifest &manifest, const Checkpoint &checkpoint) {
  std::vector<WeightDescription> descriptions;
  Weights weights;
  for (const package::Weight *weight : *manifest.weights()) {
    descriptions.push_back(describe(*weight));
    weights.widen_.push_back(weight->widen());
  }
  Expected<std::vector<BoundWeight>> bound = bindWeights(descriptions, checkpoint);
  if (!bound.ok())
    return bound.status();
  weights.bound_ = std::move(*bound);

  std::vector<bool> forKernels = kernelWeights(manifest);
  weights.copyOffsets_.assign(weights.bound_.size(), kNotCopied);
  weights.data_.assign(weights.bound_.size(), nullptr);
  for (size_t i = 0; i < weights.bound_.size(); ++i) {
    const BoundWeight &weight = weights.bound_[i];
    if (!weights.widen_[i] && !forKernels[i])
      continue;
    size_t elementBytes =
        weights.widen_[i] ? sizeof(float) : elementSize(weight.description().stored);
    if (!weights.widen_[i]) {
      if (weight.members() != 1 || weight.scaled())
        return Status(StatusCode::Unsupported,
                      "weight " + printable(weight.description().name) + ": a kernel can't use " +
                          (weight.scaled() ? "scaled values" : "a stack") + " in place");
      const std::byte *data = weight.row(0, 0);
      if (reinterpret_cast<uintptr_t>(data) % elementBytes == 0) {
        weights.data_[i] = data;
        continue;
      }
    }
    uint64_t bytes = uint64_t(weight.members()) * uint64_t(weight.rows()) *
                     uint64_t(weight.columns()) * elementBytes;
    weights.copyOffsets_[i] = weights.copiedBytes_;
    std::optional<uint64_t> padded = alignUp(bytes);
    if (!padded || __builtin_add_overflow(weights.copiedBytes_, *padded, &weights.copiedBytes_))
      return Status(StatusCode::OutOfMemory, "widened weights have more than 2^64 bytes");
  }
  return weights;
}

Status Weights::copy() {
  Expected<Memory> memory = Memory::allocate(copiedBytes_, "widened weights");
  if (!memory.ok())
    return memory.status();
  copies_ = std::move(*memory);
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (copyOffsets_[i] == kNotCopied)
      continue;
    std::byte *target = copies_.data() + copyOffsets_[i];
    data_[i] = target;
    if (widen_[i])
      bound_[i].readAll(reinterpret_cast<float *>(target));
    else
      std::memcpy(target, bound_[i].row(0, 0), size_t(bound_[i].rows()) * bound_[i].rowBytes());
  }
  return Status::success();
}

} // namespace strata::rt
