//===- ImportModelTest.cpp - Configs and checkpoints against each other ---===//
//
// Checkpoints are made from what an import without weights asks for, then changed.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Import/ImportModel.h"

#include "strata/dialects/Strata/IR.h"
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Checkpoint/WeightPattern.h"
#include "strata/lib/Support/File.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

using namespace strata;
using namespace strata::importer;

namespace {

constexpr const char *kGlm = R"({
  "model_type": "glm_moe_dsa", "dtype": "float32", "hidden_size": 8, "num_hidden_layers": 4, "num_attention_heads": 2,
  "q_lora_rank": 4, "kv_lora_rank": 4, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 4, "index_n_heads": 2,
  "index_head_dim": 4, "index_topk": 3, "index_topk_freq": 3, "index_skip_topk_offset": 1,
  "indexer_rope_interleave": true, "n_routed_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 4,
  "intermediate_size": 6, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "norm_topk_prob": true,
  "routed_scaling_factor": 2.5, "vocab_size": 16, "max_position_embeddings": 32, "rope_theta": 10000,
  "rms_norm_eps": 1e-05, "eos_token_id": [3, 5]})";

constexpr const char *kLlama = R"({
  "model_type": "llama", "dtype": "float16", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 1, "intermediate_size": 6, "rms_norm_eps": 1e-05, "vocab_size": 16,
  "max_position_embeddings": 32, "attention_bias": true, "tie_word_embeddings": true})";

struct Tensor {
  std::string dtype;
  std::vector<int64_t> shape;
};
using Tensors = std::map<std::string, Tensor>;

/// The tensors that a module's weights name.
Tensors tensorsOf(mlir::ModuleOp module) {
  Tensors tensors;
  module.walk([&](WeightOp weight) {
    std::vector<int64_t> shape = weight.getValue().getType().getShape().vec();
    if (weight.getName().contains('{'))
      shape.erase(shape.begin());
    if (auto part = weight.getPart())
      shape = {part->getGroups() * part->getStride(), shape[2]};
    mlir::Type stored = weight.getStored();
    const char *dtype = stored.isF32()    ? "F32"
                        : stored.isBF16() ? "BF16"
                        : stored.isF16()  ? "F16"
                                          : "F8_E4M3";
    std::vector<std::string> names = *expandWeightPattern(weight.getName().str());
    for (const std::string &name : names)
      tensors[name] = {dtype, shape};
    if (auto scales = weight.getScales())
      for (const std::string &name : names)
        tensors[name + "_scale_inv"] = {"F32", {(shape[0] + 127) / 128, (shape[1] + 127) / 128}};
  });
  return tensors;
}

/// A folder with config.json and zeros for each tensor, removed at the end.
class Folder {
public:
  Folder(const std::string &config, const Tensors &tensors) {
    path = std::filesystem::temp_directory_path() /
           llvm::formatv("strata-import-{0}-{1}", getpid(), counter++).str();
    std::filesystem::create_directory(path);
    EXPECT_TRUE(writeFile(path / "config.json", config).ok());
    llvm::json::Object header;
    int64_t offset = 0;
    for (const auto &[name, tensor] : tensors) {
      static const std::map<std::string, int64_t> sizes = {
          {"I64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F8_E4M3", 1}};
      int64_t bytes = sizes.at(tensor.dtype);
      for (int64_t extent : tensor.shape)
        bytes *= extent;
      header[name] =
          llvm::json::Object{{"dtype", tensor.dtype},
                             {"shape", llvm::json::Array(tensor.shape)},
                             {"data_offsets", llvm::json::Array{offset, offset + bytes}}};
      offset += bytes;
    }
    std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(header))).str();
    uint64_t size = text.size();
    std::string file(reinterpret_cast<const char *>(&size), sizeof size);
    file += text + std::string(offset, '\0');
    EXPECT_TRUE(writeFile(path / "model.safetensors", file).ok());
  }
  ~Folder() { std::filesystem::remove_all(path); }

  std::filesystem::path path;

private:
  static inline int counter = 0;
};

class ImportModelTest : public testing::Test {
protected:
  ImportedModel import(const std::string &path, bool withWeights) {
    notes.clear();
    ImportOptions options;
    options.withWeights = withWeights;
    return importFolder(context, path, options, notes);
  }

  /// What a checkpoint for this config must hold.
  Tensors neededTensors(const std::string &config) {
    Folder folder(config, {});
    ImportedModel module = import(folder.path, false);
    EXPECT_TRUE(module.ok()) << module.status().message();
    return module.ok() ? tensorsOf(**module) : Tensors();
  }

  /// Imports a checkpoint with these tensors; the message of the error, or "".
  std::string importWith(const std::string &config, const Tensors &tensors) {
    Folder folder(config, tensors);
    ImportedModel result = import(folder.path, true);
    if (!result.ok()) {
      // The folder's name is not the same twice.
      std::string text = result.status().message(), prefix = folder.path.string();
      return llvm::StringRef(text).starts_with(prefix) ? text.substr(prefix.size()) : text;
    }
    module = std::move(*result);
    return "";
  }

  std::vector<std::string> remarks() {
    std::vector<std::string> texts;
    for (const Note &note : notes)
      if (note.kind == Note::Kind::Remark)
        texts.push_back(note.text);
    return texts;
  }

  mlir::MLIRContext context;
  std::vector<Note> notes;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

std::string with(const char *base, const char *key, llvm::json::Value value) {
  llvm::json::Object object = *llvm::cantFail(llvm::json::parse(base)).getAsObject();
  object[key] = std::move(value);
  return llvm::formatv("{0}", llvm::json::Value(std::move(object))).str();
}

TEST_F(ImportModelTest, AcceptsExactlyWhatItAsksFor) {
  Tensors tensors = neededTensors(kGlm);
  ASSERT_EQ(importWith(kGlm, tensors), "");
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(tensorsOf(*module).size(), tensors.size());
  mlir::Operation *op = module->getOperation();
  EXPECT_EQ(op->getAttrOfType<mlir::StringAttr>(kModelTypeAttr).getValue(), "glm_moe_dsa");
  EXPECT_EQ(op->getAttrOfType<mlir::IntegerAttr>(kMaxPositionsAttr).getInt(), 32);
  EXPECT_EQ(op->getAttrOfType<mlir::DenseI32ArrayAttr>(kEosTokenIdsAttr).asArrayRef(),
            llvm::ArrayRef({3, 5}));
  auto step = module->lookupSymbol<mlir::func::FuncOp>(kEntryPoint);
  EXPECT_EQ(step.getNumArguments(), 1u + 4 + 2); // batch, keys of four layers, index keys of two
  EXPECT_EQ(step.getArgAttrOfType<mlir::StringAttr>(2, kCacheNameAttr).getValue(),
            "layer 0 index keys");
}

TEST_F(ImportModelTest, ListsMissingTensors) {
  Tensors tensors = neededTensors(kGlm);
  tensors.erase("model.norm.weight");
  tensors.erase("model.layers.2.mlp.experts.1.up_proj.weight");
  EXPECT_EQ(importWith(kGlm, tensors),
            ": 2 tensors missing: model.layers.2.mlp.experts.1.up_proj.weight, model.norm.weight");
}

TEST_F(ImportModelTest, NamesShapesAndTypes) {
  Tensors tensors = neededTensors(kGlm);
  tensors["model.norm.weight"].shape = {9};
  tensors["model.layers.0.self_attn.kv_b_proj.weight"].shape = {4, 16};
  tensors["lm_head.weight"].dtype = "I64";
  std::string error = importWith(kGlm, tensors);
  EXPECT_NE(error.find("3 tensors not as expected"), std::string::npos) << error;
  EXPECT_NE(error.find("model.norm.weight: expected f32 [8] but got f32 [9]"), std::string::npos)
      << error;
  EXPECT_NE(error.find("kv_b_proj.weight: expected f32 [16, 4] but got f32 [4, 16]"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("lm_head.weight: expected f32 [16, 8] but got I64"), std::string::npos)
      << error;
}

TEST_F(ImportModelTest, ListsTensorsWithoutAPlace) {
  Tensors tensors = neededTensors(kGlm);
  tensors["model.layers.1.self_attn.q_norm.weight"] = {"F32", {4}};
  tensors["model.layers.9.input_layernorm.weight"] = {"F32", {8}};
  EXPECT_EQ(importWith(kGlm, tensors),
            ": 2 tensors that the model has no place for: "
            "model.layers.1.self_attn.q_norm.weight, model.layers.9.input_layernorm.weight");
}

/// Row 13 of the list of public bugs: what must be there follows from the schedule.
TEST_F(ImportModelTest, OnlyLayersThatOwnAnIndexerNeedOne) {
  Tensors tensors = neededTensors(kGlm);
  EXPECT_EQ(tensors.count("model.layers.1.self_attn.indexer.wk.weight"), 0u);
  tensors.erase("model.layers.3.self_attn.indexer.wk.weight");
  EXPECT_EQ(importWith(kGlm, tensors),
            ": 1 tensor missing: model.layers.3.self_attn.indexer.wk.weight");
}

/// Row 18: a checkpoint whose layers all own an indexer, with a schedule that skips some.
TEST_F(ImportModelTest, SkipsIndexersOfLayersThatShare) {
  Tensors tensors = neededTensors(with(kGlm, "index_topk_freq", nullptr));
  ASSERT_EQ(importWith(kGlm, tensors), "");
  EXPECT_EQ(remarks(), std::vector<std::string>{"10 tensors of layers 1, 2 are skipped: indexers "
                                                "of layers that share another layer's rows"});
}

TEST_F(ImportModelTest, SkipsPredictionLayers) {
  std::string config = with(kGlm, "num_nextn_predict_layers", 1);
  Tensors tensors = neededTensors(config);
  tensors["model.layers.4.input_layernorm.weight"] = {"F32", {8}};
  tensors["model.layers.4.eh_proj.weight"] = {"F32", {8, 16}};
  ASSERT_EQ(importWith(config, tensors), "");
  ASSERT_EQ(remarks().size(), 1u);
  EXPECT_EQ(remarks()[0], "2 tensors of layer 4 are skipped: they serve multi-token prediction");
  // Not announced, but recognised by a tensor that no other layer has.
  ASSERT_EQ(importWith(kGlm, tensors), "");
  EXPECT_EQ(remarks().size(), 1u);
}

TEST_F(ImportModelTest, SkipsTablesAndTheSpareHead) {
  Tensors tensors = neededTensors(kLlama);
  EXPECT_EQ(tensors.count("lm_head.weight"), 0u);
  tensors["lm_head.weight"] = {"F16", {16, 8}};
  tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {"F32", {1}};
  ASSERT_EQ(importWith(kLlama, tensors), "");
  EXPECT_EQ(remarks().size(), 2u);
}

TEST_F(ImportModelTest, BiasesOfGroupedAttention) {
  Tensors tensors = neededTensors(kLlama);
  for (const char *which : {"q", "k", "v", "o"})
    EXPECT_EQ(tensors.count(llvm::formatv("model.layers.1.self_attn.{0}_proj.bias", which).str()),
              1u);
}

TEST_F(ImportModelTest, BiasesOfLatentAttention) {
  Tensors tensors = neededTensors(with(kGlm, "attention_bias", true));
  for (const char *which : {"q_a_proj", "kv_a_proj_with_mqa", "o_proj"})
    EXPECT_EQ(tensors.count(llvm::formatv("model.layers.1.self_attn.{0}.bias", which).str()), 1u);
  EXPECT_EQ(tensors.count("model.layers.1.self_attn.q_b_proj.bias"), 0u);
}

TEST_F(ImportModelTest, TheCheckpointSaysHowWeightsAreStored) {
  Tensors tensors = neededTensors(kGlm);
  for (auto &[name, tensor] : tensors)
    if (name.find("correction_bias") == std::string::npos)
      tensor.dtype = "BF16";
  ASSERT_EQ(importWith(kGlm, tensors), ""); // config.json says float32
  module->walk([](WeightOp weight) {
    EXPECT_EQ(weight.getStored().isF32(), weight.getName().contains("correction_bias"));
  });
  // A stack has one type.
  tensors["model.layers.1.mlp.experts.1.up_proj.weight"].dtype = "F32";
  EXPECT_NE(importWith(kGlm, tensors).find("experts.1.up_proj.weight: expected bf16"),
            std::string::npos);
}

TEST_F(ImportModelTest, BlockScaledWeights) {
  std::string config =
      with(kGlm, "quantization_config",
           llvm::json::Object{{"quant_method", "fp8"}, {"modules_to_not_convert", {"o_proj"}}});
  Tensors tensors = neededTensors(config);
  EXPECT_EQ(tensors["model.layers.0.self_attn.q_b_proj.weight"].dtype, "F8_E4M3");
  EXPECT_EQ(tensors["model.layers.0.self_attn.indexer.wk.weight"].dtype, "F8_E4M3");
  for (const char *plain :
       {"self_attn.o_proj", "self_attn.indexer.weights_proj", "input_layernorm"})
    EXPECT_EQ(tensors[llvm::formatv("model.layers.0.{0}.weight", plain).str()].dtype, "F32");
  EXPECT_EQ(tensors["lm_head.weight"].dtype, "F32");
  ASSERT_EQ(importWith(config, tensors), "");

  tensors.erase("model.layers.1.mlp.experts.0.down_proj.weight_scale_inv");
  EXPECT_EQ(importWith(config, tensors),
            ": 1 tensor missing: model.layers.1.mlp.experts.0.down_proj.weight_scale_inv");
}

TEST_F(ImportModelTest, SharedLayersUseTheLeadersRows) {
  ASSERT_EQ(importWith(kGlm, neededTensors(kGlm)), "");
  std::vector<int> uses;
  module->walk([&](SelectOp select) {
    uses.push_back(std::distance(select->use_begin(), select->use_end()));
  });
  EXPECT_EQ(uses, (std::vector<int>{3, 1})); // FSSF
}

TEST_F(ImportModelTest, WithoutWeightsTheTypeMustBeGiven) {
  Folder folder(with(kGlm, "dtype", nullptr), {});
  ImportedModel result = import(folder.path, false);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("config.json: dtype: expected"), std::string::npos);
}

TEST_F(ImportModelTest, NamesTheFileThatIsNotThere) {
  Folder folder(kGlm, {});
  std::filesystem::remove(folder.path / "config.json");
  ImportedModel result = import(folder.path, true);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().message().find("config.json"), std::string::npos);
}

/// The real models stay readable: the 78 layers of GLM-5.2 have fewer than 5000 ops.
TEST_F(ImportModelTest, NumberOfOps) {
  ImportedModel result = import(std::string(STRATA_TEST_CONFIGS) + "/glm-5.2.json", false);
  ASSERT_TRUE(result.ok()) << result.status().message();
  int64_t ops = 0, selects = 0, attentions = 0;
  (*result)->walk([&](mlir::Operation *op) {
    ++ops;
    selects += mlir::isa<SelectOp>(op);
    attentions += mlir::isa<AttentionOp>(op);
  });
  EXPECT_LT(ops, 5000);
  EXPECT_EQ(selects, 21);
  EXPECT_EQ(attentions, 78);
}

} // namespace
