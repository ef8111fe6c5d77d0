//===- RandomModel.cpp - A small model of any supported kind --------------===//
#include "RandomModel.h"

#include <algorithm>

using nlohmann::json;

namespace strata::test {

namespace {

/// Fills in a config.json part by part.
class ConfigDrawer {
public:
  ConfigDrawer(RandomNumbers &random, bool exact) : random_(random), exact_(exact) {}
  json draw(const std::string &modelType);

private:
  void latentAttention();
  void groupedAttention();
  void indexer();
  void schedule();
  void mixture();
  void rope();
  json yarn();

  int64_t number(const char *key) const { return config_[key].get<int64_t>(); }

  RandomNumbers &random_;
  bool exact_; ///< index scores must be exact in f32: see smallIntegerWeights
  json config_;
  int64_t layers_ = 1;
};

} // namespace

json ConfigDrawer::draw(const std::string &modelType) {
  layers_ = random_.between(1, 4);
  config_ = {{"model_type", modelType},
             {"num_hidden_layers", layers_},
             {"hidden_size", random_.between(8, 48)},
             {"num_attention_heads", random_.between(1, 6)},
             {"intermediate_size", random_.between(8, 48)},
             {"vocab_size", random_.between(5, 64)},
             {"max_position_embeddings", 2 * kLongestSequence},
             {"rms_norm_eps", random_.oneOf({1e-6, 1e-5, 1e-2})},
             {"hidden_act", "silu"},
             {"tie_word_embeddings", random_.chance(30)},
             {"eos_token_id", nullptr}};
  if (modelType != "mistral")
    config_["attention_bias"] = random_.chance(30);
  bool grouped = modelType == "llama" || modelType == "mistral";
  if (grouped)
    groupedAttention();
  else
    latentAttention();
  rope();
  if (modelType == "glm_moe_dsa" || modelType == "deepseek_v32")
    indexer();
  if (!grouped)
    mixture();
  return config_;
}

void ConfigDrawer::latentAttention() {
  int64_t half = random_.between(1, 4);
  bool needsQueryLatent = config_["model_type"] != "deepseek_v3";
  config_["kv_lora_rank"] = random_.between(4, 32);
  config_["qk_nope_head_dim"] = random_.between(1, 20);
  config_["qk_rope_head_dim"] = 2 * half;
  config_["v_head_dim"] = random_.between(1, 20);
  config_["q_lora_rank"] = nullptr;
  if (needsQueryLatent || random_.chance(50))
    config_["q_lora_rank"] = random_.between(4, 32);
  config_["rope_interleave"] = random_.chance(60);
}

void ConfigDrawer::groupedAttention() {
  int64_t keyHeads = random_.between(1, 3), perKeyHead = random_.between(1, 3);
  config_["num_attention_heads"] = keyHeads * perKeyHead;
  config_["num_key_value_heads"] = keyHeads;
  int64_t width = 2 * random_.between(1, 9);
  if (random_.chance(70))
    config_["head_dim"] = width;
  else
    config_["hidden_size"] = keyHeads * perKeyHead * std::min<int64_t>(width, 8);
  if (config_["model_type"] == "mistral") {
    config_["sliding_window"] = nullptr;
    if (random_.chance(85))
      config_["sliding_window"] = random_.between(1, 12);
  }
}

void ConfigDrawer::indexer() {
  int64_t turned = number("qk_rope_head_dim"), heads, width;
  if (exact_) {
    // The scale of scores, (heads × width)^-1/2, must be a power of two.
    do {
      heads = random_.oneOf<int64_t>({1, 2, 4, 8});
      width = random_.oneOf<int64_t>({4, 8, 16, 32});
    } while (__builtin_ctzll(uint64_t(heads * width)) % 2 != 0 || width < turned);
  } else {
    // One or two heads are often all below zero, which makes the plateau of scores that are 0.0.
    heads = random_.chance(40) ? random_.between(1, 2) : random_.between(1, 8);
    width = std::max(turned, random_.between(4, 32));
  }
  config_["index_n_heads"] = heads;
  config_["index_head_dim"] = width;
  config_["index_topk"] = random_.between(1, 12);
  if (config_["model_type"] == "glm_moe_dsa" || random_.chance(50))
    config_["indexer_rope_interleave"] = random_.chance(50);
  schedule();
}

/// In any of the encodings that configs have.
void ConfigDrawer::schedule() {
  json words = json::array();
  std::string letters;
  for (int64_t layer = 0; layer < layers_; ++layer) {
    bool full = layer == 0 || random_.chance(50);
    words.push_back(full ? "full" : "shared");
    letters += full ? 'F' : 'S';
  }
  switch (random_.between(0, 3)) {
  case 0:
    config_["index_topk_freq"] = nullptr;
    break;
  case 1:
    config_["index_topk_freq"] = random_.between(1, 3);
    config_["index_skip_topk_offset"] = random_.between(1, 3);
    break;
  case 2:
    config_["index_topk_pattern"] = letters;
    break;
  default:
    config_["indexer_types"] = words;
  }
  if (random_.chance(10))
    config_["num_nextn_predict_layers"] = 1;
}

void ConfigDrawer::mixture() {
  config_["n_routed_experts"] = nullptr;
  if (random_.chance(25))
    return;
  int64_t groups = random_.oneOf<int64_t>({1, 1, 2, 3, 4});
  int64_t groupSize = groups == 1 ? random_.between(1, 8) : random_.between(2, 8 / groups);
  int64_t topGroups = random_.between(1, groups);
  config_["n_routed_experts"] = groups * groupSize;
  config_["n_group"] = groups;
  config_["topk_group"] = topGroups;
  config_["num_experts_per_tok"] = random_.between(1, std::min<int64_t>(4, topGroups * groupSize));
  config_["moe_intermediate_size"] = random_.between(4, 24);
  config_["n_shared_experts"] = random_.between(0, 2);
  config_["norm_topk_prob"] = random_.chance(50);
  config_["routed_scaling_factor"] = random_.oneOf({1.0, 1.5, 2.5});
  config_["scoring_func"] = "sigmoid";
  config_["topk_method"] = "noaux_tc";
  if (random_.chance(50)) {
    config_["first_k_dense_replace"] = random_.between(0, layers_);
    return;
  }
  json words = json::array();
  for (int64_t layer = 0; layer < layers_; ++layer)
    words.push_back(random_.chance(70) ? "sparse" : "dense");
  config_["mlp_layer_types"] = words;
}

json ConfigDrawer::yarn() {
  json scaling = {{"rope_type", "yarn"},
                  {"factor", random_.oneOf({2.0, 4.0, 40.0})},
                  {"original_max_position_embeddings", random_.oneOf({8, 16, 32})},
                  {"beta_fast", 32},
                  {"beta_slow", 1}};
  if (random_.chance(60))
    scaling["mscale"] = scaling["mscale_all_dim"] = random_.oneOf({0.707, 1.0});
  if (random_.chance(20))
    scaling["truncate"] = false;
  return scaling;
}

void ConfigDrawer::rope() {
  double theta = random_.oneOf({100.0, 10000.0, 8e6});
  int64_t kind = random_.between(0, 5);
  if (kind == 0) {
    config_["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", theta}};
    return;
  }
  config_["rope_theta"] = theta;
  if (kind == 1 || kind == 2)
    config_["rope_scaling"] = yarn();
  if (kind == 3)
    config_["rope_scaling"] = {{"rope_type", "llama3"},
                               {"factor", 8.0},
                               {"low_freq_factor", 1.0},
                               {"high_freq_factor", 4.0},
                               {"original_max_position_embeddings", random_.oneOf({8, 32})}};
}

static ModuleChanges drawChanges(RandomNumbers &random, const json &config) {
  ModuleChanges changes;
  if (random.chance(75))
    return changes;
  changes.softmaxScoring = random.chance(50);
  changes.maximumGroupScore = random.chance(50);
  int64_t width = config.value("index_head_dim", int64_t(0));
  changes.hadamard = width > 1 && (width & (width - 1)) == 0 && random.chance(50);
  changes.planar = random.chance(50);
  if (!config.contains("sliding_window") && random.chance(60)) {
    changes.lastTokens = random.between(1, 12);
    changes.firstTokens = random.between(0, 4);
  }
  return changes;
}

RandomModel drawModel(RandomNumbers &random) {
  RandomModel model;
  int64_t kind = random.between(0, 19);
  std::string type = kind < 7    ? "glm_moe_dsa"
                     : kind < 13 ? "deepseek_v32"
                     : kind < 16 ? "deepseek_v3"
                     : kind < 18 ? "llama"
                                 : "mistral";
  bool hasIndexer = kind < 13;
  model.weights.smallIntegers = hasIndexer && random.chance(20);
  model.config = ConfigDrawer(random, model.weights.smallIntegers).draw(type);
  model.weights.seed = random.next();
  model.weights.type = random.oneOf(
      {ElementType::F32, ElementType::F32, ElementType::BF16, ElementType::BF16, ElementType::F16});
  if (random.chance(10) && !model.weights.smallIntegers) {
    model.weights.fp8Blocks = true;
    model.config["intermediate_size"] = random.between(100, 260); // more than one block
  }
  if (random.chance(10))
    model.weights.shardBytes = 2000;
  model.config["dtype"] = model.weights.type == ElementType::F32    ? "float32"
                          : model.weights.type == ElementType::BF16 ? "bfloat16"
                                                                    : "float16";
  int64_t format = random.between(0, 99);
  model.bf16Compute = format < 18;
  model.bf16Cache = format < 15 || format >= 97;
  model.pageSize = random.oneOf<int64_t>({1, 2, 3, 4, 5, 7, 8, 11, 16});
  model.newerProcessor = random.chance(30);
  model.changes = drawChanges(random, model.config);
  if (model.weights.smallIntegers && random.chance(20))
    model.changes.hadamard = true;
  return model;
}

int64_t RandomModel::window() const {
  auto window = config.find("sliding_window");
  return window != config.end() && window->is_number_integer() ? window->get<int64_t>()
                                                               : changes.lastTokens;
}

std::string RandomModel::describe() const {
  auto flag = [](const char *name, bool is) { return is ? " " + std::string(name) : ""; };
  return "config " + config.dump() + "\nweights seed " + std::to_string(weights.seed) +
         flag("small-integers", weights.smallIntegers) + flag("fp8-blocks", weights.fp8Blocks) +
         flag("shards", weights.shardBytes != 0) + "\ncompiled for" +
         (bf16Compute ? " bf16" : " f32") + ", caches" + (bf16Cache ? " bf16" : " f32") +
         ", pages of " + std::to_string(pageSize) + flag("x86-64-v3", newerProcessor) +
         "\nchanges" + flag("softmax-scoring", changes.softmaxScoring) +
         flag("maximum-group-score", changes.maximumGroupScore) +
         flag("hadamard", changes.hadamard) + flag("planar", changes.planar) + " first " +
         std::to_string(changes.firstTokens) + " last " + std::to_string(changes.lastTokens) + "\n";
}

} // namespace strata::test
