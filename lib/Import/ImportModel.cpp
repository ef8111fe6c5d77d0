//===- ImportModel.cpp - From a checkpoint to a module --------------------===//
#include "strata/lib/Import/ImportModel.h"

#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Import/ModelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace strata {

using namespace importer;

namespace {

/// The entry point without a body. `caches` are its arguments, layer by layer.
struct EntryPoint {
  func::FuncOp function;
  std::vector<LayerCaches> caches;
};

} // namespace

static EntryPoint createEntryPoint(ModelBuilder &model, ModuleOp module) {
  OpBuilder &builder = model.builder;
  const ModelConfig &config = model.config;
  SmallVector<Type> arguments{BatchType::get(builder.getContext())};
  SmallVector<std::string> names;
  for (auto [number, layer] : llvm::enumerate(config.layers)) {
    arguments.push_back(keyCacheType(model));
    names.push_back(llvm::formatv("layer {0} keys", number).str());
    if (layer.index == IndexSource::Own) {
      arguments.push_back(indexCacheType(model));
      names.push_back(llvm::formatv("layer {0} index keys", number).str());
    }
  }
  SmallVector<Type> results{model.tensorType({ShapedType::kDynamic, config.vocabulary})};
  llvm::append_range(results, llvm::drop_begin(arguments));

  builder.setInsertionPointToStart(module.getBody());
  EntryPoint entry;
  entry.function = func::FuncOp::create(builder, model.loc, kEntryPoint,
                                        builder.getFunctionType(arguments, results));
  for (auto [number, name] : llvm::enumerate(names))
    entry.function.setArgAttr(number + 1, kCacheNameAttr, builder.getStringAttr(name));
  Block *body = entry.function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  model.batch = body->getArgument(0);
  unsigned next = 1;
  for (const LayerConfig &layer : config.layers) {
    LayerCaches &caches = entry.caches.emplace_back();
    caches.keys = body->getArgument(next++);
    if (layer.index == IndexSource::Own)
      caches.index = body->getArgument(next++);
  }
  return entry;
}

/// One layer: the hidden state after it.
static Value buildLayer(ModelBuilder &model, Value hidden, size_t number, LayerCaches &caches,
                        Value &rows) {
  const ModelConfig &config = model.config;
  const LayerConfig &layer = config.layers[number];
  std::string name = llvm::formatv("model.layers.{0}", number).str();

  model.enterLayer(number, "attention");
  Value x = model.rmsNorm(hidden, name + ".input_layernorm", config.normEpsilon);
  Value attended =
      config.latent ? buildLatentAttention(model, x, name + ".self_attn", layer.index, caches, rows)
                    : buildGroupedAttention(model, x, name + ".self_attn", caches);
  hidden = model.add(hidden, attended);

  model.enterLayer(number, layer.sparse ? "experts" : "mlp");
  x = model.rmsNorm(hidden, name + ".post_attention_layernorm", config.normEpsilon);
  Value output = layer.sparse ? buildMixture(model, x, name + ".mlp")
                              : model.gatedMlp(x, name + ".mlp", config.mlpWidth);
  return model.add(hidden, output);
}

static void buildStep(ModelBuilder &model, ModuleOp module) {
  const ModelConfig &config = model.config;
  OpBuilder &builder = model.builder;
  model.enter("model");
  EntryPoint entry = createEntryPoint(model, module);

  model.enter("embedding");
  auto idsType = RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  Value ids = TokenIdsOp::create(builder, model.loc, idsType, model.batch);
  Value first = arith::ConstantIndexOp::create(builder, model.loc, 0);
  model.tokens = tensor::DimOp::create(builder, model.loc, ids, first);
  int64_t tableShape[] = {config.vocabulary, config.hiddenWidth};
  Value table = model.weight("model.embed_tokens.weight", tableShape, WeightKind::Plain);
  Value hidden = EmbeddingOp::create(
      builder, model.loc, model.tensorType({ShapedType::kDynamic, config.hiddenWidth}), ids, table);

  Value rows;
  for (auto [number, caches] : llvm::enumerate(entry.caches)) {
    Operation *before = &builder.getBlock()->back();
    hidden = buildLayer(model, hidden, number, caches, rows);
    // Text leaves locations out; messages and traces find the layer here. A weight's name has it.
    while ((before = before->getNextNode()))
      if (!isa<WeightOp>(before))
        before->setDiscardableAttr(kLayerAttr, builder.getI64IntegerAttr(number));
  }

  model.enter("head");
  hidden = model.rmsNorm(hidden, "model.norm", config.normEpsilon);
  Value head =
      config.tiedEmbeddings ? table : model.weight("lm_head.weight", tableShape, WeightKind::Plain);
  SmallVector<Value> results{LogitsOp::create(
      builder, model.loc, entry.function.getResultTypes().front(), hidden, head, model.batch)};
  for (const LayerCaches &caches : entry.caches) {
    results.push_back(caches.keys);
    if (caches.index)
      results.push_back(caches.index);
  }
  func::ReturnOp::create(builder, model.loc, results);
}

ImportedModel importModel(MLIRContext &context, const ModelConfig &config,
                          const Checkpoint *checkpoint, const ImportOptions &options,
                          std::vector<Note> &notes) {
  if (options.pageSize < 1 || options.pageSize > 65536)
    return Status(
        StatusCode::InvalidArgument,
        llvm::formatv("page size: expected 1 to 65536 tokens but got {0}", options.pageSize).str());
  if (!checkpoint && !config.storedType)
    return Status(StatusCode::InvalidArgument, "dtype: expected \"float32\" or \"bfloat16\" or "
                                               "\"float16\" but the key is missing, and without "
                                               "weights nothing else says how they are stored");
  context
      .loadDialect<StrataDialect, arith::ArithDialect, func::FuncDialect, tensor::TensorDialect>();

  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(NameLoc::get(builder.getStringAttr("model")));
  Operation *op = module->getOperation();
  op->setAttr(kModelTypeAttr, builder.getStringAttr(config.modelType));
  op->setAttr(kMaxPositionsAttr, builder.getI64IntegerAttr(config.maxPositions));
  if (!config.eosTokenIds.empty())
    op->setAttr(kEosTokenIdsAttr, builder.getDenseI32ArrayAttr(config.eosTokenIds));

  WeightTable weights(config, checkpoint);
  ModelBuilder model(builder, config, weights, options.pageSize);
  buildStep(model, *module);
  // Before the verifier: what is wrong with the checkpoint is best said in the checkpoint's terms.
  if (Status status = weights.check(notes); !status.ok())
    return status;
  if (failed(verify(*module)))
    return Status(StatusCode::InvalidArgument, "the imported module is not valid");
  if (!checkpoint && config.predictionLayers > 0)
    notes.push_back({Note::Kind::Remark,
                     llvm::formatv("num_nextn_predict_layers = {0}: the layers from {1} on are "
                                   "skipped: they serve multi-token prediction",
                                   config.predictionLayers, config.layers.size())
                         .str()});
  return ImportedModel(std::move(module));
}

/// The same status with where it comes from in front.
static Status inFile(const std::string &file, const Status &status) {
  return Status(status.code(), file + ": " + status.message());
}

ImportedModel importFolder(MLIRContext &context, const std::string &path,
                           const ImportOptions &options, std::vector<Note> &notes) {
  std::string configPath = path;
  if (llvm::sys::fs::is_directory(path)) {
    llvm::SmallString<256> joined(path);
    llvm::sys::path::append(joined, "config.json");
    configPath = joined.str().str();
  } else if (options.withWeights && llvm::sys::fs::exists(path)) {
    return Status(StatusCode::InvalidArgument,
                  path + ": expected a folder with config.json and safetensors files");
  }
  Expected<MappedFile> file = MappedFile::open(configPath);
  if (!file.ok())
    return file.status();
  size_t firstNote = notes.size();
  Expected<ModelConfig> config = parseModelConfig(file->text(), notes);
  for (Note &note : llvm::drop_begin(notes, firstNote))
    note.text = configPath + ": " + note.text;
  if (!config.ok())
    return inFile(configPath, config.status());
  if (!options.withWeights) {
    ImportedModel module = importModel(context, *config, nullptr, options, notes);
    return module.ok() ? std::move(module) : inFile(configPath, module.status());
  }
  Expected<Checkpoint> checkpoint = Checkpoint::open(path);
  if (!checkpoint.ok())
    return checkpoint.status();
  return importModel(context, *config, &*checkpoint, options, notes);
}

} // namespace strata
