//===- ModelConfigTest.cpp - Every key that can be wrong ------------------===//
#include "strata/lib/Import/ModelConfig.h"
#include "strata/lib/Import/IndexSchedule.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace strata;
using namespace strata::importer;

namespace {

constexpr const char *kGlm = R"({
  "model_type": "glm_moe_dsa", "dtype": "bfloat16", "hidden_size": 64, "num_hidden_layers": 10, "num_attention_heads": 4,
  "num_key_value_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 24, "qk_rope_head_dim": 8,
  "qk_head_dim": 32, "v_head_dim": 32, "head_dim": 192, "index_n_heads": 4, "index_head_dim": 16, "index_topk": 8,
  "index_topk_freq": 4, "index_skip_topk_offset": 3, "indexer_rope_interleave": true, "rope_interleave": true,
  "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
  "intermediate_size": 96, "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_group": 4, "topk_group": 2,
  "topk_method": "noaux_tc", "scoring_func": "sigmoid", "norm_topk_prob": true, "routed_scaling_factor": 2.5,
  "num_nextn_predict_layers": 1, "vocab_size": 256, "max_position_embeddings": 512,
  "rope_parameters": {"rope_type": "default", "rope_theta": 8000000}, "rms_norm_eps": 1e-05, "hidden_act": "silu",
  "attention_bias": false, "tie_word_embeddings": false, "eos_token_id": [7, 9]})";

constexpr const char *kV32 = R"({
  "model_type": "deepseek_v32", "torch_dtype": "float32", "hidden_size": 64, "num_hidden_layers": 4,
  "num_attention_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 16,
  "v_head_dim": 16, "index_n_heads": 8, "index_head_dim": 32, "index_topk": 8, "n_routed_experts": 8,
  "num_experts_per_tok": 2, "moe_intermediate_size": 32, "intermediate_size": 96, "first_k_dense_replace": 1, "n_group": 4,
  "topk_group": 2, "norm_topk_prob": true, "routed_scaling_factor": 2.5, "vocab_size": 256,
  "max_position_embeddings": 512, "rope_theta": 10000, "rope_scaling": {"type": "yarn", "factor": 40, "beta_fast": 32,
  "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 128},
  "rms_norm_eps": 1e-06})";

constexpr const char *kLlama = R"({
  "model_type": "llama", "dtype": "float16", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
  "num_key_value_heads": 2, "intermediate_size": 160, "rms_norm_eps": 1e-05, "vocab_size": 256,
  "max_position_embeddings": 512, "rope_theta": 500000.0, "tie_word_embeddings": true, "mlp_bias": false,
  "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
  "original_max_position_embeddings": 64}})";

constexpr const char *kMistral = R"({
  "model_type": "mistral", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
  "head_dim": 24, "intermediate_size": 160, "rms_norm_eps": 1e-05, "vocab_size": 256, "max_position_embeddings": 512,
  "rope_theta": 1000000.0, "sliding_window": 12})";

/// `base` with the keys of the object `changes` set; "remove" as a value removes the key. A key
/// "a.b" is b in a.
std::string with(const char *base, const std::string &changes) {
  llvm::json::Object object = *llvm::cantFail(llvm::json::parse(base)).getAsObject();
  llvm::json::Value parsed = llvm::cantFail(llvm::json::parse(changes));
  for (const auto &[key, value] : *parsed.getAsObject()) {
    auto [outer, inner] = llvm::StringRef(key).split('.');
    llvm::json::Object &target = inner.empty() ? object : *object.getObject(outer);
    llvm::StringRef name = inner.empty() ? outer : inner;
    if (value.getAsString() == "remove")
      target.erase(name);
    else
      target[name.str()] = value;
  }
  return llvm::formatv("{0}", llvm::json::Value(std::move(object))).str();
}

struct Parsed {
  std::optional<ModelConfig> config;
  Status status;
  std::vector<std::string> warnings, remarks;
};

Parsed parse(const char *base, const std::string &changes = "{}") {
  std::vector<Note> notes;
  Expected<ModelConfig> config = parseModelConfig(with(base, changes), notes);
  Parsed parsed;
  if (config.ok())
    parsed.config = *config;
  parsed.status = config.status();
  for (const Note &note : notes)
    (note.kind == Note::Kind::Warning ? parsed.warnings : parsed.remarks).push_back(note.text);
  return parsed;
}

std::string schedule(const ModelConfig &config) {
  std::string letters;
  for (const LayerConfig &layer : config.layers)
    letters += layer.index == IndexSource::Own      ? 'F'
               : layer.index == IndexSource::Shared ? 'S'
                                                    : '-';
  return letters;
}

std::string letters(const std::vector<bool> &owns) {
  std::string text;
  for (bool each : owns)
    text += each ? 'F' : 'S';
  return text;
}

struct Wrong {
  const char *base;
  const char *changes;
  const char *message;
};

TEST(ModelConfig, NamesEachBadValue) {
  const Wrong cases[] = {
      // Sizes and other plain values.
      {kGlm, R"({"hidden_size": -1})",
       "hidden_size: expected a positive integer below 2^31 but got -1"},
      {kGlm, R"({"hidden_size": 64.5})",
       "hidden_size: expected a positive integer below 2^31 but got 64.5"},
      {kGlm, R"({"hidden_size": "64"})",
       "hidden_size: expected a positive integer below 2^31 but got \"64\""},
      {kGlm, R"({"hidden_size": null})",
       "hidden_size: expected a positive integer below 2^31 but got null"},
      {kGlm, R"({"vocab_size": 2147483648})",
       "vocab_size: expected a positive integer below 2^31 but got 2147483648"},
      {kGlm, R"({"vocab_size": "remove"})",
       "vocab_size: expected a positive integer below 2^31 but the key is missing"},
      {kGlm, R"({"num_hidden_layers": 0})",
       "num_hidden_layers: expected a positive integer below 2^31 but got 0"},
      {kGlm, R"({"num_hidden_layers": 5000})",
       "num_hidden_layers: expected at most 4096 but got 5000"},
      {kGlm, R"({"max_position_embeddings": 0})",
       "max_position_embeddings: expected a positive integer below 2^31 but got 0"},
      {kGlm, R"({"rms_norm_eps": 0})", "rms_norm_eps: expected a positive number but got 0"},
      {kGlm, R"({"rms_norm_eps": "remove"})",
       "rms_norm_eps: expected a positive number but the key is missing"},
      {kGlm, R"({"attention_bias": 1})", "attention_bias: expected true or false but got 1"},
      {kGlm, R"({"hidden_act": "gelu"})", "hidden_act: expected \"silu\" but got \"gelu\""},
      {kGlm, R"({"dtype": "float64"})",
       "dtype: expected \"float32\" or \"bfloat16\" or \"float16\" but got \"float64\""},
      {kGlm, R"({"eos_token_id": 256})",
       "eos_token_id: expected token ids from 0 to 255 but got 256"},
      {kGlm, R"({"eos_token_id": [1, "x"]})",
       "eos_token_id: expected token ids from 0 to 255 but got \"x\""},
      {kGlm, R"({"num_nextn_predict_layers": -1})",
       "num_nextn_predict_layers: expected an integer from 0 to 4096 but got -1"},
      // Latent attention.
      {kGlm, R"({"qk_rope_head_dim": 7, "qk_head_dim": "remove"})",
       "qk_rope_head_dim: expected an even number but got 7"},
      {kGlm, R"({"qk_head_dim": 40})",
       "qk_head_dim: expected qk_nope_head_dim + qk_rope_head_dim = 32 but got 40"},
      {kGlm, R"({"kv_lora_rank": "remove"})",
       "kv_lora_rank: expected a positive integer below 2^31 but the key is missing"},
      {kGlm, R"({"q_lora_rank": "remove"})",
       "q_lora_rank: expected a positive integer or null but the key is missing"},
      {kGlm, R"({"q_lora_rank": null})",
       "q_lora_rank: expected a positive integer but got null: the indexer needs the query's "
       "latent"},
      {kGlm, R"({"num_key_value_heads": 2})",
       "num_key_value_heads: expected num_attention_heads = 4 but got 2"},
      {kGlm,
       R"({"num_attention_heads": 1000000, "num_key_value_heads": "remove", "v_head_dim": 3000})",
       "num_attention_heads: the rows of kv_b_proj = 1000000 × 3024 must be below 2^31"},
      {kGlm, R"({"sliding_window": 12})",
       "sliding_window: expected null, since models of type glm_moe_dsa have no window, but got "
       "12"},
      {kGlm, R"({"layer_types": ["linear_attention"]})",
       "layer_types: expected full_attention or deepseek_sparse_attention for layer 0 but got "
       "\"linear_attention\""},
      {kGlm, R"({"rope_interleave": "yes"})",
       "rope_interleave: expected true or false but got \"yes\""},
      // The indexer.
      {kGlm, R"({"index_topk": 0})",
       "index_topk: expected a positive integer below 2^31 but got 0"},
      {kV32, R"({"index_topk": "remove"})",
       "index_topk: expected a positive integer below 2^31 but the key is missing"},
      {kGlm, R"({"index_head_dim": 6})",
       "index_head_dim: expected at least qk_rope_head_dim = 8 but got 6"},
      {kGlm, R"({"indexer_rope_interleave": "remove"})",
       "indexer_rope_interleave: expected true or false but the key is missing"},
      {kGlm, R"({"index_topk_freq": 0})",
       "index_topk_freq: expected a positive integer below 2^31 but got 0"},
      {kGlm, R"({"index_skip_topk_offset": -1})",
       "index_skip_topk_offset: expected an integer from 0 to 2147483647 but got -1"},
      {kGlm, R"({"index_skip_topk_offset": 0})",
       "index_topk_freq with index_skip_topk_offset: layer 0 is shared, but no layer below it has "
       "an indexer to share"},
      {kGlm, R"({"index_topk_pattern": "SFFFFFFFFF"})",
       "index_topk_pattern: layer 0 is shared, but no layer below it has an indexer to share"},
      {kGlm, R"({"index_topk_pattern": "FFF"})",
       "index_topk_pattern: expected 10 entries, or 11 with prediction layers, but got 3"},
      {kGlm, R"({"index_topk_pattern": "FFF", "num_nextn_predict_layers": 0})",
       "index_topk_pattern: expected 10 entries but got 3"},
      {kGlm, R"({"index_topk_pattern": "FFFXFFFFFF"})",
       "index_topk_pattern: expected full or shared for layer 3 but got \"X\""},
      {kGlm, R"({"index_topk_pattern": 4})",
       "index_topk_pattern: expected a string of F and S, or a list of full and shared but got 4"},
      {kV32, R"({"indexer_types": ["full", "half", "full", "full"]})",
       "indexer_types: expected full or shared for layer 1 but got \"half\""},
      {kV32, R"({"indexer_types": ["full", 1, "full", "full"]})",
       "indexer_types: expected full or shared for layer 1 but got \"1\""},
      {kV32, R"({"indexer_types": "FFFF"})",
       "indexer_types: expected a list of full and shared but got \"FFFF\""},
      // Mixture of experts.
      {kGlm, R"({"n_group": 3})", "n_group: expected a divisor of n_routed_experts = 8 but got 3"},
      {kGlm, R"({"n_group": 8})",
       "n_group: expected groups of at least two of the 8 experts, whose sum is a group's score, "
       "but got 8"},
      {kGlm, R"({"topk_group": 5})", "topk_group: expected at most n_group = 4 but got 5"},
      {kGlm, R"({"num_experts_per_tok": 5})",
       "num_experts_per_tok: expected at most 4, the experts in the 2 chosen groups, but got 5"},
      {kGlm, R"({"n_group": "remove"})",
       "n_group: expected a positive integer below 2^31 but the key is missing"},
      {kGlm, R"({"norm_topk_prob": "remove"})",
       "norm_topk_prob: expected true or false but the key is missing"},
      {kGlm, R"({"routed_scaling_factor": "remove"})",
       "routed_scaling_factor: expected a positive number but the key is missing"},
      {kGlm, R"({"scoring_func": "softmax"})",
       "scoring_func: expected \"sigmoid\" but got \"softmax\""},
      {kGlm, R"({"topk_method": "greedy"})",
       "topk_method: expected \"noaux_tc\" but got \"greedy\""},
      {kGlm, R"({"first_k_dense_replace": "remove"})",
       "first_k_dense_replace: expected an integer not below 0, since mlp_layer_types is not "
       "given, but the key is missing"},
      {kV32, R"({"mlp_layer_types": ["dense", "sparse"]})",
       "mlp_layer_types: expected a list of 4 but got 2"},
      {kV32, R"({"mlp_layer_types": ["dense", "thin", "sparse", "sparse"]})",
       "mlp_layer_types: expected \"dense\" or \"sparse\" for layer 1 but got \"thin\""},
      {kV32, R"({"intermediate_size": "remove"})",
       "intermediate_size: expected a positive integer below 2^31 but the key is missing"},
      // Rotary embedding.
      {kV32, R"({"rope_theta": "remove"})",
       "rope_theta: expected a positive number but the key is missing"},
      {kV32, R"({"rope_theta": 1})", "rope_theta: expected a number above 1 but got 1"},
      {kGlm, R"({"rope_parameters.rope_theta": "1e6"})",
       "rope_parameters.rope_theta: expected a positive number but got \"1e6\""},
      {kV32, R"({"rope_scaling.type": "linear"})",
       "rope_scaling.type: expected \"default\", \"yarn\" or \"llama3\" but got \"linear\", which "
       "is not supported"},
      {kLlama, R"({"rope_scaling.rope_type": "dynamic"})",
       "rope_scaling.rope_type: expected \"default\", \"yarn\" or \"llama3\" but got \"dynamic\", "
       "which is not supported"},
      {kV32, R"({"rope_scaling.type": "remove"})",
       "rope_scaling.rope_type: expected \"default\", \"yarn\" or \"llama3\" but the key is "
       "missing"},
      {kV32, R"({"rope_scaling": [1]})", "rope_scaling: expected an object or null but got [1]"},
      {kV32, R"({"rope_scaling.factor": "remove"})",
       "rope_scaling.factor: expected a positive number but the key is missing"},
      {kV32, R"({"rope_scaling.factor": 0.5})",
       "rope_scaling.factor: expected a number of at least 1 but got 0.5"},
      {kV32, R"({"rope_scaling.beta_slow": 32})",
       "rope_scaling.beta_fast: expected a number above beta_slow = 32 but got 32"},
      {kV32, R"({"rope_scaling.original_max_position_embeddings": "remove"})",
       "rope_scaling.original_max_position_embeddings: expected a positive integer below 2^31 but "
       "the key is missing"},
      {kV32, R"({"rope_scaling.mscale": -1})",
       "rope_scaling.mscale: expected a number not below 0 but got -1"},
      {kLlama, R"({"rope_scaling.high_freq_factor": 1})",
       "rope_scaling.high_freq_factor: expected a number above low_freq_factor = 1 but got 1"},
      {kLlama, R"({"partial_rotary_factor": 0.5})", "partial_rotary_factor: only 1 is supported"},
      // Grouped attention.
      {kLlama, R"({"num_key_value_heads": 3})",
       "num_key_value_heads: expected a divisor of num_attention_heads = 4 but got 3"},
      {kLlama, R"({"hidden_size": 66})",
       "hidden_size: expected a multiple of num_attention_heads = 4, since head_dim is not given, "
       "but got 66"},
      {kLlama, R"({"head_dim": 15})", "head_dim: expected an even number but got 15"},
      {kLlama, R"({"mlp_bias": true})", "mlp_bias: biases of the MLP are not supported"},
      {kLlama, R"({"sliding_window": 4096})",
       "sliding_window: expected null, since models of type llama have no window, but got 4096"},
      {kMistral, R"({"sliding_window": "remove"})",
       "sliding_window: expected a positive integer or null but the key is missing"},
      {kMistral, R"({"sliding_window": 0})",
       "sliding_window: expected a positive integer below 2^31 but got 0"},
      {kMistral, R"({"attention_bias": true})",
       "attention_bias: models of type mistral have no biases"},
      {kMistral, R"({"layer_types": ["full_attention"]})",
       "layer_types: expected sliding_attention for layer 0 but got \"full_attention\""},
      // Quantisation.
      {kGlm, R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})",
       "quantization_config.quant_method: expected \"fp8\" but got \"gptq\""},
      {kGlm, R"({"quantization_config": {}})",
       "quantization_config.quant_method: expected \"fp8\" but the key is missing"},
      {kGlm, R"({"quantization_config": {"quant_method": "fp8", "fmt": "e5m2"}})",
       "quantization_config.fmt: expected \"e4m3\" but got \"e5m2\""},
      {kGlm, R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 64]}})",
       "quantization_config.weight_block_size: expected [128, 128] but got [64,64]"},
      {kGlm, R"({"quantization_config": {"quant_method": "fp8", "activation_scheme": "static"}})",
       "quantization_config.activation_scheme: expected \"dynamic\" but got \"static\""},
      // Other models.
      {kGlm, R"({"swiglu_limit": 10})", "swiglu_limit: not supported, got 10"},
      {kGlm, R"({"model_type": "remove"})", "model_type: expected a string but the key is missing"},
  };
  for (const Wrong &wrong : cases) {
    Parsed parsed = parse(wrong.base, wrong.changes);
    EXPECT_FALSE(parsed.config) << wrong.changes;
    EXPECT_EQ(parsed.status.message(), wrong.message) << wrong.changes;
  }
}

/// Whatever stands under whatever key: an error or a model, never a crash.
TEST(ModelConfig, AnyValueUnderAnyKey) {
  int64_t errors = 0;
  for (const char *base : {kGlm, kV32, kLlama, kMistral}) {
    llvm::json::Value parsed = llvm::cantFail(llvm::json::parse(base));
    for (const auto &entry : *parsed.getAsObject())
      for (const char *value :
           {"null", "true", "-1", "0", "1", "1.5", "1e300", "2147483647", "9223372036854775807",
            "\"x\"", "[]", "[1, null]", "{}", "{\"rope_type\": 3}", "{\"rope_theta\": null}"})
        errors +=
            !parse(base, "{\"" + llvm::StringRef(entry.first).str() + "\": " + value + "}").config;
  }
  EXPECT_GT(errors, 500);
}

TEST(ModelConfig, RefusesOtherModelsByName) {
  for (const char *type : {"deepseek_v4", "glm5_next", "qwen3"}) {
    Parsed parsed = parse(kGlm, llvm::formatv(R"({{"model_type": "{0}"})", type).str());
    EXPECT_EQ(parsed.status.code(), StatusCode::Unsupported);
    EXPECT_NE(parsed.status.message().find(type), std::string::npos);
    EXPECT_NE(parsed.status.message().find(
                  "supported are glm_moe_dsa, deepseek_v32, deepseek_v3, llama, mistral"),
              std::string::npos);
  }
}

TEST(ModelConfig, SaysWhereJsonIsBroken) {
  std::vector<Note> notes;
  EXPECT_EQ(parseModelConfig("{\"a\": ", notes).status().code(), StatusCode::Corrupt);
  EXPECT_EQ(parseModelConfig("[1]", notes).status().message(),
            "expected a JSON object but got [1]");
  EXPECT_EQ(parseModelConfig("", notes).status().code(), StatusCode::Corrupt);
}

TEST(ModelConfig, RefusesWhatParsersDisagreeAbout) {
  std::vector<Note> notes;
  std::string deep(1000000, '[');
  EXPECT_EQ(parseModelConfig(deep, notes).status().message(),
            "not a config: nested more than 64 deep");
  EXPECT_EQ(parseModelConfig("{\"a\\\"[\": " + deep, notes).status().message(),
            "not a config: nested more than 64 deep");
  EXPECT_EQ(parseModelConfig(R"({"vocab_size": 1, "vocab_size": 2})", notes).status().message(),
            "'vocab_size' is given twice");
  // Brackets within a string are not nested.
  std::string text = with(kGlm, R"({"comment": "remove"})");
  text.insert(1, "\"comment\": \"" + std::string(100, '[') + "\",");
  EXPECT_TRUE(parseModelConfig(text, notes).ok());
}

TEST(ModelConfig, ReadsGlm) {
  Parsed parsed = parse(kGlm);
  ASSERT_TRUE(parsed.config) << parsed.status.message();
  const ModelConfig &config = *parsed.config;
  EXPECT_EQ(schedule(config), "FFFSSSFSSS");
  EXPECT_TRUE(config.rope.interleaved);
  EXPECT_TRUE(config.indexer->interleaved);
  EXPECT_EQ(config.rope.theta, 8e6); // nested under rope_parameters, nothing at the top
  EXPECT_EQ(config.attentionScale, 1 / std::sqrt(32.0));
  EXPECT_EQ(config.normEpsilon, 1e-5);
  EXPECT_EQ(config.latent->queryNormEpsilon, 1e-6); // not rms_norm_eps
  EXPECT_EQ(config.latent->latentNormEpsilon, 1e-6);
  EXPECT_EQ(config.indexer->keyNormEpsilon, 1e-6);
  EXPECT_FALSE(config.layers[0].sparse);
  EXPECT_TRUE(config.layers[1].sparse);
  EXPECT_EQ(config.mixture->sharedWidth, 32);
  EXPECT_EQ(config.storedType, ElementType::BF16);
  EXPECT_EQ(config.eosTokenIds, (std::vector<int32_t>{7, 9}));
  EXPECT_TRUE(parsed.warnings.empty()) << parsed.warnings[0];
  EXPECT_TRUE(parsed.remarks.empty());
  EXPECT_EQ(config.predictionLayers, 1);
}

TEST(ModelConfig, ReadsDeepSeek) {
  Parsed parsed = parse(kV32);
  ASSERT_TRUE(parsed.config) << parsed.status.message();
  const ModelConfig &config = *parsed.config;
  EXPECT_EQ(schedule(config), "FFFF");
  EXPECT_TRUE(config.rope.interleaved);
  EXPECT_FALSE(config.indexer->interleaved); // row 2: half-split when nothing is said
  EXPECT_EQ(config.rope.scaling, RopeConfig::Scaling::Yarn);
  EXPECT_EQ(config.rope.attentionFactor, 1);
  EXPECT_EQ(config.rope.originalPositions, 128);
  double magnitude = 0.1 * std::log(40.0) + 1;
  EXPECT_DOUBLE_EQ(config.attentionScale, magnitude * magnitude / std::sqrt(32.0));
  EXPECT_NEAR(magnitude, 1.3689, 1e-4);
  EXPECT_EQ(config.storedType, ElementType::F32); // torch_dtype
  EXPECT_EQ(config.mixture->sharedWidth, 32);     // one shared expert where the key is missing
}

TEST(ModelConfig, ReadsDenseLatentAttentionWithoutQueryLatent) {
  Parsed parsed =
      parse(kV32, R"({"model_type": "deepseek_v3", "q_lora_rank": null, "rope_scaling": null,
      "rope_interleave": false, "index_n_heads": "remove", "index_head_dim": "remove", "index_topk": "remove",
      "n_shared_experts": null})");
  ASSERT_TRUE(parsed.config) << parsed.status.message();
  EXPECT_FALSE(parsed.config->latent->queryRank);
  EXPECT_FALSE(parsed.config->indexer);
  EXPECT_FALSE(parsed.config->rope.interleaved);
  EXPECT_EQ(schedule(*parsed.config), "----");
  EXPECT_EQ(parsed.config->mixture->sharedWidth, 0);
  EXPECT_EQ(parsed.config->attentionScale, 1 / std::sqrt(32.0));
}

TEST(ModelConfig, ReadsGroupedAttention) {
  Parsed llama = parse(kLlama);
  ASSERT_TRUE(llama.config) << llama.status.message();
  EXPECT_EQ(llama.config->grouped->headWidth, 16); // hidden_size / num_attention_heads
  EXPECT_EQ(llama.config->rope.scaling, RopeConfig::Scaling::Llama3);
  EXPECT_FALSE(llama.config->rope.interleaved);
  EXPECT_TRUE(llama.config->tiedEmbeddings);
  EXPECT_FALSE(llama.config->mixture);
  EXPECT_TRUE(llama.warnings.empty()) << llama.warnings[0];
  EXPECT_EQ(parse(kLlama, R"({"head_dim": null})").config->grouped->headWidth, 16);
  EXPECT_EQ(parse(kLlama, R"({"num_key_value_heads": null})").config->grouped->keyHeads, 4);
  EXPECT_EQ(parse(kLlama, R"({"rope_theta": "remove"})").config->rope.theta, 10000);
  EXPECT_TRUE(parse(kLlama, R"({"attention_bias": true})").config->attentionBias);

  Parsed mistral = parse(kMistral);
  ASSERT_TRUE(mistral.config) << mistral.status.message();
  EXPECT_EQ(mistral.config->grouped->window, 12);
  EXPECT_EQ(mistral.config->grouped->headWidth, 24);
  EXPECT_FALSE(parse(kMistral, R"({"sliding_window": null})").config->grouped->window);
}

TEST(ModelConfig, EosTokensMayBeAbsentOneOrMany) {
  EXPECT_TRUE(parse(kGlm, R"({"eos_token_id": null})").config->eosTokenIds.empty());
  EXPECT_TRUE(parse(kGlm, R"({"eos_token_id": "remove"})").config->eosTokenIds.empty());
  EXPECT_EQ(parse(kGlm, R"({"eos_token_id": 0})").config->eosTokenIds, std::vector<int32_t>{0});
}

TEST(ModelConfig, YarnAttentionFactor) {
  auto factor = [](const char *changes) {
    Parsed parsed = parse(kV32, changes);
    return parsed.config ? parsed.config->rope.attentionFactor : 0;
  };
  double plain = 0.1 * std::log(40.0) + 1;
  EXPECT_DOUBLE_EQ(
      factor(R"({"rope_scaling.mscale": "remove", "rope_scaling.mscale_all_dim": "remove"})"),
      plain);
  EXPECT_DOUBLE_EQ(factor(R"({"rope_scaling.mscale_all_dim": 0})"), plain);
  EXPECT_DOUBLE_EQ(factor(R"({"rope_scaling.mscale": 0.5})"), (0.05 * std::log(40.0) + 1) / plain);
  EXPECT_DOUBLE_EQ(factor(R"({"rope_scaling.attention_factor": 2})"), 2);
  EXPECT_DOUBLE_EQ(factor(R"({"rope_scaling.factor": 1})"), 1);
  // Without mscale_all_dim the softmax scale stays.
  EXPECT_EQ(parse(kV32, R"({"rope_scaling.mscale_all_dim": "remove"})").config->attentionScale,
            1 / std::sqrt(32.0));
  EXPECT_FALSE(parse(kV32, R"({"rope_scaling.truncate": false})").config->rope.truncate);
}

TEST(ModelConfig, WarnsWhereReferencesDisagree) {
  Parsed parsed = parse(kV32, R"({"rope_scaling.original_max_position_embeddings": 512})");
  ASSERT_EQ(parsed.warnings.size(), 1u);
  EXPECT_NE(parsed.warnings[0].find("max_position_embeddings = 512 is not above"),
            std::string::npos);

  parsed = parse(kGlm, R"({"rope_theta": 10000})");
  ASSERT_EQ(parsed.warnings.size(), 1u);
  EXPECT_NE(parsed.warnings[0].find("rope_parameters.rope_theta counts"), std::string::npos);
  EXPECT_EQ(parsed.config->rope.theta, 8e6);

  parsed = parse(kV32, R"({"mlp_layer_types": ["sparse", "sparse", "sparse", "sparse"]})");
  ASSERT_EQ(parsed.warnings.size(), 1u);
  EXPECT_TRUE(parsed.config->layers[0].sparse);

  parsed = parse(kGlm, R"({"residual_multiplier": 2, "_comment": 1, "architectures": []})");
  ASSERT_EQ(parsed.warnings.size(), 1u);
  EXPECT_EQ(parsed.warnings[0], "unknown keys are ignored: residual_multiplier");

  parsed = parse(kLlama, R"({"rope_scaling.beta_fast": 32})");
  ASSERT_EQ(parsed.warnings.size(), 1u);
  EXPECT_EQ(parsed.warnings[0],
            "rope_scaling.beta_fast has no effect on a rotary embedding of type llama3");
}

TEST(ModelConfig, SparseLayersByCount) {
  auto sparse = [](const char *changes) {
    std::string text;
    Parsed parsed = parse(kV32, changes);
    for (const LayerConfig &layer : parsed.config->layers)
      text += layer.sparse ? 's' : 'd';
    return text;
  };
  EXPECT_EQ(sparse("{}"), "dsss");
  EXPECT_EQ(sparse(R"({"first_k_dense_replace": 0})"), "ssss");
  EXPECT_EQ(sparse(R"({"first_k_dense_replace": 9})"), "dddd");
  EXPECT_EQ(sparse(R"({"moe_layer_freq": 2})"), "ddsd");
  EXPECT_EQ(sparse(R"({"n_routed_experts": null})"), "dddd");
}

TEST(ModelConfig, Quantisation) {
  Parsed parsed = parse(
      kGlm, R"({"quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "scale_fmt": "ue8m0",
      "activation_scheme": "dynamic", "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]}})");
  ASSERT_TRUE(parsed.config) << parsed.status.message();
  EXPECT_EQ(parsed.config->quantisation->excluded, std::vector<std::string>{"lm_head"});
}

/// Row 21 of the list of public bugs: layers count from 0.
TEST(IndexSchedule, ByFrequency) {
  EXPECT_EQ(letters(scheduleByFrequency(10, 4, 2)), "FFSSSFSSSF");
  EXPECT_EQ(letters(scheduleByFrequency(11, 4, 3)), "FFFSSSFSSSF");
  EXPECT_EQ(letters(scheduleByFrequency(4, 1, 2)), "FFFF");
  EXPECT_EQ(letters(scheduleByFrequency(6, 2, 1)), "FSFSFS");
  std::vector<bool> glm = scheduleByFrequency(78, 4, 3);
  EXPECT_EQ(std::count(glm.begin(), glm.end(), true), 21);
  EXPECT_TRUE(glm[74]);
}

/// Row 19: three encodings of one schedule.
TEST(IndexSchedule, EncodingsAreEqual) {
  const char *none = R"("index_topk_freq": null, "index_skip_topk_offset": null)";
  for (
      std::string encoding :
      {std::string(R"("index_topk_freq": 4, "index_skip_topk_offset": 3)"),
       std::string(R"("index_topk_pattern": "FFFSSSFSSS", )") + none,
       std::string(R"("index_topk_pattern": "FFFSSSFSSSF", )") + none, // with the prediction layer
       std::string(R"("index_topk_pattern": ["F","full","F","S","shared","S","F","S","S","S"], )") +
           none,
       std::string(
           R"("indexer_types": ["full","full","full","shared","shared","shared","full","shared","shared","shared"], )") +
           none}) {
    Parsed parsed = parse(kGlm, "{" + encoding + "}");
    ASSERT_TRUE(parsed.config) << parsed.status.message();
    EXPECT_EQ(schedule(*parsed.config), "FFFSSSFSSS");
    EXPECT_TRUE(parsed.warnings.empty()) << parsed.warnings[0];
  }
}

TEST(IndexSchedule, DisagreementGivesOneWarning) {
  Parsed parsed = parse(
      kV32, R"({"indexer_types": ["full", "shared", "full", "shared"], "index_topk_pattern": "FFFF",
      "index_topk_freq": 3})");
  EXPECT_EQ(schedule(*parsed.config), "FSFS");
  ASSERT_EQ(parsed.warnings.size(), 1u);
  EXPECT_EQ(parsed.warnings[0], "indexer_types and index_topk_pattern disagree from layer 1 on "
                                "(shared against full); indexer_types counts");

  parsed = parse(kV32, R"({"index_topk_pattern": "FFSS", "index_topk_freq": 1})");
  EXPECT_EQ(schedule(*parsed.config), "FFSS");
  ASSERT_EQ(parsed.warnings.size(), 1u);
  EXPECT_NE(parsed.warnings[0].find("index_topk_freq with index_skip_topk_offset"),
            std::string::npos);
}

TEST(IndexSchedule, NullFrequencyMeansThatNothingIsShared) {
  EXPECT_EQ(schedule(*parse(kGlm, R"({"index_topk_freq": null})").config), "FFFFFFFFFF");
  EXPECT_EQ(schedule(*parse(kGlm, R"({"index_topk_freq": "remove"})").config), "FFFFFFFFFF");
  // Row 18: a model whose layers all own an indexer, run with a schedule.
  EXPECT_EQ(schedule(*parse(kV32, R"({"index_topk_freq": 2})").config), "FFSF");
}

} // namespace
