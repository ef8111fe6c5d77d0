//===- ModelTensors.cpp - Which tensors a model's config asks for ---------===//
#include "ModelTensors.h"

#include <algorithm>
#include <cmath>

using nlohmann::json;

namespace strata::test {

int64_t ModelTensor::elementCount() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

namespace {

/// Lists tensors layer by layer. The first entry that is wrong is kept as the error; what follows
/// is then of no use, and harmless.
class TensorLister {
public:
  explicit TensorLister(const json &config) : config_(config) {}
  Expected<std::vector<ModelTensor>> list();

private:
  bool has(const char *key) const {
    auto found = config_.find(key);
    return found != config_.end() && !found->is_null();
  }
  int64_t integer(const char *key);
  int64_t integer(const char *key, int64_t otherwise) {
    return has(key) ? integer(key) : otherwise;
  }
  bool boolean(const char *key);
  void fail(const std::string &message) {
    if (status_.ok())
      status_ = Status(StatusCode::InvalidArgument, "config: " + message);
  }
  std::vector<bool> layersThat(const char *key, const char *word);
  std::vector<bool> indexerSchedule();
  std::vector<bool> mixtureSchedule();

  void add(const std::string &name, std::vector<int64_t> shape, double scale, double offset) {
    tensors_.push_back({name, std::move(shape), scale, offset, layer_});
  }
  void matrix(const std::string &name, int64_t rows, int64_t columns) {
    add(name, {rows, columns}, 1 / std::sqrt(double(columns)), 0);
  }
  void norm(const std::string &name, int64_t width) { add(name, {width}, .1, 1); }
  void bias(const std::string &name, int64_t width) { add(name, {width}, .1, 0); }

  void latentAttention(const std::string &prefix, bool hasIndexer);
  void groupedAttention(const std::string &prefix);
  void gatedMlp(const std::string &prefix, int64_t width);
  void layer(int64_t number, bool hasIndexer, bool isMixture);

  const json &config_;
  Status status_;
  std::vector<ModelTensor> tensors_;
  int64_t layer_ = -1, hidden_ = 0, layers_ = 0;
};

int64_t TensorLister::integer(const char *key) {
  auto found = config_.find(key);
  if (found != config_.end() && found->is_number_integer() && *found >= 0 &&
      *found < (int64_t(1) << 31))
    return found->get<int64_t>();
  fail("expected an integer " + std::string(key));
  return 1;
}

bool TensorLister::boolean(const char *key) {
  if (!has(key))
    return false;
  if (!config_[key].is_boolean())
    fail("expected true or false for " + std::string(key));
  return config_[key] == true;
}

/// Which of a list of words, one for each layer, are `word`.
std::vector<bool> TensorLister::layersThat(const char *key, const char *word) {
  const json &words = config_[key];
  std::vector<bool> result;
  if (words.is_array())
    for (const json &entry : words)
      result.push_back(entry == word);
  if (result.size() != size_t(layers_)) {
    fail("expected one word for each layer in " + std::string(key));
    result.resize(size_t(layers_));
  }
  return result;
}

std::vector<bool> TensorLister::indexerSchedule() {
  if (!has("index_topk"))
    return std::vector<bool>(size_t(layers_), false);
  if (has("indexer_types"))
    return layersThat("indexer_types", "full");
  std::vector<bool> result;
  if (has("index_topk_pattern") && config_["index_topk_pattern"].is_string()) {
    for (char c : config_["index_topk_pattern"].get_ref<const std::string &>())
      result.push_back(c == 'F');
    result.resize(size_t(layers_));
    return result;
  }
  int64_t frequency = std::max<int64_t>(1, integer("index_topk_freq", 1));
  int64_t offset = integer("index_skip_topk_offset", 2);
  for (int64_t i = 0; i < layers_; ++i)
    result.push_back(std::max<int64_t>(i - offset + 1, 0) % frequency == 0);
  return result;
}

std::vector<bool> TensorLister::mixtureSchedule() {
  if (has("mlp_layer_types"))
    return layersThat("mlp_layer_types", "sparse");
  std::vector<bool> result;
  int64_t dense = has("n_routed_experts") ? integer("first_k_dense_replace", 0) : layers_;
  for (int64_t i = 0; i < layers_; ++i)
    result.push_back(i >= dense);
  return result;
}

void TensorLister::latentAttention(const std::string &prefix, bool hasIndexer) {
  int64_t heads = integer("num_attention_heads");
  int64_t keyWidth = integer("qk_nope_head_dim") + integer("qk_rope_head_dim");
  int64_t valueWidth = integer("v_head_dim"), latent = integer("kv_lora_rank");
  bool biased = boolean("attention_bias");
  int64_t queryLatent = integer("q_lora_rank", 0);
  if (queryLatent != 0) {
    matrix(prefix + "q_a_proj.weight", queryLatent, hidden_);
    norm(prefix + "q_a_layernorm.weight", queryLatent);
    matrix(prefix + "q_b_proj.weight", heads * keyWidth, queryLatent);
    if (biased)
      bias(prefix + "q_a_proj.bias", queryLatent);
  } else {
    matrix(prefix + "q_proj.weight", heads * keyWidth, hidden_);
  }
  int64_t latentAndRope = latent + integer("qk_rope_head_dim");
  matrix(prefix + "kv_a_proj_with_mqa.weight", latentAndRope, hidden_);
  norm(prefix + "kv_a_layernorm.weight", latent);
  matrix(prefix + "kv_b_proj.weight", heads * (integer("qk_nope_head_dim") + valueWidth), latent);
  matrix(prefix + "o_proj.weight", hidden_, heads * valueWidth);
  if (biased) {
    bias(prefix + "kv_a_proj_with_mqa.bias", latentAndRope);
    bias(prefix + "o_proj.bias", hidden_);
  }
  if (!hasIndexer)
    return;
  int64_t indexHeads = integer("index_n_heads"), indexWidth = integer("index_head_dim");
  matrix(prefix + "indexer.wq_b.weight", indexHeads * indexWidth, queryLatent);
  matrix(prefix + "indexer.wk.weight", indexWidth, hidden_);
  norm(prefix + "indexer.k_norm.weight", indexWidth);
  bias(prefix + "indexer.k_norm.bias", indexWidth);
  matrix(prefix + "indexer.weights_proj.weight", indexHeads, hidden_);
}

void TensorLister::groupedAttention(const std::string &prefix) {
  int64_t heads = integer("num_attention_heads"), keyHeads = integer("num_key_value_heads");
  int64_t width = integer("head_dim", 0);
  if (width == 0)
    width = hidden_ / std::max<int64_t>(1, heads);
  bool biased = boolean("attention_bias");
  auto projection = [&](const char *letter, int64_t count) {
    matrix(prefix + letter + "_proj.weight", count * width, hidden_);
    if (biased)
      bias(prefix + letter + "_proj.bias", count * width);
  };
  projection("q", heads);
  projection("k", keyHeads);
  projection("v", keyHeads);
  matrix(prefix + "o_proj.weight", hidden_, heads * width);
  if (biased)
    bias(prefix + "o_proj.bias", hidden_);
}

void TensorLister::gatedMlp(const std::string &prefix, int64_t width) {
  matrix(prefix + ".gate_proj.weight", width, hidden_);
  matrix(prefix + ".up_proj.weight", width, hidden_);
  matrix(prefix + ".down_proj.weight", hidden_, width);
}

void TensorLister::layer(int64_t number, bool hasIndexer, bool isMixture) {
  layer_ = number;
  std::string prefix = "model.layers." + std::to_string(number) + ".";
  norm(prefix + "input_layernorm.weight", hidden_);
  norm(prefix + "post_attention_layernorm.weight", hidden_);
  if (has("kv_lora_rank"))
    latentAttention(prefix + "self_attn.", hasIndexer);
  else
    groupedAttention(prefix + "self_attn.");
  if (!isMixture)
    return gatedMlp(prefix + "mlp", integer("intermediate_size"));
  int64_t experts = integer("n_routed_experts"), width = integer("moe_intermediate_size");
  matrix(prefix + "mlp.gate.weight", experts, hidden_);
  bias(prefix + "mlp.gate.e_score_correction_bias", experts);
  for (int64_t i = 0; i < experts; ++i)
    gatedMlp(prefix + "mlp.experts." + std::to_string(i), width);
  if (int64_t shared = integer("n_shared_experts", 0); shared != 0)
    gatedMlp(prefix + "mlp.shared_experts", width * shared);
}

Expected<std::vector<ModelTensor>> TensorLister::list() {
  if (!config_.is_object())
    return Status(StatusCode::InvalidArgument, "config: expected an object");
  layers_ = integer("num_hidden_layers");
  hidden_ = integer("hidden_size");
  int64_t vocabulary = integer("vocab_size");
  add("model.embed_tokens.weight", {vocabulary, hidden_}, 1, 0);
  norm("model.norm.weight", hidden_);
  if (!boolean("tie_word_embeddings"))
    matrix("lm_head.weight", vocabulary, hidden_);
  std::vector<bool> indexers = indexerSchedule(), mixtures = mixtureSchedule();
  for (int64_t i = 0; i < layers_; ++i)
    layer(i, indexers[size_t(i)], mixtures[size_t(i)]);
  // Layers for multi-token prediction come after the model's own.
  int64_t end = layers_ + integer("num_nextn_predict_layers", 0);
  for (int64_t i = layers_; i < end && status_.ok(); ++i) {
    layer(i, has("index_topk"), !mixtures.empty() && mixtures.back());
    std::string prefix = "model.layers." + std::to_string(i) + ".";
    norm(prefix + "enorm.weight", hidden_);
    norm(prefix + "hnorm.weight", hidden_);
    matrix(prefix + "eh_proj.weight", hidden_, 2 * hidden_);
    norm(prefix + "shared_head.norm.weight", hidden_);
  }
  if (!status_.ok())
    return status_;
  std::sort(
      tensors_.begin(), tensors_.end(),
      [](const ModelTensor &left, const ModelTensor &right) { return left.name < right.name; });
  return std::move(tensors_);
}

} // namespace

Expected<std::vector<ModelTensor>> modelTensors(const json &config) {
  return TensorLister(config).list();
}

} // namespace strata::test
