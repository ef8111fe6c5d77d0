//===- ModelBuilder.cpp - Ops of a model, one layer after another ---------===//
#include "strata/lib/Import/ModelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace strata::importer {

ModelBuilder::ModelBuilder(OpBuilder &builder, const ModelConfig &config, WeightTable &weights,
                           int64_t pageSize)
    : config(config), pageSize(pageSize), builder(builder), loc(builder.getUnknownLoc()),
      weights(weights) {}

void ModelBuilder::enter(const llvm::Twine &name) {
  loc = NameLoc::get(builder.getStringAttr(name));
}

void ModelBuilder::enterLayer(size_t number, const llvm::Twine &part) {
  layer = number;
  enter("layer " + llvm::Twine(number) + " " + part);
}

RankedTensorType ModelBuilder::tensorType(llvm::ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, builder.getF32Type());
}

int64_t ModelBuilder::widthOf(Value x) {
  return cast<RankedTensorType>(x.getType()).getShape().back();
}

/// The type of `x` with another last dimension.
static RankedTensorType withWidth(Value x, int64_t width) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = width;
  return type.clone(shape);
}

static Type storedTypeOf(OpBuilder &builder, ElementType type) {
  switch (type) {
  case ElementType::BF16:
    return builder.getBF16Type();
  case ElementType::F16:
    return builder.getF16Type();
  case ElementType::F8E4M3:
    return Float8E4M3FNType::get(builder.getContext());
  default:
    return builder.getF32Type();
  }
}

Value ModelBuilder::weight(const llvm::Twine &name, llvm::ArrayRef<int64_t> shape, WeightKind kind,
                           WeightPart part) {
  WeightDescription description = weights.ask(name.str(), shape.vec(), kind, part);
  PartAttr partAttr;
  if (part.groups)
    partAttr = PartAttr::get(builder.getContext(), part.groups, part.stride, part.offset);
  BlockScalesAttr scales;
  if (!description.scaleName.empty())
    scales =
        BlockScalesAttr::get(builder.getContext(), builder.getStringAttr(description.scaleName),
                             description.blockRows, description.blockColumns);
  return WeightOp::create(builder, loc, tensorType(shape), description.name,
                          storedTypeOf(builder, description.stored), partAttr, scales);
}

Value ModelBuilder::linear(Value x, const llvm::Twine &name, int64_t outputs, bool bias,
                           WeightKind kind) {
  Value matrix = weight(name + ".weight", {outputs, widthOf(x)}, kind);
  Value vector = bias ? weight(name + ".bias", {outputs}, WeightKind::Plain) : Value();
  return LinearOp::create(builder, loc, withWidth(x, outputs), x, matrix, vector);
}

Value ModelBuilder::headLinear(Value x, Value weight, bool transposed) {
  auto shape = cast<RankedTensorType>(weight.getType()).getShape();
  return HeadLinearOp::create(builder, loc, withWidth(x, shape[transposed ? 2 : 1]), x, weight,
                              transposed);
}

Value ModelBuilder::rmsNorm(Value x, const llvm::Twine &name, double epsilon) {
  Value scale = weight(name + ".weight", {widthOf(x)}, WeightKind::Plain);
  return RmsNormOp::create(builder, loc, x.getType(), x, scale, builder.getF64FloatAttr(epsilon));
}

Value ModelBuilder::layerNorm(Value x, const llvm::Twine &name, double epsilon) {
  Value scale = weight(name + ".weight", {widthOf(x)}, WeightKind::Plain);
  Value bias = weight(name + ".bias", {widthOf(x)}, WeightKind::Plain);
  return LayerNormOp::create(builder, loc, x.getType(), x, scale, bias,
                             builder.getF64FloatAttr(epsilon));
}

RopeAttr ModelBuilder::ropeTable(bool interleaved) {
  const RopeConfig &rope = config.rope;
  MLIRContext *context = builder.getContext();
  auto number = [&](double value) { return builder.getF64FloatAttr(value); };
  Attribute scaling;
  if (rope.scaling == RopeConfig::Scaling::Yarn)
    scaling =
        YarnAttr::get(context, number(rope.factor), number(rope.betaFast), number(rope.betaSlow),
                      rope.originalPositions, number(rope.attentionFactor), rope.truncate);
  else if (rope.scaling == RopeConfig::Scaling::Llama3)
    scaling = Llama3Attr::get(context, number(rope.factor), number(rope.lowFrequencyFactor),
                              number(rope.highFrequencyFactor), rope.originalPositions);
  return RopeAttr::get(context, number(rope.theta),
                       interleaved ? RopeLayout::Interleaved : RopeLayout::Half, scaling);
}

Value ModelBuilder::rope(Value x, int64_t offset, int64_t width, bool interleaved) {
  return RopeOp::create(builder, loc, x.getType(), x, batch, ropeTable(interleaved),
                        builder.getI64IntegerAttr(offset), builder.getI64IntegerAttr(width),
                        /*inverse=*/nullptr);
}

Value ModelBuilder::gatedMlp(Value x, const llvm::Twine &name, int64_t width) {
  int64_t features = widthOf(x);
  Value gate = weight(name + ".gate_proj.weight", {width, features}, WeightKind::Product);
  Value up = weight(name + ".up_proj.weight", {width, features}, WeightKind::Product);
  Value down = weight(name + ".down_proj.weight", {features, width}, WeightKind::Product);
  return GatedMlpOp::create(builder, loc, x.getType(), x, gate, up, down, Activation::Silu);
}

Value ModelBuilder::add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }

Value ModelBuilder::slice(Value x, int64_t offset, int64_t width) {
  RankedTensorType type = withWidth(x, width);
  SmallVector<OpFoldResult> offsets, sizes, strides(type.getRank(), builder.getIndexAttr(1));
  for (int64_t extent : type.getShape()) {
    offsets.push_back(builder.getIndexAttr(0));
    sizes.push_back(ShapedType::isDynamic(extent) ? OpFoldResult(tokens)
                                                  : builder.getIndexAttr(extent));
  }
  offsets.back() = builder.getIndexAttr(offset);
  return tensor::ExtractSliceOp::create(builder, loc, type, x, offsets, sizes, strides);
}

static SmallVector<ReassociationIndices> headDimensions() { return {{0}, {1, 2}}; }

Value ModelBuilder::splitHeads(Value x, int64_t heads) {
  int64_t width = widthOf(x) / heads;
  SmallVector<OpFoldResult> shape{OpFoldResult(tokens), builder.getIndexAttr(heads),
                                  builder.getIndexAttr(width)};
  return tensor::ExpandShapeOp::create(
      builder, loc, tensorType({ShapedType::kDynamic, heads, width}), x, headDimensions(), shape);
}

Value ModelBuilder::mergeHeads(Value x) {
  auto shape = cast<RankedTensorType>(x.getType()).getShape();
  return tensor::CollapseShapeOp::create(
      builder, loc, tensorType({ShapedType::kDynamic, shape[1] * shape[2]}), x, headDimensions());
}

Value ModelBuilder::concatenate(Value a, Value b) {
  int64_t last = cast<RankedTensorType>(a.getType()).getRank() - 1;
  return tensor::ConcatOp::create(builder, loc, withWidth(a, widthOf(a) + widthOf(b)), last,
                                  ValueRange{a, b});
}

Value ModelBuilder::append(Value cache, ValueRange values) {
  return AppendOp::create(builder, loc, cache.getType(), cache, batch, values);
}

Value ModelBuilder::attention(Value query, Value cache, SelectorKind selector, int64_t count,
                              Value rows) {
  int64_t width = cast<CacheType>(cache.getType()).getValueWidth();
  Attribute selectors[] = {SelectorAttr::get(builder.getContext(), selector, count)};
  return AttentionOp::create(builder, loc, withWidth(query, width), query, cache,
                             rows ? ValueRange(rows) : ValueRange(), /*sinks=*/Value(), batch,
                             builder.getArrayAttr(selectors),
                             builder.getF64FloatAttr(config.attentionScale));
}

CacheFieldAttr ModelBuilder::cacheField(FieldRole role, int64_t heads, int64_t width) {
  return CacheFieldAttr::get(builder.getContext(), role, heads, width, builder.getF32Type());
}

CacheType ModelBuilder::cacheType(llvm::ArrayRef<CacheFieldAttr> fields, bool interleaved) {
  return CacheType::get(builder.getContext(), fields, pageSize, /*planar=*/false,
                        interleaved ? RopeLayout::Interleaved : RopeLayout::Half,
                        /*hadamard=*/false);
}

} // namespace strata::importer
