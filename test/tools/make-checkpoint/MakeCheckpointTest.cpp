//===- MakeCheckpointTest.cpp ---------------------------------------------===//
#include "CheckpointWriter.h"
#include "WeightGenerator.h"

#include "strata/lib/Checkpoint/BoundWeight.h"
#include "strata/lib/Support/TestFolder.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace strata;
using namespace strata::test;
using nlohmann::json;

namespace {

/// A model with every kind of tensor; blocks of 128 do not fit its sizes.
const char *const text = R"({
  "model_type": "glm_moe_dsa", "num_hidden_layers": 2, "hidden_size": 160, "vocab_size": 32,
  "num_attention_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 24, "qk_rope_head_dim": 8,
  "v_head_dim": 33, "index_topk": 8, "index_n_heads": 4, "index_head_dim": 16, "indexer_types": ["full", "shared"],
  "mlp_layer_types": ["dense", "sparse"], "intermediate_size": 96, "moe_intermediate_size": 32, "n_routed_experts": 4,
  "n_shared_experts": 1, "dtype": "bfloat16"
})";

const json &config() {
  static const json parsed = json::parse(text);
  return parsed;
}

Checkpoint write(const CheckpointOptions &options, const TestFolder &folder) {
  Expected<CheckpointSummary> summary = writeCheckpoint(text, options, folder.path());
  EXPECT_TRUE(summary.ok()) << summary.status().message();
  Expected<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  return std::move(*checkpoint);
}

std::vector<float> valuesOf(const Checkpoint &checkpoint, const std::string &name) {
  const TensorView *tensor = checkpoint.find(name);
  WeightDescription description{name, tensor->shape, *tensor->type};
  if (checkpoint.find(name + "_scale_inv")) {
    description.scaleName = name + "_scale_inv";
    description.blockRows = description.blockColumns = 128;
  }
  Expected<std::vector<BoundWeight>> weights = bindWeights({description}, checkpoint);
  EXPECT_TRUE(weights.ok()) << weights.status().message();
  std::vector<float> values(size_t(weights->front().rows() * weights->front().columns()));
  weights->front().readAll(values.data());
  return values;
}

ModelTensor tensorNamed(const std::string &name) {
  Expected<std::vector<ModelTensor>> tensors = modelTensors(config());
  auto found = std::find_if(tensors->begin(), tensors->end(),
                            [&](const ModelTensor &tensor) { return tensor.name == name; });
  EXPECT_NE(found, tensors->end()) << name;
  return *found;
}

TEST(WeightGenerator, HashesOfKnownInputs) {
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(splitmix64(0),
            0xe220a8397b1dcdafu); // first output of the published generator with seed 0
}

TEST(WeightGenerator, ValuesHaveTheirScale) {
  std::vector<float> values = randomWeights(tensorNamed("model.layers.0.mlp.up_proj.weight"), 1);
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += value;
    squares += double(value) * value;
  }
  EXPECT_NEAR(sum / double(values.size()), 0, 0.005);
  EXPECT_NEAR(std::sqrt(squares / double(values.size())), 1 / std::sqrt(160.0), 0.003);
}

TEST(ModelTensors, SharedLayersHaveNoIndexer) {
  TestFolder folder;
  Checkpoint checkpoint = write({}, folder);
  EXPECT_NE(checkpoint.find("model.layers.0.self_attn.indexer.wk.weight"), nullptr);
  EXPECT_EQ(checkpoint.find("model.layers.1.self_attn.indexer.wk.weight"), nullptr);
  EXPECT_EQ(checkpoint.find("model.layers.1.mlp.experts.3.up_proj.weight")->shape,
            (std::vector<int64_t>{32, 160}));
}

TEST(ModelTensors, WrongEntriesAreNamed) {
  auto message = [](const char *patch) {
    json changed = config();
    changed.merge_patch(json::parse(patch));
    return modelTensors(changed).status().message();
  };
  EXPECT_EQ(message(R"({"hidden_size": null})"), "config: expected an integer hidden_size");
  EXPECT_EQ(message(R"({"v_head_dim": "8"})"), "config: expected an integer v_head_dim");
  EXPECT_EQ(message(R"({"vocab_size": -1})"), "config: expected an integer vocab_size");
  EXPECT_EQ(message(R"({"indexer_types": ["full"]})"),
            "config: expected one word for each layer in indexer_types");
  EXPECT_EQ(modelTensors(json::array()).status().message(), "config: expected an object");
}

TEST(CheckpointWriter, ShardsHoldTheSameTensors) {
  TestFolder one, many;
  CheckpointOptions options;
  options.type = ElementType::BF16;
  Checkpoint whole = write(options, one);
  options.shardBytes = 20000;
  Checkpoint shards = write(options, many);
  EXPECT_TRUE(std::filesystem::exists(many.file("model.safetensors.index.json")));
  ASSERT_EQ(whole.names(), shards.names());
  for (std::string_view name : whole.names()) {
    const TensorView *left = whole.find(name), *right = shards.find(name);
    EXPECT_EQ(left->dtype, name.find("correction_bias") == std::string_view::npos ? "BF16" : "F32");
    EXPECT_TRUE(left->shape == right->shape &&
                std::equal(left->data, left->data + left->bytes, right->data))
        << name;
  }
  EXPECT_EQ(one.read("config.json"), text);
}

TEST(CheckpointWriter, DequantisedEqualsBlocks) {
  TestFolder blocks, plain, original;
  CheckpointOptions options;
  options.type = ElementType::BF16;
  Checkpoint unquantised = write(options, original);
  options.fp8Blocks = true;
  Checkpoint quantised = write(options, blocks);
  options.dequantised = true;
  Checkpoint dequantised = write(options, plain);
  size_t scaled = 0;
  for (std::string_view view : dequantised.names()) {
    std::string name(view);
    std::vector<float> values = valuesOf(dequantised, name), exact = valuesOf(unquantised, name);
    EXPECT_EQ(valuesOf(quantised, name), values) << name;
    EXPECT_EQ(dequantised.find(name)->dtype, "F32");
    if (!quantised.find(name + "_scale_inv")) {
      EXPECT_EQ(values, exact) << name;
      continue;
    }
    ++scaled;
    EXPECT_EQ(quantised.find(name)->dtype, "F8_E4M3");
    // e4m3 has 3 mantissa bits, and bf16 of the other side 7
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(values[i], exact[i], std::fabs(exact[i]) * (1.0 / 16 + 1.0 / 256) + 1e-3) << name;
  }
  EXPECT_EQ(dequantised.size() + scaled, quantised.size());
  for (const char *kept :
       {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight",
        "model.layers.1.mlp.gate.weight", "model.layers.0.self_attn.indexer.weights_proj.weight"})
    EXPECT_EQ(quantised.find(kept)->dtype, "BF16") << kept;
  EXPECT_EQ(quantised.find("model.layers.0.self_attn.kv_a_proj_with_mqa.weight_scale_inv")->shape,
            (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(json::parse(blocks.read("config.json"))["quantization_config"]["weight_block_size"],
            json({128, 128}));
  EXPECT_EQ(json::parse(plain.read("config.json"))["dtype"], "float32");
}

TEST(CheckpointWriter, FolderThatCantBeMade) {
  TestFolder folder;
  folder.write("file", "");
  Status status = writeCheckpoint(text, {}, folder.file("file/model")).status();
  EXPECT_EQ(status.message(), folder.file("file/model") + ": can't be made: Not a directory");
}

/// y = W x
std::vector<double> apply(const ModelTensor &tensor, uint64_t seed, const std::vector<double> &x) {
  std::vector<float> w = smallIntegerWeights(tensor, config(), seed);
  std::vector<double> y(size_t(tensor.shape[0]));
  for (size_t row = 0; row < y.size(); ++row)
    for (size_t column = 0; column < x.size(); ++column)
      y[row] += w[row * x.size() + column] * x[column];
  return y;
}

/// (x − mean) / sqrt(variance + eps) without the mean for RMS norm, in f32 as a model does it.
std::vector<double> normalise(std::vector<double> x, bool subtractMean) {
  double mean = 0, squares = 0;
  for (double value : x)
    mean += subtractMean ? value / double(x.size()) : 0;
  for (double value : x)
    squares += (value - mean) * (value - mean);
  float factor = 1 / std::sqrt(float(squares / double(x.size())) + 1e-6f);
  for (double &value : x)
    value = float(value - mean) * factor;
  return x;
}

TEST(SmallIntegers, ScoresAreSmallIntegersWithTies) {
  const uint64_t seed = 3;
  const std::string attention = "model.layers.0.self_attn.";
  ModelTensor embed = tensorNamed("model.embed_tokens.weight");
  std::vector<float> table = smallIntegerWeights(embed, config(), seed);
  std::vector<std::vector<double>> keys, queries, weights;
  for (size_t token = 0; token < 32; ++token) {
    std::vector<double> x(table.begin() + long(token) * 160, table.begin() + long(token + 1) * 160);
    x = normalise(x, false);
    for (double value : x)
      ASSERT_EQ(std::fabs(value), 1);
    keys.push_back(normalise(apply(tensorNamed(attention + "indexer.wk.weight"), seed, x), true));
    for (double value : keys.back())
      ASSERT_EQ(std::fabs(value), 1);
    std::vector<double> latent =
        normalise(apply(tensorNamed(attention + "q_a_proj.weight"), seed, x), false);
    queries.push_back(apply(tensorNamed(attention + "indexer.wq_b.weight"), seed, latent));
    weights.push_back(apply(tensorNamed(attention + "indexer.weights_proj.weight"), seed, x));
  }
  size_t ties = 0, different = 0;
  for (size_t t = 1; t < 32; ++t) {
    std::vector<double> scores;
    for (size_t s = 0; s <= t; ++s) {
      double score = 0;
      for (size_t head = 0; head < 4; ++head) {
        double dot = 0;
        for (size_t i = 0; i < 16; ++i) {
          dot += queries[t][head * 16 + i] * keys[s][i];
          if (i < 8) // RoPE turns these: they must not count
            ASSERT_EQ(queries[t][head * 16 + i], 0);
        }
        score += weights[t][head] * std::max(dot, 0.0);
      }
      ASSERT_EQ(score, std::nearbyint(score));
      ASSERT_LT(std::fabs(score), 1 << 20);
      scores.push_back(score);
    }
    std::sort(scores.begin(), scores.end());
    size_t distinct = size_t(std::unique(scores.begin(), scores.end()) - scores.begin());
    different += distinct;
    ties += t + 1 - distinct;
  }
  EXPECT_GT(ties, 50u);
  EXPECT_GT(different, 50u);
}

TEST(SmallIntegers, OnlyTheLastLayerChangesTheResidual) {
  auto isZero = [](const std::string &name) {
    std::vector<float> values = smallIntegerWeights(tensorNamed(name), config(), 1);
    return std::all_of(values.begin(), values.end(), [](float value) { return value == 0; });
  };
  EXPECT_TRUE(isZero("model.layers.0.self_attn.o_proj.weight"));
  EXPECT_TRUE(isZero("model.layers.0.mlp.down_proj.weight"));
  EXPECT_FALSE(isZero("model.layers.1.self_attn.o_proj.weight"));
  EXPECT_FALSE(isZero("model.layers.1.mlp.experts.0.down_proj.weight"));
}

} // namespace
