//===- FeedForwardConfig.cpp - MLPs and experts of a config ---------------===//
#include "strata/lib/Import/ConfigParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace strata::importer {

/// `first_k_dense_replace` with `moe_layer_freq`: the first layers are dense, of the others each
/// freq-th is sparse.
static std::vector<bool> sparseByCount(ConfigReader &reader, size_t layers) {
  if (!reader.has("first_k_dense_replace"))
    reader.fail("first_k_dense_replace",
                "an integer not below 0, since mlp_layer_types is not given,");
  int64_t dense = reader.integerOr("first_k_dense_replace", 0, 0, INT32_MAX);
  int64_t frequency = reader.sizeOr("moe_layer_freq", 1);
  std::vector<bool> sparse;
  for (int64_t layer = 0; layer < int64_t(layers); ++layer)
    sparse.push_back(layer >= dense && layer % frequency == 0);
  return sparse;
}

static std::vector<bool> sparseByList(ConfigReader &reader, size_t layers,
                                      int64_t predictionLayers) {
  std::vector<bool> sparse(layers);
  const llvm::json::Array *list = reader.get("mlp_layer_types")->getAsArray();
  if (!list || (list->size() != layers && list->size() != layers + predictionLayers)) {
    reader.failWith("mlp_layer_types",
                    llvm::formatv("expected a list of {0} but got {1}", layers,
                                  list ? llvm::formatv("{0}", list->size()).str()
                                       : ConfigReader::show(reader.get("mlp_layer_types")))
                        .str());
    return sparse;
  }
  for (size_t layer = 0; layer < layers; ++layer) {
    std::optional<llvm::StringRef> word = (*list)[layer].getAsString();
    if (word != "dense" && word != "sparse")
      reader.failWith("mlp_layer_types",
                      llvm::formatv("expected \"dense\" or \"sparse\" for layer {0} but got {1}",
                                    layer, ConfigReader::show(&(*list)[layer]))
                          .str());
    sparse[layer] = word == "sparse";
  }
  return sparse;
}

static std::vector<bool> readSparseLayers(ConfigReader &reader, const ModelConfig &config) {
  size_t layers = config.layers.size();
  if (!reader.has("mlp_layer_types"))
    return sparseByCount(reader, layers);
  std::vector<bool> sparse = sparseByList(reader, layers, config.predictionLayers);
  if (!reader.has("first_k_dense_replace") || reader.failed())
    return sparse;
  std::vector<bool> counted = sparseByCount(reader, layers);
  if (counted != sparse)
    reader.warn("mlp_layer_types and first_k_dense_replace with moe_layer_freq disagree; "
                "mlp_layer_types counts");
  return sparse;
}

static MixtureConfig readMixture(ConfigReader &reader) {
  MixtureConfig mixture;
  mixture.experts = reader.size("n_routed_experts");
  mixture.expertsPerToken = reader.size("num_experts_per_tok");
  mixture.expertWidth = reader.size("moe_intermediate_size");
  mixture.groups = reader.size("n_group");
  mixture.topGroups = reader.size("topk_group");
  mixture.normalise = reader.flag("norm_topk_prob");
  mixture.scale = reader.positive("routed_scaling_factor");
  reader.wordOr("scoring_func", "sigmoid", {"sigmoid"});
  reader.wordOr("topk_method", "noaux_tc", {"noaux_tc"});

  // A null means none; where the key is missing transformers assumes one.
  int64_t shared = reader.integerOr("n_shared_experts", reader.mentions("n_shared_experts") ? 0 : 1,
                                    0, INT32_MAX / mixture.expertWidth);
  mixture.sharedWidth = shared * mixture.expertWidth;

  if (mixture.experts > 65536)
    reader.fail("n_routed_experts", "at most 65536");
  if (mixture.experts % mixture.groups != 0) {
    reader.fail("n_group",
                llvm::formatv("a divisor of n_routed_experts = {0}", mixture.experts).str());
    return mixture;
  }
  int64_t groupSize = mixture.experts / mixture.groups;
  if (mixture.groups > 1 && groupSize < 2)
    reader.fail(
        "n_group",
        llvm::formatv("groups of at least two of the {0} experts, whose sum is a group's score,",
                      mixture.experts)
            .str());
  if (mixture.topGroups > mixture.groups)
    reader.fail("topk_group", llvm::formatv("at most n_group = {0}", mixture.groups).str());
  else if (mixture.expertsPerToken > mixture.topGroups * groupSize)
    reader.fail("num_experts_per_tok",
                llvm::formatv("at most {0}, the experts in the {1} chosen groups,",
                              mixture.topGroups * groupSize, mixture.topGroups)
                    .str());
  return mixture;
}

/// Asks for the keys of a mixture, so that they do not count as unknown in a model without sparse
/// layers.
static void ignoreMixture(ConfigReader &reader) {
  for (llvm::StringRef key :
       {"n_routed_experts", "num_experts_per_tok", "moe_intermediate_size", "n_group", "topk_group",
        "norm_topk_prob", "routed_scaling_factor", "scoring_func", "topk_method",
        "n_shared_experts", "first_k_dense_replace", "moe_layer_freq", "mlp_layer_types"})
    reader.mentions(key);
}

void readFeedForward(ConfigReader &reader, ModelConfig &config, bool mayBeSparse) {
  // DeepSeek's own code takes "n_routed_experts": null for a model without experts.
  bool hasExperts = reader.has("n_routed_experts") || !reader.mentions("n_routed_experts");
  if (mayBeSparse && hasExperts) {
    std::vector<bool> sparse = readSparseLayers(reader, config);
    if (reader.failed())
      return;
    for (size_t layer = 0; layer < sparse.size(); ++layer)
      config.layers[layer].sparse = sparse[layer];
  }
  auto isSparse = [](const LayerConfig &layer) { return layer.sparse; };
  if (llvm::any_of(config.layers, isSparse))
    config.mixture = readMixture(reader);
  else if (mayBeSparse)
    ignoreMixture(reader);
  if (!llvm::all_of(config.layers, isSparse))
    config.mlpWidth = reader.size("intermediate_size");
  reader.mentions("intermediate_size");

  if (reader.flagOr("mlp_bias", false))
    reader.refuse("mlp_bias", "biases of the MLP are not supported");
  reader.wordOr("hidden_act", "silu", {"silu"});
}

} // namespace strata::importer
