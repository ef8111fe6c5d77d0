//===- WeightTable.cpp - The weights that a model asks for ----------------===//
#include "strata/lib/Import/WeightTable.h"

#include "strata/lib/Checkpoint/WeightPattern.h"
#include "strata/lib/Support/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

namespace strata::importer {

static constexpr llvm::StringLiteral kScaleSuffix = "_scale_inv";

/// The layer of "model.layers.7.…"; nothing for other names.
static std::optional<int64_t> layerOf(llvm::StringRef name) {
  int64_t layer;
  if (!name.consume_front("model.layers.") || name.consumeInteger(10, layer) ||
      !name.starts_with("."))
    return std::nullopt;
  return layer;
}

/// The first tensor that a name or pattern stands for.
static std::string firstName(const std::string &name) {
  Expected<std::vector<std::string>> names = expandWeightPattern(name);
  return names.ok() ? names->front() : name;
}

ElementType WeightTable::storedType(const std::string &name, WeightKind kind) const {
  if (checkpoint) {
    const TensorView *tensor = checkpoint->find(firstName(name));
    // A type that no weight can have is reported by `check`, against f32.
    if (!tensor || !tensor->type || *tensor->type == ElementType::I32)
      return ElementType::F32;
    return *tensor->type;
  }
  if (kind == WeightKind::Correction)
    return ElementType::F32;
  auto isPartOfName = [&](const std::string &part) { return name.find(part) != std::string::npos; };
  if (kind == WeightKind::Product && config.quantisation &&
      llvm::none_of(config.quantisation->excluded, isPartOfName))
    return ElementType::F8E4M3;
  return config.storedType.value_or(ElementType::F32);
}

WeightDescription WeightTable::ask(const std::string &name, std::vector<int64_t> shape,
                                   WeightKind kind, WeightPart part) {
  WeightDescription weight;
  weight.name = name;
  weight.shape = std::move(shape);
  weight.stored = storedType(name, kind);
  weight.partGroups = part.groups;
  weight.partStride = part.stride;
  weight.partOffset = part.offset;
  if (weight.stored == ElementType::F8E4M3) {
    BlockQuantisation blocks = config.quantisation.value_or(BlockQuantisation());
    weight.scaleName = name + kScaleSuffix.str();
    weight.blockRows = blocks.rows;
    weight.blockColumns = blocks.columns;
  }
  asked.push_back(weight);
  return weight;
}

namespace {
/// Tensors that are left out for one reason.
struct Skipped {
  std::set<int64_t> layers;
  int64_t tensors = 0;

  void add(int64_t layer) {
    layers.insert(layer);
    ++tensors;
  }
  std::string where() const {
    std::vector<std::string> numbers;
    for (int64_t layer : layers)
      numbers.push_back(llvm::formatv("{0}", layer).str());
    return llvm::formatv("{0} tensors of layer{1} {2}", tensors, layers.size() == 1 ? "" : "s",
                         listText(numbers))
        .str();
  }
};
} // namespace

Status WeightTable::checkUnasked(std::vector<Note> &notes) const {
  llvm::StringSet<> used;
  for (const WeightDescription &weight : asked)
    for (const std::string &pattern : {weight.name, weight.scaleName})
      if (Expected<std::vector<std::string>> names = expandWeightPattern(pattern); names.ok())
        used.insert_range(*names);

  int64_t layers = config.layers.size();
  Skipped prediction, sharedIndex;
  int64_t rotaryTables = 0;
  bool spareHead = false;
  std::vector<std::string> unknown;
  for (llvm::StringRef name : checkpoint->names()) {
    if (used.contains(name))
      continue;
    std::optional<int64_t> layer = layerOf(name);
    // Some configs do not announce their prediction layers; eh_proj is in no other.
    bool isPrediction =
        layer && *layer >= layers &&
        (*layer < layers + config.predictionLayers ||
         checkpoint->find(llvm::formatv("model.layers.{0}.eh_proj.weight", *layer).str()));
    if (isPrediction)
      prediction.add(*layer);
    else if (layer && *layer < layers && config.layers[*layer].index == IndexSource::Shared &&
             name.contains(".self_attn.indexer."))
      sharedIndex.add(*layer);
    else if (name.ends_with("rotary_emb.inv_freq"))
      ++rotaryTables;
    else if (config.tiedEmbeddings && name == "lm_head.weight")
      spareHead = true;
    else
      unknown.push_back(printable(name));
  }
  if (!unknown.empty())
    return Status(StatusCode::InvalidArgument,
                  llvm::formatv("{0}: {1} tensor{2} that the model has no place for: {3}",
                                checkpoint->path(), unknown.size(), unknown.size() == 1 ? "" : "s",
                                listText(unknown))
                      .str());

  auto remark = [&](const std::string &text) { notes.push_back({Note::Kind::Remark, text}); };
  if (prediction.tensors)
    remark(prediction.where() + " are skipped: they serve multi-token prediction");
  if (sharedIndex.tensors)
    remark(sharedIndex.where() +
           " are skipped: indexers of layers that share another layer's rows");
  if (rotaryTables)
    remark(
        llvm::formatv("{0} rotary tables (inv_freq) are skipped: they are computed", rotaryTables)
            .str());
  if (spareHead)
    remark(
        "lm_head.weight is skipped: the output uses the embedding's weights (tie_word_embeddings)");
  return Status::success();
}

Status WeightTable::check(std::vector<Note> &notes) const {
  if (!checkpoint)
    return Status::success();
  if (Expected<std::vector<BoundWeight>> bound = bindWeights(asked, *checkpoint); !bound.ok())
    return bound.status();
  return checkUnasked(notes);
}

} // namespace strata::importer
