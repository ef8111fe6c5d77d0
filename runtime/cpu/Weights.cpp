//===- Weights.cpp - A package's weights, ready for its commands ----------===//
#include "strata/runtime/cpu/Weights.h"

#include "strata/lib/Support/Text.h"

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
    std::vector<const package::Launch *> launches{entry->command_as_Launch()};
    if (const package::HeadAttention *attention = entry->command_as_HeadAttention())
      launches = {attention->scores(), attention->attention()};
    else if (const package::PartialScores *partial = entry->command_as_PartialScores())
      launches = {partial->scores()};
    for (const package::Launch *launch : launches)
      if (launch)
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

  bool hasTiers = manifest.tiers() && manifest.tiers()->size() != 0;
  std::vector<bool> forKernels = kernelWeights(manifest);
  weights.copyOffsets_.assign(weights.bound_.size(), kNotCopied);
  weights.slots_.assign(weights.bound_.size(), -1);
  weights.data_.assign(weights.bound_.size(), nullptr);
  for (size_t i = 0; i < weights.bound_.size(); ++i) {
    const BoundWeight &weight = weights.bound_[i];
    bool widen = weights.widen_[i];
    if (!widen && forKernels[i] && (weight.members() != 1 || weight.scaled()))
      return Status(StatusCode::Unsupported,
                    "weight " + printable(weight.description().name) + ": a kernel can't use " +
                        (weight.scaled() ? "scaled values" : "a stack") + " in place");
    if (hasTiers) {
      weights.slots_[i] = manifest.weights()->Get(uint32_t(i))->slot();
      if (weights.slots_[i] >= 0) {
        uint64_t slotBytes = manifest.weight_slots()->Get(uint32_t(weights.slots_[i]));
        if (widen || weight.storedBytes() > slotBytes)
          return Status(StatusCode::Corrupt,
                        "weight " + printable(weight.description().name) + ": expected " +
                            (widen ? "no slot for a widened weight"
                                   : "a slot of at least " + std::to_string(weight.storedBytes()) +
                                         " bytes but got " + std::to_string(slotBytes)));
        continue;
      }
    } else if (!widen) {
      if (!forKernels[i])
        continue;
      const std::byte *data = weight.row(0, 0);
      if (reinterpret_cast<uintptr_t>(data) % elementSize(weight.description().stored) == 0) {
        weights.data_[i] = data;
        continue;
      }
    }
    uint64_t bytes = weight.storedBytes();
    if (widen)
      bytes = bytes / elementSize(weight.description().stored) * sizeof(float);
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
  place(copies_.data(), {});
  return Status::success();
}

void Weights::place(std::byte *copies, const std::vector<std::byte *> &slots) {
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (slots_[i] >= 0) {
      data_[i] = slots[size_t(slots_[i])];
      bound_[i].readFrom(data_[i]);
    }
    if (copyOffsets_[i] == kNotCopied)
      continue;
    std::byte *target = copies + copyOffsets_[i];
    data_[i] = target;
    if (widen_[i]) {
      bound_[i].readAll(reinterpret_cast<float *>(target));
    } else {
      bound_[i].copyStored(target);
      bound_[i].readFrom(target);
    }
  }
}

} // namespace strata::rt
