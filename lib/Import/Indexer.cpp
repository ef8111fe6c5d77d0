//===- Indexer.cpp - The indexer of sparse attention ----------------------===//
#include "strata/lib/Import/ModelBuilder.h"

#include <cmath>

using namespace mlir;

namespace strata::importer {

CacheType indexCacheType(ModelBuilder &model) {
  const IndexerConfig &indexer = *model.config.indexer;
  return model.cacheType({model.cacheField(FieldRole::Key, 1, indexer.headWidth)},
                         indexer.interleaved);
}

/// Queries come from the attention's query latent, keys and head weights from the layer's normed
/// hidden state. The rotated part is first, unlike in the attention. The Hadamard transform that
/// published kernels apply changes no score and is left out.
Value buildIndexer(ModelBuilder &model, Value x, Value queryLatent, const std::string &name,
                   Value &indexCache) {
  const IndexerConfig &indexer = *model.config.indexer;
  int64_t rotatedWidth = model.config.latent->rotatedWidth;

  Value query = model.linear(queryLatent, name + ".wq_b", indexer.heads * indexer.headWidth);
  query = model.rope(model.splitHeads(query, indexer.heads), 0, rotatedWidth, indexer.interleaved);
  Value key = model.linear(x, name + ".wk", indexer.headWidth);
  key = model.layerNorm(key, name + ".k_norm", indexer.keyNormEpsilon);
  key = model.rope(key, 0, rotatedWidth, indexer.interleaved);
  Value headWeights =
      model.linear(x, name + ".weights_proj", indexer.heads, /*bias=*/false, WeightKind::Plain);

  indexCache = model.append(indexCache, key);
  double scale = 1 / std::sqrt(double(indexer.heads) * double(indexer.headWidth));
  auto type =
      RankedTensorType::get({ShapedType::kDynamic, indexer.rows}, model.builder.getI32Type());
  return SelectOp::create(model.builder, model.loc, type, query, headWeights, indexCache,
                          model.batch, model.builder.getI64IntegerAttr(indexer.rows),
                          model.builder.getF64FloatAttr(scale));
}

} // namespace strata::importer
