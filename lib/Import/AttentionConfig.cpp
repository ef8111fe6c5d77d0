//===- AttentionConfig.cpp - Attention and indexer of a config ------------===//
#include "strata/lib/Import/ConfigParts.h"
#include "strata/lib/Import/IndexSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace strata::importer {

/// Widths that are products must stay in range as well: they are dimensions of weights.
static void checkProduct(ConfigReader &reader, llvm::StringRef key, int64_t left, int64_t right,
                         llvm::StringRef what) {
  if (left > INT32_MAX / right)
    reader.failWith(key,
                    llvm::formatv("{0} = {1} × {2} must be below 2^31", what, left, right).str());
}

/// `layer_types` decides nothing that other keys do not say better; it may only not contradict
/// them.
static void checkLayerTypes(ConfigReader &reader, llvm::ArrayRef<llvm::StringRef> allowed) {
  if (!reader.has("layer_types"))
    return;
  const llvm::json::Array *list = reader.get("layer_types")->getAsArray();
  if (!list)
    return reader.fail("layer_types", "a list");
  for (auto [layer, item] : llvm::enumerate(*list)) {
    std::optional<llvm::StringRef> word = item.getAsString();
    if (!word || !llvm::is_contained(allowed, *word))
      return reader.refuse("layer_types", llvm::formatv("expected {0} for layer {1} but got {2}",
                                                        llvm::join(allowed, " or "), layer,
                                                        ConfigReader::show(&item))
                                              .str());
  }
}

static void refuseWindow(ConfigReader &reader, const ModelConfig &config) {
  if (reader.has("sliding_window") && reader.flagOr("use_sliding_window", true))
    reader.refuse("sliding_window",
                  llvm::formatv("expected null, since models of type {0} have no "
                                "window, but got {1}",
                                config.modelType, ConfigReader::show(reader.get("sliding_window")))
                      .str());
}

static void readIndexer(ConfigReader &reader, ModelConfig &config) {
  const LatentAttentionConfig &latent = *config.latent;
  IndexerConfig indexer;
  indexer.heads = reader.size("index_n_heads");
  indexer.headWidth = reader.size("index_head_dim");
  indexer.rows = reader.size("index_topk");
  // GLM interleaves and DeepSeek does not, so only DeepSeek may leave the key out: a wrong layout
  // shows in no shape and, for contexts up to k, in no result.
  indexer.interleaved = config.modelType == "glm_moe_dsa"
                            ? reader.flag("indexer_rope_interleave")
                            : reader.flagOr("indexer_rope_interleave", false);
  checkProduct(reader, "index_n_heads", indexer.heads, indexer.headWidth,
               "index_n_heads × index_head_dim");
  if (indexer.headWidth < latent.rotatedWidth)
    reader.fail("index_head_dim",
                llvm::formatv("at least qk_rope_head_dim = {0}", latent.rotatedWidth).str());
  if (!latent.queryRank)
    reader.failWith(
        "q_lora_rank",
        "expected a positive integer but got null: the indexer needs the query's latent");
  config.indexer = indexer;

  std::vector<bool> owns = readIndexSchedule(reader, config.layers.size(), config.predictionLayers);
  for (size_t layer = 0; layer < config.layers.size(); ++layer)
    config.layers[layer].index = owns[layer] ? IndexSource::Own : IndexSource::Shared;
}

void readLatentAttention(ConfigReader &reader, ModelConfig &config) {
  LatentAttentionConfig latent;
  latent.latentWidth = reader.size("kv_lora_rank");
  latent.unrotatedWidth = reader.size("qk_nope_head_dim");
  latent.rotatedWidth = reader.size("qk_rope_head_dim");
  latent.valueWidth = reader.size("v_head_dim");
  if (reader.has("q_lora_rank"))
    latent.queryRank = reader.size("q_lora_rank");
  else if (!reader.mentions("q_lora_rank"))
    reader.fail("q_lora_rank", "a positive integer or null");
  if (latent.rotatedWidth % 2 != 0)
    reader.fail("qk_rope_head_dim", "an even number");
  if (reader.sizeOr("num_key_value_heads", config.heads) != config.heads)
    reader.fail("num_key_value_heads",
                llvm::formatv("num_attention_heads = {0}", config.heads).str());
  int64_t keyWidth = latent.unrotatedWidth + latent.rotatedWidth;
  if (reader.sizeOr("qk_head_dim", keyWidth) != keyWidth)
    reader.fail("qk_head_dim",
                llvm::formatv("qk_nope_head_dim + qk_rope_head_dim = {0}", keyWidth).str());
  // Published configs disagree on what head_dim means here, and nothing depends on it.
  reader.mentions("head_dim");
  checkProduct(reader, "num_attention_heads", config.heads, keyWidth, "the width of all queries");
  checkProduct(reader, "num_attention_heads", config.heads,
               latent.unrotatedWidth + latent.valueWidth, "the rows of kv_b_proj");
  checkProduct(reader, "num_attention_heads", config.heads,
               latent.latentWidth + latent.rotatedWidth, "the width of all absorbed queries");
  if (reader.failed())
    return;

  config.rope.interleaved = reader.flagOr("rope_interleave", true);
  config.attentionScale = 1 / std::sqrt(double(keyWidth));
  config.latent = latent;
  refuseWindow(reader, config);
  if (config.modelType == "deepseek_v3")
    return checkLayerTypes(reader, {"full_attention"});
  checkLayerTypes(reader, {"full_attention", "deepseek_sparse_attention"});
  readIndexer(reader, config);
}

void readGroupedAttention(ConfigReader &reader, ModelConfig &config) {
  GroupedAttentionConfig grouped;
  grouped.keyHeads = reader.sizeOr("num_key_value_heads", config.heads);
  if (config.heads % grouped.keyHeads != 0)
    reader.fail("num_key_value_heads",
                llvm::formatv("a divisor of num_attention_heads = {0}", config.heads).str());
  if (reader.has("head_dim")) {
    grouped.headWidth = reader.size("head_dim");
  } else {
    grouped.headWidth = config.hiddenWidth / config.heads;
    if (config.hiddenWidth % config.heads != 0)
      reader.fail("hidden_size", llvm::formatv("a multiple of num_attention_heads = {0}, since "
                                               "head_dim is not given,",
                                               config.heads)
                                     .str());
  }
  if (grouped.headWidth % 2 != 0)
    reader.failWith("head_dim",
                    llvm::formatv("expected an even number but got {0}", grouped.headWidth).str());
  checkProduct(reader, "num_attention_heads", config.heads, std::max<int64_t>(grouped.headWidth, 1),
               "the width of all queries");

  if (config.modelType == "mistral") {
    // transformers assumes 4096 where the key is missing, which later Mistral models are not
    // trained with.
    if (reader.has("sliding_window"))
      grouped.window = reader.size("sliding_window");
    else if (!reader.mentions("sliding_window"))
      reader.fail("sliding_window", "a positive integer or null");
    checkLayerTypes(reader, {grouped.window ? "sliding_attention" : "full_attention"});
    if (config.attentionBias)
      reader.refuse("attention_bias", "models of type mistral have no biases");
  } else {
    refuseWindow(reader, config);
    checkLayerTypes(reader, {"full_attention"});
  }
  if (reader.failed())
    return;
  config.attentionScale = 1 / std::sqrt(double(grouped.headWidth));
  config.grouped = grouped;
}

} // namespace strata::importer
