//===- ManifestVerifier.cpp - Is a manifest sound? ------------------------===//
#include "strata/runtime/core/ManifestVerifier.h"

#include "strata/lib/Checkpoint/WeightPattern.h"
#include "strata/lib/Support/ElementType.h"
#include "strata/lib/Support/Text.h"
#include "strata/runtime/core/Package.h"
#include "strata/runtime/core/TransferVerifier.h"

#include <cctype>
#include <limits>
#include <set>

namespace strata::rt {

using package::ElementType;

bool ManifestChecker::fail(const std::string &what) {
  error_ = "manifest is malformed: " + (entry_.empty() ? "" : entry_ + ": ") + what;
  return false;
}

bool ManifestChecker::checkRange(int64_t value, int64_t least, int64_t most, const char *what) {
  return (least <= value && value <= most) ||
         fail("expected " + std::string(what) + " in [" + std::to_string(least) + ", " +
              std::to_string(most) + "] but got " + std::to_string(value));
}

namespace {

/// Everything but tiers and commands.
class TableChecker : public ManifestChecker {
public:
  using ManifestChecker::ManifestChecker;

  bool run() {
    return checkModel() && checkCaches() && checkWeights() && checkSlots() && checkKernels() &&
           checkVariants();
  }

private:
  bool checkModel() {
    constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();
    return check(manifest_.producer(), "producer is missing") &&
           check(manifest_.model_type(), "model_type is missing") &&
           check(manifest_.eos_token_ids(), "eos_token_ids are missing") &&
           check(manifest_.caches(), "caches are missing") &&
           check(manifest_.weights(), "weights are missing") &&
           check(manifest_.slots(), "slots are missing") &&
           check(manifest_.kernels(), "kernels are missing") &&
           check(manifest_.commands(), "commands are missing") &&
           check(manifest_.variants(), "variants are missing") &&
           check(manifest_.input_module(), "input_module is missing") &&
           checkEnum(manifest_.compute(), ElementType::BF16, "compute") &&
           checkRange(manifest_.vocabulary_size(), 1, kMaxId, "vocabulary_size") &&
           checkRange(manifest_.max_positions(), 1, kMaxId, "max_positions");
  }

  bool checkCaches() {
    int64_t pageBytes = 0;
    for (const package::Cache *cache : *manifest_.caches()) {
      if (!check(cache->name(), "a cache has no name"))
        return false;
      enter("cache " + printable(cache->name()->string_view()));
      if (!checkRange(cache->page_size(), 1, 1 << 16, "page_size") ||
          !check(cache->page_size() == manifest_.caches()->Get(0)->page_size(),
                 "expected the page size of the first cache") ||
          !checkEnum(cache->rope(), package::RopeLayout::MAX, "rope") ||
          !check(cache->fields() && cache->fields()->size() != 0, "fields are missing"))
        return false;
      for (const package::CacheField *field : *cache->fields()) {
        if (!checkEnum(field->role(), package::FieldRole::MAX, "role") ||
            !checkEnum(field->element_type(), ElementType::F8E4M3, "element_type") ||
            !checkRange(field->heads(), 1, 1 << 16, "heads") ||
            !checkRange(field->width(), 1, 1 << 20, "width"))
          return false;
        pageBytes += int64_t(field->heads()) * field->width() * cache->page_size() *
                     int64_t(elementSize(static_cast<strata::ElementType>(field->element_type())));
        if (!check(pageBytes <= kMaxPageBytes, "a page of all caches is larger than 2 GiB"))
          return false;
      }
    }
    enter("");
    return true;
  }

  bool checkWeights() {
    int64_t elements = 0, tensors = 0;
    for (const package::Weight *weight : *manifest_.weights()) {
      if (!check(weight->name(), "a weight has no name"))
        return false;
      enter("weight " + printable(weight->name()->string_view()));
      if (!checkShape(*weight, elements) || !checkStack(*weight, tensors) || !checkPart(*weight) ||
          !checkScales(*weight, tensors))
        return false;
    }
    enter("");
    return true;
  }

  bool checkShape(const package::Weight &weight, int64_t &total) {
    if (!checkEnum(weight.stored(), ElementType::F8E4M3, "stored type") ||
        !checkAligned(weight.shape(), "extents of the shape") ||
        !checkRange(weight.shape()->size(), 1, 3, "rank"))
      return false;
    int64_t elements = 1;
    for (int64_t extent : *weight.shape()) {
      if (!checkRange(extent, 1, kMaxExtent, "an extent of the shape") ||
          !check(elements <= kMaxWeightElements / extent, "weights have too many elements"))
        return false;
      elements *= extent;
    }
    total += elements;
    return check(total <= kMaxWeightElements, "weights have too many elements");
  }

  /// How many tensors a name stands for; −1 after an error.
  int64_t countTensors(const flatbuffers::String &name, int64_t &total) {
    Expected<std::vector<std::string>> names = expandWeightPattern(name.string_view());
    if (!names.ok())
      return fail(names.status().message()), -1;
    total += int64_t(names->size());
    if (!check(total <= kMaxWeightTensors, "weights have too many tensors"))
      return -1;
    return int64_t(names->size());
  }

  bool checkStack(const package::Weight &weight, int64_t &total) {
    int64_t count = countTensors(*weight.name(), total);
    if (count < 0)
      return false;
    if (!isWeightPattern(weight.name()->string_view()))
      return true;
    return check(weight.part_groups() == 0, "a stack can't be a part") &&
           ((weight.shape()->size() >= 2 && weight.shape()->Get(0) == count) ||
            fail("expected a stack of " + std::to_string(count) + " tensors by its shape"));
  }

  bool checkPart(const package::Weight &weight) {
    if (weight.part_groups() == 0)
      return true;
    return check(weight.shape()->size() == 3 && weight.shape()->Get(0) == weight.part_groups(),
                 "expected as many groups as the shape has") &&
           checkRange(weight.part_stride(), 1, kMaxExtent, "part_stride") &&
           checkRange(weight.part_offset(), 0, weight.part_stride() - weight.shape()->Get(1),
                      "part_offset");
  }

  bool checkScales(const package::Weight &weight, int64_t &total) {
    if (!weight.scale_name() || weight.scale_name()->size() == 0)
      return true;
    if (!check(weight.stored() == ElementType::F8E4M3, "only e4m3 weights have scales") ||
        !check(weight.shape()->size() >= 2, "only matrices have scales") ||
        !checkRange(weight.block_rows(), 1, kMaxExtent, "block_rows") ||
        !checkRange(weight.block_columns(), 1, kMaxExtent, "block_columns"))
      return false;
    int64_t expected = isWeightPattern(weight.name()->string_view()) ? weight.shape()->Get(0) : 1;
    int64_t count = countTensors(*weight.scale_name(), total);
    return count >= 0 && check(count == expected, "expected as many scales as tensors");
  }

  bool checkSlots() {
    int64_t tokens = 0, wanted = 0, fixed = 0;
    for (uint32_t i = 0; i < manifest_.slots()->size(); ++i) {
      enter("slot " + std::to_string(i));
      const package::Size *bytes = manifest_.slots()->Get(i)->bytes();
      if (!check(bytes, "bytes are missing") ||
          !checkRange(bytes->tokens(), 0, kMaxTotalBytes, "bytes per token") ||
          !checkRange(bytes->wanted(), 0, kMaxTotalBytes, "bytes per wanted token") ||
          !checkRange(bytes->fixed(), 0, kMaxTotalBytes, "fixed bytes"))
        return false;
      tokens += bytes->tokens(), wanted += bytes->wanted(), fixed += bytes->fixed();
      if (!check(tokens <= kMaxTotalBytes && wanted <= kMaxTotalBytes && fixed <= kMaxTotalBytes,
                 "slots are too large"))
        return false;
    }
    enter("");
    return true;
  }

  bool checkKernels() {
    for (const flatbuffers::String *name : *manifest_.kernels()) {
      enter("kernel " + printable(name->string_view()));
      if (!checkRange(name->size(), 1, 1024, "the length of a symbol"))
        return false;
      for (char character : name->string_view())
        if (!check(std::isalnum(static_cast<unsigned char>(character)) || character == '_',
                   "expected letters, digits and underscores"))
          return false;
    }
    enter("");
    return true;
  }

  bool checkVariants() {
    std::set<std::string_view> processors;
    for (const package::Variant *variant : *manifest_.variants()) {
      enter("variant");
      if (!check(variant->cpu(), "cpu is missing"))
        return false;
      enter("variant " + printable(variant->cpu()->string_view()));
      if (!check(variant->object() && variant->object()->size() != 0, "object is missing") ||
          !check(processors.insert(variant->cpu()->string_view()).second, "it is there twice"))
        return false;
    }
    enter("");
    return check(manifest_.kernels()->size() == 0 || manifest_.variants()->size() != 0,
                 "there are kernels but no object holds them");
  }
};

} // namespace

Status verifyManifest(const package::Manifest &manifest) {
  TableChecker tables(manifest);
  if (!tables.run())
    return Status(StatusCode::Corrupt, tables.error());
  TierChecker tiers(manifest);
  if (!tiers.run())
    return Status(StatusCode::Corrupt, tiers.error());
  CommandChecker commands(manifest);
  if (!commands.run())
    return Status(StatusCode::Corrupt, commands.error());
  TransferChecker transfers(manifest);
  if (!transfers.run())
    return Status(StatusCode::Corrupt, transfers.error());
  return Status::success();
}

} // namespace strata::rt
