//===- ModelConfig.cpp - What a config.json says, checked -----------------===//
#include "strata/lib/Import/ConfigParts.h"
#include "strata/lib/Support/Json.h"
#include "strata/lib/Support/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace strata::importer {

/// More layers than this is a mistake; a config must not make us allocate without end.
static constexpr int64_t kMaxLayers = 4096;

static void readModelType(ConfigReader &reader, ModelConfig &config) {
  static constexpr llvm::StringLiteral supported[] = {"glm_moe_dsa", "deepseek_v32", "deepseek_v3",
                                                      "llama", "mistral"};
  const llvm::json::Value *value = reader.get("model_type");
  std::optional<llvm::StringRef> type = value ? value->getAsString() : std::nullopt;
  if (!type)
    return reader.fail("model_type", "a string");
  config.modelType = type->str();
  if (llvm::is_contained(supported, *type))
    return;
  std::string list = "; supported are " + llvm::join(llvm::ArrayRef(supported), ", ");
  if (*type == "deepseek_v4")
    return reader.refuse("model_type", "deepseek_v4 (compressed attention and hash routing) is not "
                                       "supported" +
                                           list);
  if (*type == "glm5_next" || *type == "glm5_next_text")
    return reader.refuse("model_type", *type +
                                           " (linear attention and pooled index keys) is not "
                                           "supported" +
                                           list);
  reader.refuse("model_type", printable(*type) + " is not supported" + list);
}

static void readStoredType(ConfigReader &reader, ModelConfig &config) {
  llvm::StringRef key = reader.has("dtype") ? "dtype" : "torch_dtype";
  reader.mentions("torch_dtype");
  std::string word = reader.wordOr(key, "", {"float32", "bfloat16", "float16"});
  if (word == "float32")
    config.storedType = ElementType::F32;
  else if (word == "bfloat16")
    config.storedType = ElementType::BF16;
  else if (word == "float16")
    config.storedType = ElementType::F16;
}

static void readEosTokens(ConfigReader &reader, ModelConfig &config) {
  if (!reader.has("eos_token_id"))
    return;
  const llvm::json::Value &value = *reader.get("eos_token_id");
  llvm::json::Array single;
  const llvm::json::Array *list = value.getAsArray();
  if (!list) {
    single.push_back(value);
    list = &single;
  }
  for (const llvm::json::Value &item : *list) {
    std::optional<int64_t> id = item.getAsInteger();
    if (!id || *id < 0 || *id >= config.vocabulary)
      return reader.failWith("eos_token_id",
                             llvm::formatv("expected token ids from 0 to {0} but got {1}",
                                           config.vocabulary - 1, ConfigReader::show(&item))
                                 .str());
    config.eosTokenIds.push_back(int32_t(*id));
  }
}

std::optional<BlockQuantisation> readQuantisation(ConfigReader &reader, ConfigReport &report) {
  const llvm::json::Object *object = reader.section("quantization_config");
  if (!object)
    return std::nullopt;
  ConfigReader section(*object, report, "quantization_config.");
  BlockQuantisation blocks;
  if (!section.has("quant_method"))
    section.fail("quant_method", "\"fp8\"");
  section.wordOr("quant_method", "fp8", {"fp8"});
  section.wordOr("fmt", "e4m3", {"e4m3"});
  // How activations are rounded is a choice of the kernels that the checkpoint was made for; ours
  // use the weights' own values.
  section.wordOr("activation_scheme", "dynamic", {"dynamic"});
  if (section.mentions("weight_block_size")) {
    const llvm::json::Array *size = section.get("weight_block_size")->getAsArray();
    if (!size || size->size() != 2 || (*size)[0].getAsInteger() != 128 ||
        (*size)[1].getAsInteger() != 128)
      section.fail("weight_block_size", "[128, 128]");
  }
  for (llvm::StringRef key : {"modules_to_not_convert", "ignored_layers"}) {
    if (!section.has(key))
      continue;
    const llvm::json::Array *names = section.get(key)->getAsArray();
    for (const llvm::json::Value &name : names ? *names : llvm::json::Array{nullptr}) {
      if (std::optional<llvm::StringRef> text = name.getAsString())
        blocks.excluded.push_back(text->str());
      else
        section.fail(key, "a list of names");
    }
  }
  return blocks;
}

/// Keys that would change what the model computes, with the only value that does not.
static void refuseOtherModels(ConfigReader &reader) {
  if (reader.positiveOr("partial_rotary_factor", 1) != 1)
    reader.refuse("partial_rotary_factor", "only 1 is supported");
  for (llvm::StringRef key : {"swiglu_limit", "attn_logit_softcapping", "final_logit_softcapping",
                              "index_kpool", "compress_ratios", "attention_chunk_size"})
    if (reader.has(key))
      reader.refuse(key, "not supported, got " + ConfigReader::show(reader.get(key)));
  for (llvm::StringRef key : {"use_qk_norm", "attention_out_bias", "lm_head_bias"})
    if (reader.flagOr(key, false))
      reader.refuse(key, "not supported");
}

/// Names what nobody looked at, except keys that are known to have no effect on inference.
static void warnOfUnknownKeys(ConfigReader &reader) {
  for (llvm::StringRef key : {"architectures",
                              "attention_dropout",
                              "auto_map",
                              "bos_token_id",
                              "pad_token_id",
                              "initializer_range",
                              "use_cache",
                              "transformers_version",
                              "ep_size",
                              "pretraining_tp",
                              "index_share_for_mtp_iteration",
                              "moe_router_dtype",
                              "aux_loss_alpha",
                              "seq_aux",
                              "router_aux_loss_coef",
                              "output_router_logits",
                              "hidden_dropout",
                              "return_dict",
                              "tie_encoder_decoder",
                              "use_sliding_window",
                              "max_window_layers",
                              "output_attentions",
                              "output_hidden_states",
                              "id2label",
                              "label2id",
                              "problem_type",
                              "is_encoder_decoder",
                              "is_decoder",
                              "is_llama_config",
                              "unk_token_id",
                              "chunk_size_feed_forward"})
    reader.mentions(key);
  std::vector<std::string> unknown = reader.unusedKeys();
  llvm::erase_if(unknown,
                 [](const std::string &key) { return llvm::StringRef(key).starts_with("_"); });
  for (std::string &key : unknown)
    key = printable(key);
  if (!unknown.empty())
    reader.warn("unknown keys are ignored: " + listText(unknown));
}

static void readConfig(ConfigReader &reader, ConfigReport &report, ModelConfig &config) {
  readModelType(reader, config);
  if (reader.failed())
    return;
  bool grouped = config.modelType == "llama" || config.modelType == "mistral";

  config.hiddenWidth = reader.size("hidden_size");
  config.vocabulary = reader.size("vocab_size");
  config.heads = reader.size("num_attention_heads");
  config.maxPositions = reader.size("max_position_embeddings");
  config.normEpsilon = reader.positive("rms_norm_eps");
  config.tiedEmbeddings = reader.flagOr("tie_word_embeddings", false);
  config.attentionBias = reader.flagOr("attention_bias", false);
  int64_t layers = reader.size("num_hidden_layers");
  if (layers > kMaxLayers)
    reader.fail("num_hidden_layers", llvm::formatv("at most {0}", kMaxLayers).str());
  config.predictionLayers = reader.integerOr("num_nextn_predict_layers", 0, 0, kMaxLayers);
  if (reader.failed())
    return;
  config.layers.resize(layers);

  // The feed-forward part first: attention may refuse what no other part looks at.
  readFeedForward(reader, config, !grouped);
  if (grouped)
    readGroupedAttention(reader, config);
  else
    readLatentAttention(reader, config);
  bool interleaved = config.rope.interleaved;
  RopeReading reading = readRope(reader, report, config.maxPositions, !grouped);
  config.rope = reading.rope;
  config.rope.interleaved = interleaved;
  if (!grouped)
    config.attentionScale *= reading.scaleMultiplier;

  readEosTokens(reader, config);
  readStoredType(reader, config);
  config.quantisation = readQuantisation(reader, report);
  refuseOtherModels(reader);
  if (!reader.failed())
    warnOfUnknownKeys(reader);
}

/// How deep objects and arrays of a JSON text are nested, as far as it is JSON.
static int64_t nestingDepth(std::string_view text) {
  int64_t depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && (text[i] == '[' || text[i] == '{'))
      deepest = std::max(deepest, ++depth);
    else if (!quoted && (text[i] == ']' || text[i] == '}'))
      --depth;
  }
  return deepest;
}

/// LLVM's parser says where a text is broken; but it recurses without a bound, and keeps the last
/// of several equal keys, where nobody can know which one was meant.
static Expected<llvm::json::Value> parseConfigText(std::string_view text) {
  constexpr int kMaxDepth = 64;
  if (nestingDepth(text) > kMaxDepth)
    return Status(StatusCode::Corrupt,
                  "not a config: nested more than " + std::to_string(kMaxDepth) + " deep");
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return Status(StatusCode::Corrupt, "not JSON: " + llvm::toString(value.takeError()));
  if (Expected<nlohmann::json> strict = parseJson(text, kMaxDepth); !strict.ok())
    return strict.status();
  return std::move(*value);
}

Expected<ModelConfig> parseModelConfig(std::string_view text, std::vector<Note> &notes) {
  Expected<llvm::json::Value> value = parseConfigText(text);
  if (!value.ok())
    return value.status();
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return Status(StatusCode::Corrupt,
                  "expected a JSON object but got " + ConfigReader::show(&*value));
  ConfigReport report{Status::success(), notes};
  ConfigReader reader(*object, report);
  ModelConfig config;
  readConfig(reader, report, config);
  if (!report.status.ok())
    return report.status;
  return config;
}

} // namespace strata::importer
