//===- Safetensors.cpp - One file of named tensors ------------------------===//
#include "strata/lib/Checkpoint/Safetensors.h"

#include "strata/lib/Support/Json.h"
#include "strata/lib/Support/Text.h"

#include <algorithm>

using nlohmann::json;

namespace strata {

namespace {
struct Dtype {
  std::string_view name;
  size_t bits;
};
} // namespace

/// All types of the format, version 0.6 of the safetensors library.
static constexpr Dtype dtypes[] = {
    {"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},
    {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8},     {"I16", 16},
    {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
    {"I32", 32}, {"U32", 32},    {"F32", 32},    {"C64", 64},        {"F64", 64},
    {"I64", 64}, {"U64", 64},
};

/// The largest header that the safetensors library reads.
static constexpr uint64_t largestHeader = 100'000'000;

static Status corrupt(std::string message) {
  return Status(StatusCode::Corrupt, std::move(message));
}

/// An array of integers that are not negative, or nothing.
static std::optional<std::vector<int64_t>> integers(const json &entry, const char *key) {
  auto found = entry.find(key);
  if (found == entry.end() || !found->is_array())
    return std::nullopt;
  std::vector<int64_t> values;
  for (const json &value : *found) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t(INT64_MAX))
      return std::nullopt;
    values.push_back(value.get<int64_t>());
  }
  return values;
}

/// Fills all of `tensor` except its name from a header entry. `data` is what follows the header.
static Status readEntry(const json &entry, std::string_view data, TensorView &tensor) {
  std::string prefix = "tensor " + printable(tensor.name) + ": ";
  if (!entry.is_object())
    return corrupt(prefix + "expected an object with dtype, shape and data_offsets");
  auto dtypeName = entry.find("dtype");
  if (dtypeName == entry.end() || !dtypeName->is_string())
    return corrupt(prefix + "expected a string dtype");
  const std::string &spelled = dtypeName->get_ref<const std::string &>();
  const Dtype *dtype =
      std::find_if(std::begin(dtypes), std::end(dtypes),
                   [&](const Dtype &candidate) { return candidate.name == spelled; });
  if (dtype == std::end(dtypes))
    return corrupt(prefix + "unknown dtype '" + printable(spelled) + "'");
  tensor.dtype = dtype->name;
  tensor.type = elementTypeFromSafetensors(dtype->name);

  auto shape = integers(entry, "shape");
  if (!shape)
    return corrupt(prefix + "expected a shape of integers that are not negative");
  tensor.shape = std::move(*shape);
  uint64_t bits = dtype->bits;
  for (int64_t extent : tensor.shape)
    if (__builtin_mul_overflow(bits, uint64_t(extent), &bits))
      return corrupt(prefix + "shape " + printable(shapeText(tensor.shape)) + " is too large");
  if (bits % 8 != 0)
    return corrupt(prefix + "shape " + printable(shapeText(tensor.shape)) + " of " + spelled +
                   " is no whole number of bytes");
  tensor.bytes = bits / 8;

  auto offsets = integers(entry, "data_offsets");
  if (!offsets || offsets->size() != 2)
    return corrupt(prefix + "expected two data_offsets, integers that are not negative");
  uint64_t begin = uint64_t((*offsets)[0]), end = uint64_t((*offsets)[1]);
  if (begin > end)
    return corrupt(prefix + "data_offsets " + shapeText(*offsets) + " don't increase");
  if (end > data.size())
    return corrupt(prefix + "ends at byte " + std::to_string(end) +
                   " of the data, but the file holds only " + std::to_string(data.size()) +
                   " bytes of data (is it cut off?)");
  if (end - begin != tensor.bytes)
    return corrupt(prefix + "expected " + std::to_string(tensor.bytes) + " bytes for " + spelled +
                   " " + printable(shapeText(tensor.shape)) + " but data_offsets " +
                   shapeText(*offsets) + " give " + std::to_string(end - begin));
  tensor.data = reinterpret_cast<const std::byte *>(data.data()) + begin;
  return Status::success();
}

/// Tensors must cover the data exactly once: no byte belongs to two of them, and none to nobody.
static Status checkCoverage(const TensorMap &tensors, std::string_view data) {
  auto start = reinterpret_cast<const std::byte *>(data.data());
  std::vector<const TensorView *> order;
  for (const auto &entry : tensors)
    order.push_back(&entry.second);
  std::sort(order.begin(), order.end(), [](const TensorView *left, const TensorView *right) {
    return std::make_pair(left->data, left->bytes) < std::make_pair(right->data, right->bytes);
  });
  size_t covered = 0;
  const TensorView *previous = nullptr;
  for (const TensorView *tensor : order) {
    size_t begin = size_t(tensor->data - start);
    if (begin < covered)
      return corrupt("tensors " + printable(previous->name) + " and " + printable(tensor->name) +
                     " overlap");
    if (begin > covered)
      return corrupt("bytes [" + std::to_string(covered) + ", " + std::to_string(begin) +
                     ") of the data belong to no tensor");
    covered = begin + tensor->bytes;
    previous = tensor;
  }
  if (covered != data.size())
    return corrupt("bytes [" + std::to_string(covered) + ", " + std::to_string(data.size()) +
                   ") of the data belong to no tensor");
  return Status::success();
}

Expected<TensorMap> parseSafetensors(std::string_view file) {
  // What a clone without Git LFS leaves in place of the file.
  if (file.substr(0, 24) == "version https://git-lfs.")
    return corrupt("this is a Git LFS pointer, not the file that it stands for");
  if (file.size() < 8)
    return corrupt("expected at least 8 bytes but got " + std::to_string(file.size()));
  uint64_t headerSize = 0;
  for (int i = 7; i >= 0; --i)
    headerSize = headerSize << 8 | static_cast<unsigned char>(file[size_t(i)]);
  if (headerSize > file.size() - 8)
    return corrupt("the header has " + std::to_string(headerSize) +
                   " bytes, but the file has only " + std::to_string(file.size()));
  if (headerSize > largestHeader)
    return corrupt("the header has " + std::to_string(headerSize) +
                   " bytes, but the format allows only " + std::to_string(largestHeader));
  std::string_view text = file.substr(8, headerSize), data = file.substr(8 + headerSize);

  Expected<json> header = parseJson(text, /*maxDepth=*/4);
  if (!header.ok())
    return corrupt("header: " + header.status().message());
  if (!header->is_object())
    return corrupt("header: expected an object");
  TensorMap tensors;
  for (const auto &[name, entry] : header->items()) {
    if (name == "__metadata__") {
      bool strings =
          entry.is_object() && std::all_of(entry.begin(), entry.end(),
                                           [](const json &value) { return value.is_string(); });
      if (!strings)
        return corrupt("__metadata__: expected an object of strings");
      continue;
    }
    auto slot = tensors.try_emplace(name).first;
    slot->second.name = slot->first;
    if (Status status = readEntry(entry, data, slot->second); !status.ok())
      return status;
  }
  if (Status status = checkCoverage(tensors, data); !status.ok())
    return status;
  return tensors;
}

Expected<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.status();
  Expected<TensorMap> tensors = parseSafetensors(file->text());
  if (!tensors.ok())
    return Status(tensors.status().code(), path + ": " + tensors.status().message());
  return SafetensorsFile(std::move(*file), std::move(*tensors));
}

} // namespace strata
