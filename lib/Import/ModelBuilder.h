//===- ModelBuilder.h - Ops of a model, one layer after another -*- C++ -*-===//
#ifndef STRATA_LIB_IMPORT_MODELBUILDER_H
#define STRATA_LIB_IMPORT_MODELBUILDER_H

#include "strata/lib/Import/WeightTable.h"

#include "strata/dialects/Strata/IR.h"

#include "mlir/IR/Builders.h"

namespace strata::importer {

/// Makes ops at the end of the entry point. Values are f32 tensors [tokens, features] or [tokens,
/// heads, features].
class ModelBuilder {
public:
  ModelBuilder(mlir::OpBuilder &builder, const ModelConfig &config, WeightTable &weights,
               int64_t pageSize);

  const ModelConfig &config;
  const int64_t pageSize;

  /// What the ops that follow belong to, which names their location: "head", or "layer 3
  /// attention".
  void enter(const llvm::Twine &name);
  void enterLayer(size_t number, const llvm::Twine &part);
  /// Another part of the same layer.
  void enterPart(const llvm::Twine &part) { enterLayer(layer, part); }

  /// The values that every part uses; set once.
  mlir::Value batch;
  mlir::Value tokens; ///< index: the number of tokens

  mlir::Value weight(const llvm::Twine &name, llvm::ArrayRef<int64_t> shape, WeightKind kind,
                     WeightPart part = {});
  /// x · Wᵀ with the matrix `name`.weight, and with `bias` the vector `name`.bias.
  mlir::Value linear(mlir::Value x, const llvm::Twine &name, int64_t outputs, bool bias = false,
                     WeightKind kind = WeightKind::Product);
  mlir::Value headLinear(mlir::Value x, mlir::Value weight, bool transposed);
  /// With the weight `name`.weight.
  mlir::Value rmsNorm(mlir::Value x, const llvm::Twine &name, double epsilon);
  mlir::Value layerNorm(mlir::Value x, const llvm::Twine &name, double epsilon);
  /// Rotates elements [offset, offset + width) of the last dimension.
  mlir::Value rope(mlir::Value x, int64_t offset, int64_t width, bool interleaved);
  mlir::Value gatedMlp(mlir::Value x, const llvm::Twine &name, int64_t width);
  mlir::Value add(mlir::Value a, mlir::Value b);

  /// Elements [offset, offset + width) of the last dimension.
  mlir::Value slice(mlir::Value x, int64_t offset, int64_t width);
  /// [tokens, heads × width] → [tokens, heads, width].
  mlir::Value splitHeads(mlir::Value x, int64_t heads);
  /// [tokens, heads, width] → [tokens, heads × width].
  mlir::Value mergeHeads(mlir::Value x);
  /// Side by side in the last dimension.
  mlir::Value concatenate(mlir::Value a, mlir::Value b);

  mlir::Value append(mlir::Value cache, mlir::ValueRange values);
  /// Attention over one source; the value's width is the cache's. `rows` goes with the selector of
  /// that kind.
  mlir::Value attention(mlir::Value query, mlir::Value cache, SelectorKind selector, int64_t count,
                        mlir::Value rows);

  CacheType cacheType(llvm::ArrayRef<CacheFieldAttr> fields, bool interleaved);
  CacheFieldAttr cacheField(FieldRole role, int64_t heads, int64_t width);

  mlir::RankedTensorType tensorType(llvm::ArrayRef<int64_t> shape);
  static int64_t widthOf(mlir::Value x);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  RopeAttr ropeTable(bool interleaved);

  WeightTable &weights;
  size_t layer = 0;
};

/// The caches of a layer: at first arguments of the entry point, at the end what it returns.
struct LayerCaches {
  mlir::Value keys;
  mlir::Value index; ///< null without an indexer
};

CacheType keyCacheType(ModelBuilder &model);
CacheType indexCacheType(ModelBuilder &model);

// The parts of a layer. `x` is the normed hidden state, `name` begins the weights' names
// ("model.layers.3.self_attn").

/// Appends to `caches`. `rows` are the selected positions of the nearest layer below, null if there
/// are none; a layer with an indexer of its own replaces them.
mlir::Value buildLatentAttention(ModelBuilder &model, mlir::Value x, const std::string &name,
                                 IndexSource index, LayerCaches &caches, mlir::Value &rows);
mlir::Value buildGroupedAttention(ModelBuilder &model, mlir::Value x, const std::string &name,
                                  LayerCaches &caches);
/// The selected positions. `queryLatent` is the normed latent that the queries come from.
mlir::Value buildIndexer(ModelBuilder &model, mlir::Value x, mlir::Value queryLatent,
                         const std::string &name, mlir::Value &indexCache);
/// Routed experts, plus the shared ones.
mlir::Value buildMixture(ModelBuilder &model, mlir::Value x, const std::string &name);

} // namespace strata::importer

#endif // STRATA_LIB_IMPORT_MODELBUILDER_H
