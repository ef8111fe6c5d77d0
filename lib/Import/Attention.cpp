//===- Attention.cpp - Latent and grouped attention -----------------------===//
#include "strata/lib/Import/ModelBuilder.h"

using namespace mlir;

namespace strata::importer {

CacheType keyCacheType(ModelBuilder &model) {
  const ModelConfig &config = model.config;
  if (config.latent)
    return model.cacheType({model.cacheField(FieldRole::KeyValue, 1, config.latent->latentWidth),
                            model.cacheField(FieldRole::Key, 1, config.latent->rotatedWidth)},
                           config.rope.interleaved);
  const GroupedAttentionConfig &grouped = *config.grouped;
  return model.cacheType({model.cacheField(FieldRole::Key, grouped.keyHeads, grouped.headWidth),
                          model.cacheField(FieldRole::Value, grouped.keyHeads, grouped.headWidth)},
                         config.rope.interleaved);
}

/// Absorbed: queries are mapped into the latent space, so that the cache holds only what all heads
/// share. Each head of `kv_b_proj` is [unrotated key rows; value rows].
Value buildLatentAttention(ModelBuilder &model, Value x, const std::string &name, IndexSource index,
                           LayerCaches &caches, Value &rows) {
  const ModelConfig &config = model.config;
  const LatentAttentionConfig &latent = *config.latent;
  bool bias = config.attentionBias;

  Value queryInput = x, queryLatent;
  if (latent.queryRank) {
    queryLatent = model.linear(x, name + ".q_a_proj", *latent.queryRank, bias);
    queryLatent = model.rmsNorm(queryLatent, name + ".q_a_layernorm", latent.queryNormEpsilon);
    queryInput = queryLatent;
  }
  int64_t queryWidth = latent.unrotatedWidth + latent.rotatedWidth;
  Value query = model.linear(queryInput, name + (latent.queryRank ? ".q_b_proj" : ".q_proj"),
                             config.heads * queryWidth);
  query = model.splitHeads(query, config.heads);
  Value rotated = model.rope(model.slice(query, latent.unrotatedWidth, latent.rotatedWidth), 0,
                             latent.rotatedWidth, config.rope.interleaved);

  WeightPart part{config.heads, latent.unrotatedWidth + latent.valueWidth, 0};
  Value keyUp = model.weight(name + ".kv_b_proj.weight",
                             {config.heads, latent.unrotatedWidth, latent.latentWidth},
                             WeightKind::Product, part);
  Value absorbed = model.headLinear(model.slice(query, 0, latent.unrotatedWidth), keyUp,
                                    /*transposed=*/true);
  query = model.concatenate(absorbed, rotated);

  Value keys =
      model.linear(x, name + ".kv_a_proj_with_mqa", latent.latentWidth + latent.rotatedWidth, bias);
  Value keyRotated = model.rope(model.slice(keys, latent.latentWidth, latent.rotatedWidth), 0,
                                latent.rotatedWidth, config.rope.interleaved);
  Value keyLatent = model.rmsNorm(model.slice(keys, 0, latent.latentWidth),
                                  name + ".kv_a_layernorm", latent.latentNormEpsilon);
  caches.keys = model.append(caches.keys, {keyLatent, keyRotated});

  if (index == IndexSource::Own) {
    model.enterPart("indexer");
    rows = buildIndexer(model, x, queryLatent, name + ".indexer", caches.index);
    model.enterPart("attention");
  }
  Value output = index == IndexSource::None
                     ? model.attention(query, caches.keys, SelectorKind::All, 0, nullptr)
                     : model.attention(query, caches.keys, SelectorKind::Rows, 0, rows);

  part.offset = latent.unrotatedWidth;
  Value valueUp = model.weight(name + ".kv_b_proj.weight",
                               {config.heads, latent.valueWidth, latent.latentWidth},
                               WeightKind::Product, part);
  output = model.mergeHeads(model.headLinear(output, valueUp, /*transposed=*/false));
  return model.linear(output, name + ".o_proj", config.hiddenWidth, bias);
}

Value buildGroupedAttention(ModelBuilder &model, Value x, const std::string &name,
                            LayerCaches &caches) {
  const ModelConfig &config = model.config;
  const GroupedAttentionConfig &grouped = *config.grouped;
  auto project = [&](const char *which, int64_t heads) {
    Value y = model.linear(x, name + which, heads * grouped.headWidth, config.attentionBias);
    // A cache field with one head takes [tokens, width].
    return heads == 1 && which != std::string(".q_proj") ? y : model.splitHeads(y, heads);
  };
  auto rotate = [&](Value y) {
    return model.rope(y, 0, grouped.headWidth, config.rope.interleaved);
  };
  Value query = rotate(project(".q_proj", config.heads));
  Value key = rotate(project(".k_proj", grouped.keyHeads));
  Value value = project(".v_proj", grouped.keyHeads);
  caches.keys = model.append(caches.keys, {key, value});

  Value output =
      grouped.window
          ? model.attention(query, caches.keys, SelectorKind::Window, *grouped.window, nullptr)
          : model.attention(query, caches.keys, SelectorKind::All, 0, nullptr);
  return model.linear(model.mergeHeads(output), name + ".o_proj", config.hiddenWidth,
                      config.attentionBias);
}

} // namespace strata::importer
