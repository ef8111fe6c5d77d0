//===- CheckpointWriter.cpp - Test models as folders ----------------------===//
#include "CheckpointWriter.h"

#include "WeightGenerator.h"
#include "strata/lib/Support/File.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

using nlohmann::json;
namespace fs = std::filesystem;

namespace strata::test {

static constexpr int64_t blockSize = 128;

namespace {

enum class Content { Values, E4M3, Scales, Dequantised };

/// A tensor as it stands in the file.
struct Entry {
  std::string name;
  std::vector<int64_t> shape;
  std::string_view dtype;
  uint64_t bytes;
  const ModelTensor *tensor; ///< where its values come from
  Content content;
  ElementType type;
};

/// A matrix in blocks, each with a scale.
struct Quantised {
  std::vector<uint8_t> codes;
  std::vector<float> scales;
};

} // namespace

static bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

static bool isQuantised(const ModelTensor &tensor) {
  for (std::string_view kept : {"embed_tokens", "lm_head", "mlp.gate.", "weights_proj", "eh_proj"})
    if (contains(tensor.name, kept))
      return false;
  return tensor.shape.size() == 2;
}

static std::vector<int64_t> scaleShape(const ModelTensor &tensor) {
  return {(tensor.shape[0] + blockSize - 1) / blockSize,
          (tensor.shape[1] + blockSize - 1) / blockSize};
}

static Quantised quantise(const ModelTensor &tensor, const std::vector<float> &values) {
  int64_t rows = tensor.shape[0], columns = tensor.shape[1], blockColumns = scaleShape(tensor)[1];
  Quantised result;
  result.scales.resize(size_t(scaleShape(tensor)[0] * blockColumns), 0.f);
  auto scaleOf = [&](int64_t row, int64_t column) -> float & {
    return result.scales[size_t(row / blockSize * blockColumns + column / blockSize)];
  };
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      scaleOf(row, column) =
          std::max(scaleOf(row, column), std::fabs(values[size_t(row * columns + column)]));
  for (float &scale : result.scales)
    scale = scale == 0 ? 1 : scale / 448;
  result.codes.resize(values.size());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      size_t i = size_t(row * columns + column);
      result.codes[i] = roundToF8E4M3(values[i] / scaleOf(row, column));
    }
  return result;
}

static std::vector<float> dequantise(const ModelTensor &tensor, const Quantised &quantised) {
  int64_t columns = tensor.shape[1], blockColumns = scaleShape(tensor)[1];
  std::vector<float> values(quantised.codes.size());
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t row = int64_t(i) / columns, column = int64_t(i) % columns;
    values[i] = widenF8E4M3(quantised.codes[i]) *
                quantised.scales[size_t(row / blockSize * blockColumns + column / blockSize)];
  }
  return values;
}

template <typename T> static std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

static std::string encode(const std::vector<float> &values, ElementType type) {
  if (type == ElementType::F32)
    return bytesOf(values);
  std::vector<uint16_t> codes(values.size());
  std::transform(values.begin(), values.end(), codes.begin(),
                 type == ElementType::BF16 ? roundToBF16 : roundToF16);
  return bytesOf(codes);
}

static std::string_view dtypeOf(ElementType type) {
  return type == ElementType::F32 ? "F32" : type == ElementType::BF16 ? "BF16" : "F16";
}

static std::vector<Entry> entriesOf(const std::vector<ModelTensor> &tensors,
                                    const CheckpointOptions &options) {
  std::vector<Entry> entries;
  auto add = [&](const ModelTensor &tensor, const std::string &suffix, std::vector<int64_t> shape,
                 std::string_view dtype, size_t elementBytes, Content content, ElementType type) {
    uint64_t bytes = elementBytes;
    for (int64_t extent : shape)
      bytes *= uint64_t(extent);
    entries.push_back(
        {tensor.name + suffix, std::move(shape), dtype, bytes, &tensor, content, type});
  };
  for (const ModelTensor &tensor : tensors) {
    bool alwaysF32 = contains(tensor.name, "e_score_correction_bias");
    ElementType type = alwaysF32 ? ElementType::F32 : options.type;
    bool quantised = options.fp8Blocks && isQuantised(tensor);
    if (options.fp8Blocks && options.dequantised)
      add(tensor, "", tensor.shape, "F32", 4, quantised ? Content::Dequantised : Content::Values,
          type);
    else if (!quantised)
      add(tensor, "", tensor.shape, dtypeOf(type), elementSize(type), Content::Values, type);
    else {
      add(tensor, "", tensor.shape, "F8_E4M3", 1, Content::E4M3, type);
      add(tensor, "_scale_inv", scaleShape(tensor), "F32", 4, Content::Scales, type);
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry &left, const Entry &right) { return left.name < right.name; });
  return entries;
}

static std::string contentOf(const Entry &entry, const json &config,
                             const CheckpointOptions &options) {
  const ModelTensor &tensor = *entry.tensor;
  std::vector<float> values = options.smallIntegers
                                  ? smallIntegerWeights(tensor, config, options.seed)
                                  : randomWeights(tensor, options.seed);
  switch (entry.content) {
  case Content::E4M3:
    return bytesOf(quantise(tensor, values).codes);
  case Content::Scales:
    return bytesOf(quantise(tensor, values).scales);
  case Content::Dequantised:
    return bytesOf(dequantise(tensor, quantise(tensor, values)));
  case Content::Values:
    break;
  }
  std::string bytes = encode(values, entry.type);
  if (bytes.size() == entry.bytes)
    return bytes;
  // of a checkpoint in f32, but with the values of the narrower one
  widen(entry.type, bytes.data(), values.data(), values.size());
  return bytesOf(values);
}

/// Writes entries [begin, end) as one file, in the safetensors library's own spelling.
static Status writeShard(const std::string &path, const Entry *begin, const Entry *end,
                         const json &config, const CheckpointOptions &options) {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  uint64_t offset = 0;
  for (const Entry *entry = begin; entry != end; ++entry) {
    header += "," + json(entry->name).dump() + R"(:{"dtype":")" + std::string(entry->dtype) +
              R"(","shape":)" + json(entry->shape).dump() + R"(,"data_offsets":[)" +
              std::to_string(offset) + "," + std::to_string(offset + entry->bytes) + "]}";
    offset += entry->bytes;
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string size;
  for (int i = 0; i < 8; ++i)
    size += char(uint64_t(header.size()) >> (8 * i) & 255);

  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file.ok())
    return file.status();
  if (Status status = file->write(size + header); !status.ok())
    return status;
  for (const Entry *entry = begin; entry != end; ++entry)
    if (Status status = file->write(contentOf(*entry, config, options)); !status.ok())
      return status;
  return file->commit();
}

Expected<CheckpointSummary> writeWeights(const json &config, const CheckpointOptions &options,
                                         const std::string &folder) {
  Expected<std::vector<ModelTensor>> tensors = modelTensors(config);
  if (!tensors.ok())
    return tensors.status();
  std::error_code code;
  fs::create_directories(folder, code);
  if (code)
    return Status(StatusCode::Io, folder + ": can't be made: " + code.message());

  std::vector<Entry> entries = entriesOf(*tensors, options);
  CheckpointSummary summary;
  summary.tensors = entries.size();
  std::vector<size_t> starts = {0};
  uint64_t shardBytes = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (options.shardBytes != 0 && i != starts.back() &&
        shardBytes + entries[i].bytes > options.shardBytes) {
      starts.push_back(i);
      shardBytes = 0;
    }
    shardBytes += entries[i].bytes;
    summary.bytes += entries[i].bytes;
  }
  summary.files = starts.size();
  starts.push_back(entries.size());

  json weightMap = json::object();
  for (size_t shard = 0; shard < summary.files; ++shard) {
    char name[64] = "model.safetensors";
    if (summary.files != 1)
      std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", shard + 1,
                    summary.files);
    const Entry *begin = entries.data() + starts[shard], *end = entries.data() + starts[shard + 1];
    for (const Entry *entry = begin; entry != end; ++entry)
      weightMap[entry->name] = name;
    if (Status status = writeShard(folder + "/" + name, begin, end, config, options); !status.ok())
      return status;
  }
  if (summary.files != 1) {
    json index = {{"metadata", {{"total_size", summary.bytes}}}, {"weight_map", weightMap}};
    if (Status status = writeFile(folder + "/model.safetensors.index.json", index.dump(1));
        !status.ok())
      return status;
  }
  return summary;
}

Expected<std::string> configText(const std::string &text, const CheckpointOptions &options) {
  if (!options.fp8Blocks)
    return text;
  auto config = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object())
    return Status(StatusCode::Corrupt, "config: expected an object");
  if (options.dequantised)
    config["dtype"] = "float32";
  else
    config["quantization_config"] = {{"activation_scheme", "dynamic"},
                                     {"fmt", "e4m3"},
                                     {"quant_method", "fp8"},
                                     {"weight_block_size", {blockSize, blockSize}}};
  return config.dump(2) + "\n";
}

Expected<CheckpointSummary> writeCheckpoint(const std::string &config,
                                            const CheckpointOptions &options,
                                            const std::string &folder) {
  Expected<json> parsed = parseJson(config);
  if (!parsed.ok())
    return Status(parsed.status().code(), "config: " + parsed.status().message());
  Expected<std::string> text = configText(config, options);
  if (!text.ok())
    return text.status();
  Expected<CheckpointSummary> summary = writeWeights(*parsed, options, folder);
  if (!summary.ok())
    return summary;
  if (Status status = writeFile(folder + "/config.json", *text); !status.ok())
    return status;
  return summary;
}

} // namespace strata::test
