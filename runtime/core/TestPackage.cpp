//===- TestPackage.cpp - A small package for tests ------------------------===//
#include "strata/runtime/core/TestPackage.h"

#include <cmath>

namespace strata::rt {

using namespace package;
using flatbuffers::Offset;

// The shapes: 2 heads of 4, 6 experts in 2 groups of which each token gets 2, k = 3, 10 tokens
// known.
constexpr int64_t kHidden = 8, kHeads = 2, kWidth = 4, kExperts = 6, kPerToken = 2, kRows = 3;
constexpr int64_t kVocabulary = 10;

namespace {

class Builder {
public:
  std::vector<uint8_t> run() {
    builder_.ForceDefaults(true);
    Offset<Manifest> manifest = makeManifest();
    FinishManifestBuffer(builder_, manifest);
    return {builder_.GetBufferPointer(), builder_.GetBufferPointer() + builder_.GetSize()};
  }

private:
  enum SlotIndex { kHiddenSlot, kWideSlot, kExpertsSlot, kOrderSlot, kOffsetsSlot, kLogitsSlot };
  enum WeightIndex { kMatrix, kBias, kHeadPart, kStack, kCorrection };

  static Argument slot(int32_t index, int64_t offset = 0) {
    return Argument(ArgumentKind::Slot, index, offset);
  }
  static View view(int32_t index, int64_t rowStride, int64_t batchStride = 0) {
    return View(slot(index), rowStride, batchStride);
  }

  Offset<Weight> weight(const char *name, const std::vector<int64_t> &shape, ElementType stored,
                        bool widen, int64_t groups = 0, int64_t stride = 0, int64_t offset = 0,
                        const char *scales = "", int64_t block = 0) {
    return CreateWeightDirect(builder_, name, &shape, stored, groups, stride, offset, scales, block,
                              block, widen);
  }

  template <typename T> using Vector = flatbuffers::Vector<T>;
  Offset<Vector<Offset<Weight>>> makeWeights();
  Offset<Vector<Offset<Slot>>> makeSlots();
  Offset<Vector<Offset<CommandEntry>>> makeCommands();
  Offset<Manifest> makeManifest();

  flatbuffers::FlatBufferBuilder builder_;
};

Offset<flatbuffers::Vector<Offset<Weight>>> Builder::makeWeights() {
  return builder_.CreateVector(std::vector<Offset<Weight>>{
      weight("matrix", {kHidden, kHidden}, ElementType::BF16, false),
      weight("bias", {kHidden}, ElementType::BF16, true),
      weight("heads", {kHeads, kWidth, kHidden}, ElementType::F32, false, kHeads, 6, 2),
      weight("experts.{0..5}.matrix", {kExperts, kHidden, kHidden}, ElementType::F8E4M3, false, 0,
             0, 0, "experts.{0..5}.scale", 4),
      weight("correction", {kExperts}, ElementType::F32, true)});
}

Offset<flatbuffers::Vector<Offset<Slot>>> Builder::makeSlots() {
  auto make = [&](int64_t tokens, int64_t wanted, int64_t fixed) {
    Size bytes(tokens, wanted, fixed);
    return CreateSlot(builder_, &bytes);
  };
  return builder_.CreateVector(std::vector<Offset<Slot>>{
      make(4 * kHidden, 0, 0), make(4 * kPerToken * kHidden, 0, 0), make(8 * kPerToken, 0, 0),
      make(8 * kPerToken, 0, 0), make(0, 0, 4 * (kExperts + 1)), make(0, 4 * kVocabulary, 0)});
}

Offset<flatbuffers::Vector<Offset<CommandEntry>>> Builder::makeCommands() {
  std::vector<Offset<CommandEntry>> entries;
  auto add = [&](Command kind, auto command, const char *label) {
    entries.push_back(CreateCommandEntryDirect(builder_, kind, command.Union(), label));
  };
  const Size tokens(1, 0, 0);
  const View hidden = view(kHiddenSlot, kHidden), wide = view(kWideSlot, kHidden);
  const View heads = view(kHiddenSlot, kHidden, kWidth), experts = view(kWideSlot, kExperts);
  const Argument chosen = slot(kExpertsSlot), weights = slot(kExpertsSlot, 0);
  const Argument order = slot(kOrderSlot), rank = slot(kOrderSlot), offsets = slot(kOffsetsSlot);

  std::vector<double> frequencies{1, 0.5};
  add(Command::RopeTable, CreateRopeTableDirect(builder_, &hidden, &frequencies, 1), "rope");
  std::vector<Argument> arguments{slot(kHiddenSlot), Argument(ArgumentKind::Weight, kBias, 4),
                                  Argument(ArgumentKind::Cache, 0, 0),
                                  Argument(ArgumentKind::Step, int32_t(StepArray::Positions), 0)};
  add(Command::Launch, CreateLaunchDirect(builder_, 0, &arguments, &tokens, 4), "norm");
  auto part = [&](int32_t weight, int32_t bias, const View &output) {
    return CreateProductPart(builder_, weight, bias, &output, kHidden);
  };
  auto product = [&](const View &input, const std::vector<Offset<ProductPart>> &parts,
                     const View *residual = nullptr) {
    return CreateProductDirect(builder_, &input, &parts, residual, &tokens, 1, kHidden, false,
                               ElementType::BF16);
  };
  add(Command::Product, product(hidden, {part(kMatrix, kBias, wide)}), "linear");
  const View perHead = view(kWideSlot, kHeads * kHidden, kHidden);
  auto headProduct = [&](const View &input, const View &output, int64_t inputs, int64_t outputs,
                         bool transposed) {
    std::vector<Offset<ProductPart>> parts{
        CreateProductPart(builder_, kHeadPart, -1, &output, outputs)};
    return CreateProductDirect(builder_, &input, &parts, nullptr, &tokens, kHeads, inputs,
                               transposed, ElementType::F32);
  };
  add(Command::Product, headProduct(heads, perHead, kWidth, kHidden, true), "absorb");
  add(Command::Route,
      CreateRoute(builder_, &experts, kCorrection, &chosen, &weights, kExperts, kPerToken,
                  Scoring::Sigmoid, 2, 1, GroupScore::TopTwoSum, true, 2.5, 0),
      "route");
  add(Command::GroupByExpert,
      CreateGroupByExpert(builder_, &chosen, &order, &rank, &offsets, kPerToken, kExperts),
      "group");
  for (bool gather : {true, false})
    add(Command::GroupedProduct,
        CreateGroupedProduct(builder_, gather ? &hidden : &wide, &order, &offsets, gather, kStack,
                             -1, -1, &wide, kPerToken, kExperts, kHidden, kHidden,
                             ElementType::BF16),
        gather ? "gate" : "down");
  const View headWeights = view(kHiddenSlot, kHeads);
  const Argument rows = slot(kExpertsSlot);
  add(Command::Select, CreateSelect(builder_, 1, &hidden, &headWeights, 1, &rows, kRows, 0),
      "select");
  add(Command::Product, product(hidden, {part(kMatrix, -1, wide), part(kMatrix, kBias, wide)}),
      "parts");
  add(Command::Product, product(wide, {part(kMatrix, -1, hidden)}, &hidden), "residual");
  add(Command::GatedProduct,
      CreateGatedProduct(builder_, &hidden, kMatrix, kMatrix, 0, &wide, &tokens, kHidden, kHidden,
                         ElementType::BF16),
      "gated");
  add(Command::GroupedProduct,
      CreateGroupedProduct(builder_, &hidden, &order, &offsets, true, kStack, kStack, 0, &wide,
                           kPerToken, kExperts, kHidden, kHidden, ElementType::BF16),
      "gated experts");
  auto absorb = headProduct(heads, perHead, kWidth, kHidden, true);
  auto expand = headProduct(perHead, heads, kHidden, kWidth, false);
  const Size items(kHeads, 0, 0);
  std::vector<Argument> attended{slot(kWideSlot), Argument(ArgumentKind::Weight, kCorrection, 0)};
  auto attention = CreateLaunchDirect(builder_, 0, &attended, &items, 1);
  add(Command::HeadAttention, CreateHeadAttention(builder_, absorb, attention, expand, kHeads),
      "heads");
  return builder_.CreateVector(entries);
}

Offset<Manifest> Builder::makeManifest() {
  auto field = [&](FieldRole role, int32_t heads, int32_t width, ElementType type) {
    return CreateCacheField(builder_, role, heads, width, type);
  };
  std::vector<Offset<CacheField>> keyValue{field(FieldRole::KeyValue, 1, 8, ElementType::BF16)};
  std::vector<Offset<CacheField>> index{field(FieldRole::Key, 1, 4, ElementType::F32)};
  auto caches = builder_.CreateVector(std::vector<Offset<Cache>>{
      CreateCacheDirect(builder_, "kv", &keyValue, 4, false, RopeLayout::Interleaved, false),
      CreateCacheDirect(builder_, "index", &index, 4, true, RopeLayout::Half, true)});
  auto weights = makeWeights();
  auto slots = makeSlots();
  auto commands = makeCommands();
  auto kernels = builder_.CreateVectorOfStrings({"norm", "scores_0"});
  Blob none;
  auto variants = builder_.CreateVector(
      std::vector<Offset<Variant>>{CreateVariantDirect(builder_, "x86-64", &none),
                                   CreateVariantDirect(builder_, "x86-64-v4", &none)});
  auto producer = builder_.CreateString("strata test");
  auto type = builder_.CreateString("test");
  auto eos = builder_.CreateVector(std::vector<int32_t>{7, 9});
  const View logits = view(kLogitsSlot, kVocabulary);
  return CreateManifest(builder_, producer, type, ElementType::BF16, kVocabulary, 32, eos, 1, 1,
                        caches, weights, slots, kernels, commands, &logits, variants, &none);
}

} // namespace

std::vector<uint8_t> makeTestManifest() { return Builder().run(); }

PackageContent makeTestContent() {
  return {makeTestManifest(), {"first object", "second object"}, "module {}"};
}

static constexpr double kTurn = 6.283185307179586;

PackageContent makeClockContent(int64_t vocabulary) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<int64_t> shape{vocabulary, 2};
  std::vector<Offset<Weight>> weights{
      CreateWeightDirect(builder, "hands", &shape, ElementType::F32)};
  const Size angleBytes(8, 0, 0), logitBytes(4 * vocabulary, 0, 0), tokens(1, 0, 0);
  std::vector<Offset<Slot>> slots{CreateSlot(builder, &angleBytes),
                                  CreateSlot(builder, &logitBytes)};
  const View angles(Argument(ArgumentKind::Slot, 0, 0), 2, 0);
  const View logits(Argument(ArgumentKind::Slot, 1, 0), vocabulary, 0);
  std::vector<double> frequencies{kTurn / double(vocabulary)};
  auto rope = CreateRopeTableDirect(builder, &angles, &frequencies, 1);
  std::vector<Offset<ProductPart>> parts{CreateProductPart(builder, 0, -1, &logits, vocabulary)};
  auto product = CreateProductDirect(builder, &angles, &parts, nullptr, &tokens, 1, 2);
  std::vector<Offset<CommandEntry>> commands{
      CreateCommandEntryDirect(builder, Command::RopeTable, rope.Union(), "angles"),
      CreateCommandEntryDirect(builder, Command::Product, product.Union(), "logits")};
  std::vector<Offset<CacheField>> fields{
      CreateCacheField(builder, FieldRole::KeyValue, 1, 4, ElementType::F32)};
  std::vector<Offset<Cache>> caches{CreateCacheDirect(builder, "unused", &fields, 4)};
  std::vector<Offset<flatbuffers::String>> kernels;
  std::vector<Offset<Variant>> variants;
  std::vector<int32_t> eos;
  const Blob none;
  FinishManifestBuffer(builder,
                       CreateManifestDirect(builder, "strata test", "clock", ElementType::F32,
                                            vocabulary, 100, &eos, 0, 0, &caches, &weights, &slots,
                                            &kernels, &commands, &logits, &variants, &none));
  return {{builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()}, {}, {}};
}

std::vector<float> makeClockWeights(int64_t vocabulary) {
  std::vector<float> weights;
  for (int64_t id = 0; id < vocabulary; ++id) {
    double angle = double(id) * kTurn / double(vocabulary);
    weights.push_back(float(std::cos(angle)));
    weights.push_back(float(std::sin(angle)));
  }
  return weights;
}

} // namespace strata::rt
