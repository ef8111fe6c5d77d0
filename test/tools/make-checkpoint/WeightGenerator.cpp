//===- WeightGenerator.cpp - Weights as functions of seed, name and index -===//
#include "WeightGenerator.h"

#include <cmath>

using nlohmann::json;

namespace strata::test {

uint64_t splitmix64(uint64_t state) {
  state += 0x9E3779B97F4A7C15;
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EB;
  return state ^ (state >> 31);
}

uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

/// What the random numbers of a tensor start from.
static uint64_t startOf(const ModelTensor &tensor, uint64_t seed) {
  return fnv1a64(tensor.name) ^ splitmix64(seed);
}

std::vector<float> randomWeights(const ModelTensor &tensor, uint64_t seed) {
  std::vector<float> values(size_t(tensor.elementCount()));
  uint64_t start = startOf(tensor, seed);
  const double root3 = std::sqrt(3.0);
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t x = splitmix64(start + i);
    uint64_t total = (x & 0xFFFF) + (x >> 16 & 0xFFFF) + (x >> 32 & 0xFFFF) + (x >> 48);
    double g = (double(total) / 65535.0 - 2.0) * root3;
    values[i] = float(tensor.offset + tensor.scale * g);
  }
  return values;
}

static bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::vector<float> smallIntegerWeights(const ModelTensor &tensor, const json &config,
                                       uint64_t seed) {
  std::vector<float> values(size_t(tensor.elementCount()));
  uint64_t start = startOf(tensor, seed);
  auto sign = [&](uint64_t i) { return splitmix64(start + i) & 1 ? 1.f : -1.f; };
  auto nameIs = [&](std::string_view end) { return endsWith(tensor.name, end); };

  if (nameIs("norm.weight")) {
    std::fill(values.begin(), values.end(), 1.f);
  } else if (nameIs("embed_tokens.weight")) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 1024 * sign(i);
  } else if (nameIs("q_a_proj.weight") || nameIs("kv_a_proj_with_mqa.weight") ||
             nameIs("indexer.wk.weight")) {
    bool pairs = nameIs("indexer.wk.weight");
    size_t columns = size_t(tensor.shape[1]);
    for (size_t row = 0; row < size_t(tensor.shape[0]); ++row) {
      size_t source = pairs ? row / 2 * 2 : row;
      float value = 1024 * sign(2 * source);
      values[row * columns + splitmix64(start + 2 * source + 1) % columns] =
          source == row ? value : -value;
    }
  } else if (nameIs(".bias") ||
             ((nameIs("o_proj.weight") || nameIs("down_proj.weight")) &&
              tensor.layer + 1 < config.value("num_hidden_layers", int64_t(0)))) {
    // zeros
  } else {
    size_t columns = tensor.shape.size() == 2 ? size_t(tensor.shape[1]) : values.size();
    int64_t headWidth =
        nameIs("indexer.wq_b.weight") ? config.value("index_head_dim", int64_t(0)) : 0;
    int64_t turned = config.value("qk_rope_head_dim", int64_t(0));
    for (size_t i = 0; i < values.size(); ++i) {
      bool isTurned = headWidth != 0 && int64_t(i / columns) % headWidth < turned;
      if (!isTurned)
        values[i] = float(int64_t(splitmix64(start + i) % 3) - 1);
    }
  }
  return values;
}

} // namespace strata::test
