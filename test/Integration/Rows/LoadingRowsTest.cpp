//===- LoadingRowsTest.cpp - Rows 11 to 22: weights and schedules ---------===//
#include "Harness.h"

#include "strata/dialects/Strata/IR.h"
#include "strata/lib/Import/IndexSchedule.h"
#include "strata/lib/Support/Npy.h"

#include <cmath>

using namespace strata;
using namespace strata::rows;

namespace {

// One rule for e4m3: sign, 4 bits of exponent (bias 7), 3 of mantissa; no infinities.
TEST(DomainRows, Row11NarrowWeightsHaveOneMeaning) {
  for (int code = 0; code < 256; ++code) {
    int exponent = code >> 3 & 15, mantissa = code & 7;
    double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    float value = widenF8E4M3(uint8_t(code));
    if ((code & 127) == 127) {
      EXPECT_TRUE(std::isnan(value));
      continue;
    }
    EXPECT_EQ(value, code < 128 ? magnitude : -magnitude) << "code " << code;
    EXPECT_EQ(roundToF8E4M3(value), code);
  }
  // Halfway goes to the even code; what is too large stays finite.
  for (int code = 0; code + 1 < 127; ++code) {
    float middle = (widenF8E4M3(uint8_t(code)) + widenF8E4M3(uint8_t(code + 1))) / 2;
    EXPECT_EQ(roundToF8E4M3(middle), code % 2 ? code + 1 : code) << "code " << code;
  }
  EXPECT_EQ(widenF8E4M3(roundToF8E4M3(1e30f)), 448);
  EXPECT_EQ(widenF8E4M3(roundToF8E4M3(-449)), -448);

  // The product converts blocks as the rule says: the same bits as with the values written out,
  // also where a whole block is zero.
  auto clearKeys = [](StoredTensors &tensors) {
    for (auto &[name, tensor] : tensors)
      if (name.find("layers.2.self_attn.indexer.wq_b.weight") != std::string::npos)
        tensor.bytes.assign(tensor.bytes.size(), '\0');
  };
  for (Edit edit : {Edit(), Edit(clearKeys)}) {
    ModelOptions options;
    options.checkpoint.fp8Blocks = true;
    options.edit = edit;
    json config = glmConfig();
    config["hidden_size"] = 192; // more than one block
    std::unique_ptr<Model> blocks = Model::create(config, options);
    options.checkpoint.dequantised = true;
    std::unique_ptr<Model> values = Model::create(config, options);
    std::vector<int32_t> prompt = makePrompt(30, 11);
    RunOptions runOptions;
    runOptions.tiesAreMeant = edit != nullptr; // queries of zero: all scores are 0
    expectSameBits(runBoth(*blocks, {prompt}, runOptions)[0], run(*values, {prompt})[0]);
  }
}

TEST(DomainRows, Row13OnlyLayersThatOwnAnIndexerNeedItsTensors) {
  std::unique_ptr<Model> model = Model::create(glmConfig());
  for (int layer = 0; layer < 10; ++layer) {
    std::string name = "model.layers." + std::to_string(layer) + ".self_attn.indexer.wk.weight";
    bool owns = layer <= 2 || layer == 6;
    EXPECT_EQ(model->checkpoint().find(name) != nullptr, owns) << name;
  }
  std::string error;
  ModelOptions options;
  options.edit = without("layers.6.self_attn.indexer");
  EXPECT_EQ(Model::create(glmConfig(), error, options), nullptr);
  for (const char *tensor :
       {"wq_b.weight", "wk.weight", "k_norm.weight", "k_norm.bias", "weights_proj.weight"})
    EXPECT_NE(error.find("model.layers.6.self_attn.indexer." + std::string(tensor)),
              std::string::npos)
        << error;
  EXPECT_NE(error.find("5 tensors missing"), std::string::npos) << error;
}

// Both at once: no tensors for shared layers, and a layout that is not the main attention's.
TEST(DomainRows, Row14SharedLayersLoadWhateverTheLayout) {
  json config = glmConfig();
  config["indexer_rope_interleave"] = false;
  std::unique_ptr<Model> model = Model::create(config);
  int interleaved = 0, half = 0;
  model->module().walk([&](RopeOp rope) {
    (rope.getTable().getLayout() == RopeLayout::Interleaved ? interleaved : half) += 1;
  });
  EXPECT_EQ(interleaved, 2 * 10); // queries and keys of every layer
  EXPECT_EQ(half, 2 * 4);         // of every indexer
  runBoth(*model, {makePrompt(40, 14)});
}

// Nothing that was never written is read: full of NaN or not, the same bits come out.
TEST(DomainRows, Row15SharedLayersHaveNoWeightsToLeaveUninitialised) {
  std::unique_ptr<Model> model = Model::create(glmConfig());
  for (const package::Weight *weight : *model->package().manifest().weights()) {
    std::string_view name = weight->name()->string_view();
    if (name.find("indexer") == std::string_view::npos)
      continue;
    bool owns = false;
    for (const char *layer : {"layers.0.", "layers.1.", "layers.2.", "layers.6."})
      owns |= name.find(layer) != std::string_view::npos;
    EXPECT_TRUE(owns) << name;
  }
  RunOptions clean;
  clean.poison = false;
  std::vector<int32_t> prompt = makePrompt(40, 15);
  rt::Generation poisoned = runBoth(*model, {prompt})[0]; // expects finite logits
  expectSameBits(poisoned, run(*model, {prompt}, clean)[0]);
}

/// What the public reference implementation gives for a test model, and what ours gives.
void expectPublishedResults(const std::string &name, size_t number, const RunOptions &options) {
  std::string folder = STRATA_TEST_EXPECTED "/" + name;
  Expected<MappedFile> config = MappedFile::open(folder + "/config.json"),
                       recipe = MappedFile::open(folder + "/recipe.json"),
                       cases = MappedFile::open(folder + "/expected/cases.json");
  ASSERT_TRUE(config.ok() && recipe.ok() && cases.ok());
  ModelOptions modelOptions;
  modelOptions.checkpoint.seed = json::parse(recipe->text())["seed"];
  std::unique_ptr<Model> model = Model::create(json::parse(config->text()), modelOptions);
  json expected = json::parse(cases->text())[number];
  RunOptions runOptions = options;
  runOptions.tiesAreMeant = true; // there are none; but experts of groups that lost look like some
  runOptions.newTokens = int64_t(expected["tokens"].size());
  rt::Generation found =
      run(*model, {expected["prompt"].get<std::vector<int32_t>>()}, runOptions)[0];
  EXPECT_EQ(found.tokens, expected["tokens"].get<std::vector<int32_t>>());

  auto file = [&](const char *kind) {
    return folder + "/expected/" + kind + "-" + std::to_string(number) + ".npy";
  };
  Expected<NpyArray<int32_t>> rows = readNpyIntegers(file("rows"));
  Expected<NpyArray<float>> logits = readNpyFloats(file("logits"));
  ASSERT_TRUE(rows.ok() && logits.ok());
  std::vector<int32_t> all;
  for (const std::vector<int32_t> &layer : found.rows)
    all.insert(all.end(), layer.begin(), layer.end());
  EXPECT_EQ(all, rows->values);
  ASSERT_EQ(found.logits.size(), logits->values.size());
  double scale = expected["logit_scale"], error = 0;
  for (size_t i = 0; i < found.logits.size(); ++i)
    error = std::max(error, std::fabs(double(found.logits[i]) - double(logits->values[i])));
  EXPECT_LE(error, 1e-4 * scale);
}

TEST(DomainRows, Row17SharedLayersLoadAndRun) {
  for (Device device : {Device::Cpu, Device::Reference}) {
    RunOptions options;
    options.device = device;
    expectPublishedResults("tiny-glm-5.2", 2, options); // 20 + 12 tokens
  }
}

TEST(DomainRows, Row37LengthsFarBeyondKEqualThePublicImplementation) {
  for (Device device : {Device::Cpu, Device::Reference}) {
    RunOptions options;
    options.device = device;
    expectPublishedResults("tiny-glm-5.2", 4, options); // 61 + 12 tokens, k = 8
    expectPublishedResults("tiny-deepseek-v3.2", 4, options);
  }
}

// A model of the kind of GLM-5 that is made to share at run time.
TEST(DomainRows, Row18IndexersOfLayersThatShareMayBeThere) {
  json config = glmConfigWithoutSharing();
  config["num_hidden_layers"] = 10;
  ModelOptions options;
  options.weightsConfig = config; // an indexer in each layer
  config["index_topk_freq"] = 4;
  config["index_skip_topk_offset"] = 3;
  std::unique_ptr<Model> skipping = Model::create(config, options);
  ASSERT_NE(skipping->checkpoint().find("model.layers.3.self_attn.indexer.wk.weight"), nullptr);
  EXPECT_EQ(skipping->description().rowWidths.size(), 4u);
  ASSERT_EQ(skipping->notes().size(), 1u);
  EXPECT_NE(skipping->notes()[0].text.find("30 tensors of layers 3, 4, 5, 7, 8, 9 are skipped"),
            std::string::npos)
      << skipping->notes()[0].text;

  // Weights depend on seed and name alone, so this checkpoint has the same, without those skipped.
  std::unique_ptr<Model> lacking = Model::create(glmConfig());
  std::vector<int32_t> prompt = makePrompt(40, 18);
  expectSameBits(runBoth(*skipping, {prompt})[0], runBoth(*lacking, {prompt})[0]);
}

std::string importedText(const json &config, std::vector<importer::Note> &notes) {
  mlir::MLIRContext context;
  ImportOptions options;
  options.withWeights = false;
  Expected<importer::ModelConfig> parsed = importer::parseModelConfig(config.dump(), notes);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  if (!parsed.ok())
    return "";
  ImportedModel module = importModel(context, *parsed, nullptr, options, notes);
  EXPECT_TRUE(module.ok()) << module.status().message();
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (module.ok())
    (*module)->print(stream);
  return text;
}

TEST(DomainRows, Row19EncodingsOfOneScheduleGiveOneModule) {
  json list = glmConfig(), pattern = glmConfig(), frequency = glmConfig();
  pattern.erase("indexer_types");
  frequency.erase("indexer_types");
  pattern["index_topk_pattern"] = "FFFSSSFSSS";
  frequency["index_topk_freq"] = 4;
  frequency["index_skip_topk_offset"] = 3;
  std::vector<importer::Note> notes;
  std::string expected = importedText(list, notes);
  EXPECT_EQ(importedText(pattern, notes), expected);
  EXPECT_EQ(importedText(frequency, notes), expected);
  EXPECT_TRUE(notes.empty());

  // Precedence: list, then pattern, then frequency; one warning names both.
  json other = glmConfig();
  other["index_topk_pattern"] = "FSFSFSFSFS";
  EXPECT_EQ(importedText(other, notes), expected);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].kind, importer::Note::Kind::Warning);
  EXPECT_EQ(notes[0].text, "indexer_types and index_topk_pattern disagree from layer 1 on (full "
                           "against shared); indexer_types counts");
  notes.clear();
  json both = pattern;
  both["index_topk_freq"] = 2;
  EXPECT_EQ(importedText(both, notes), expected);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].text.find("index_topk_pattern and index_topk_freq"), std::string::npos)
      << notes[0].text;
}

TEST(DomainRows, Row21ScheduleByFrequencyCountsFromTheOffset) {
  auto letters = [](int64_t layers, int64_t frequency, int64_t offset) {
    std::string text;
    for (bool owns : importer::scheduleByFrequency(layers, frequency, offset))
      text += owns ? 'F' : 'S';
    return text;
  };
  EXPECT_EQ(letters(10, 4, 2), "FFSSSFSSSF");
  EXPECT_EQ(letters(11, 4, 3), "FFFSSSFSSSF");
  EXPECT_EQ(letters(5, 1, 2), "FFFFF");
  EXPECT_EQ(letters(5, 3, 0), "SSFSS"); // layer 0 counts as 1: refused by the import
  std::string published = letters(78, 4, 3);
  EXPECT_EQ(std::count(published.begin(), published.end(), 'F'), 21);
  for (int layer = 2; layer < 78; layer += 4)
    EXPECT_EQ(published[size_t(layer)], 'F') << "layer " << layer;
}

// There is no way to dense attention but a model that has no indexers.
TEST(DomainRows, Row22SparseModelsNeverFallBackToDenseAttention) {
  json config = glmConfig();
  for (const char *key : {"index_topk", "index_n_heads", "index_head_dim"}) {
    json incomplete = config;
    incomplete.erase(key);
    std::vector<importer::Note> notes;
    Expected<importer::ModelConfig> parsed = importer::parseModelConfig(incomplete.dump(), notes);
    ASSERT_FALSE(parsed.ok()) << key;
    EXPECT_NE(parsed.status().message().find(key), std::string::npos) << parsed.status().message();
  }
  std::string error;
  ModelOptions options;
  options.edit = without("indexer");
  EXPECT_EQ(Model::create(config, error, options), nullptr);
  EXPECT_NE(error.find("20 tensors missing"), std::string::npos) << error;

  std::unique_ptr<Model> model = Model::create(config);
  int attentions = 0;
  model->module().walk([&](AttentionOp attention) {
    ++attentions;
    for (const AttentionOp::Source &source : attention.getSources())
      EXPECT_TRUE(source.rows) << "layer attends to more than its rows";
  });
  EXPECT_EQ(attentions, 10);
}

} // namespace
