//===- Harness.cpp - Small models from checkpoint to rows and logits ------===//
#include "Harness.h"

#include "WeightGenerator.h"

#include "strata/InitAll.h"
#include "strata/lib/Checkpoint/TestSafetensors.h"
#include "strata/lib/Support/Text.h"
#include "strata/lib/Target/EmitPackage.h"
#include "strata/runtime/cpu/CpuExecutor.h"

#include "mlir/Pass/PassManager.h"

#include <cmath>

namespace strata::rows {

//===----------------------------------------------------------------------===//
// Configs
//===----------------------------------------------------------------------===//

json glmConfig() {
  return json::parse(R"({
    "model_type": "glm_moe_dsa", "dtype": "float32", "hidden_size": 64, "num_hidden_layers": 10,
    "num_attention_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 24, "qk_rope_head_dim": 8,
    "v_head_dim": 32, "index_n_heads": 4, "index_head_dim": 16, "index_topk": 8, "indexer_rope_interleave": true,
    "indexer_types": ["full", "full", "full", "shared", "shared", "shared", "full", "shared", "shared", "shared"],
    "intermediate_size": 96, "first_k_dense_replace": 1, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "n_shared_experts": 1, "moe_intermediate_size": 32, "n_group": 1, "topk_group": 1, "norm_topk_prob": true,
    "routed_scaling_factor": 2.5, "vocab_size": 256, "max_position_embeddings": 512, "rms_norm_eps": 1e-05,
    "rope_parameters": {"rope_type": "default", "rope_theta": 8000000}})");
}

json glmConfigWithoutSharing() {
  json config = glmConfig();
  config["num_hidden_layers"] = 4;
  config["indexer_types"] = nullptr;
  config["index_topk_freq"] = nullptr;
  return config;
}

json deepSeekConfig() {
  json config = glmConfigWithoutSharing();
  config["model_type"] = "deepseek_v32";
  config.erase("indexer_rope_interleave");
  config.erase("rope_parameters");
  config["rope_theta"] = 10000;
  config["rope_scaling"] = json::parse(
      R"({"type": "yarn", "factor": 4, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0,
          "mscale_all_dim": 1.0, "original_max_position_embeddings": 128})");
  config["rms_norm_eps"] = 1e-06;
  return config;
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

Edit scaled(const std::string &tensor, float factor) {
  return [=](StoredTensors &tensors) {
    std::string &bytes = tensors.at(tensor).bytes;
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    for (float &value : values)
      value *= factor;
    bytes = bytesOf(values);
  };
}

Edit without(const std::string &part) {
  return [=](StoredTensors &tensors) {
    for (auto tensor = tensors.begin(); tensor != tensors.end();)
      tensor =
          tensor->first.find(part) == std::string::npos ? std::next(tensor) : tensors.erase(tensor);
  };
}

static Status editCheckpoint(const TestFolder &folder, const Edit &edit) {
  StoredTensors tensors;
  {
    Expected<Checkpoint> checkpoint = Checkpoint::open(folder.path());
    if (!checkpoint.ok())
      return checkpoint.status();
    for (std::string_view name : checkpoint->names()) {
      const TensorView &view = *checkpoint->find(name);
      tensors[std::string(name)] = {
          std::string(view.dtype), view.shape,
          std::string(reinterpret_cast<const char *>(view.data), view.bytes)};
    }
  }
  edit(tensors);
  std::vector<TestTensor> list;
  for (const auto &[name, tensor] : tensors)
    list.push_back({name, tensor.dtype, shapeText(tensor.shape), tensor.bytes});
  folder.write("model.safetensors", safetensorsFile(list));
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

std::string compile(mlir::ModuleOp module, NumberFormat compute, int64_t pageSize,
                    const PlacementOptions &placement) {
  PipelineOptions options;
  options.placement = placement;
  options.compute = options.cache = compute;
  options.pageSize = pageSize;
  mlir::PassManager manager(module.getContext(), mlir::ModuleOp::getOperationName());
  std::string inputModule = getBytecode(module);
  buildPipeline(manager, options, Phase::Input, Phase::Lower);
  if (mlir::failed(manager.run(module)))
    return "";
  mlir::FailureOr<std::string> bytes =
      emitPackage(module, {*getProcessorByName("native")}, inputModule);
  return mlir::failed(bytes) ? "" : *bytes;
}

Status Model::build(const json &config, const ModelOptions &options) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  context_.appendDialectRegistry(registry);

  const json &weightsConfig = options.weightsConfig.is_null() ? config : options.weightsConfig;
  Expected<test::CheckpointSummary> written =
      test::writeCheckpoint(weightsConfig.dump(), options.checkpoint, folder_.path());
  if (!written.ok())
    return written.status();
  if (!options.weightsConfig.is_null())
    folder_.write("config.json", config.dump());
  if (options.edit)
    if (Status status = editCheckpoint(folder_, options.edit); !status.ok())
      return status;
  ImportOptions importOptions;
  importOptions.pageSize = options.pageSize;
  ImportedModel imported = importFolder(context_, folder_.path(), importOptions, notes_);
  if (!imported.ok())
    return imported.status();
  module_ = std::move(*imported);
  if (options.change)
    options.change(*module_);

  mlir::OwningOpRef<mlir::ModuleOp> lowered(module_->clone());
  std::string bytes = compile(*lowered, options.compute, options.pageSize, options.placement);
  if (bytes.empty())
    return Status(StatusCode::Unsupported, "the module can't be compiled");
  bytes_.resize(bytes.size() / 16 + 1);
  std::memcpy(static_cast<void *>(bytes_.data()), bytes.data(), bytes.size());
  Expected<std::unique_ptr<rt::Package>> package =
      rt::Package::fromBytes({reinterpret_cast<const char *>(bytes_.data()), bytes.size()});
  if (!package.ok())
    return package.status();
  package_ = std::move(*package);
  Expected<Checkpoint> checkpoint = Checkpoint::open(folder_.path());
  if (!checkpoint.ok())
    return checkpoint.status();
  checkpoint_ = std::move(*checkpoint);
  return Status::success();
}

std::unique_ptr<Model> Model::create(const json &config, std::string &error,
                                     const ModelOptions &options) {
  std::unique_ptr<Model> model(new Model);
  Status status = model->build(config, options);
  error = status.message();
  return status.ok() ? std::move(model) : nullptr;
}

std::unique_ptr<Model> Model::create(const json &config, const ModelOptions &options) {
  std::string error;
  std::unique_ptr<Model> model = create(config, error, options);
  if (!model) {
    std::fprintf(stderr, "a model that the tests need: %s\n", error.c_str());
    std::abort();
  }
  return model;
}

std::unique_ptr<rt::Executor> Model::executor(Device device, const rt::ExecutorOptions &options) {
  if (device == Device::Cpu) {
    Expected<std::unique_ptr<rt::Executor>> executor =
        rt::createCpuExecutor(*package_, *checkpoint_, options);
    EXPECT_TRUE(executor.ok()) << executor.status().message();
    return executor.ok() ? std::move(*executor) : nullptr;
  }
  Expected<std::unique_ptr<reference::ReferenceExecutor>> executor =
      reference::ReferenceExecutor::create(*module_, &*checkpoint_, options);
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  return executor.ok() ? std::move(*executor) : nullptr;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// True where the worst chosen score and the best other one are well apart. Scores of exactly 0 are
/// as good: no key head looks at such a position, in any order of summation.
static bool isClear(llvm::ArrayRef<float> scores, llvm::ArrayRef<int32_t> chosen) {
  double largest = 0, worstChosen = INFINITY, bestOther = -INFINITY;
  for (auto [position, score] : llvm::enumerate(scores)) {
    largest = std::max(largest, std::fabs(double(score)));
    if (llvm::is_contained(chosen, int32_t(position)))
      worstChosen = std::min(worstChosen, double(score));
    else
      bestOther = std::max(bestOther, double(score));
  }
  return worstChosen - bestOther > 1e-5 * largest || (worstChosen == 0 && bestOther == 0);
}

static void expectClearChoices(rt::Executor &executor) {
  auto check = [](const char *what) {
    return [=](int number, int token, llvm::ArrayRef<float> scores,
               llvm::ArrayRef<int32_t> chosen) {
      EXPECT_TRUE(isClear(scores, chosen)) << "near-tie of " << what << " " << number << ", token "
                                           << token << " of the step: take another prompt";
    };
  };
  static_cast<reference::ReferenceExecutor &>(executor).setObserver(
      {check("indexer"), check("mixture")});
}

static std::vector<int64_t> lengthsOf(const Prompts &prompts) {
  std::vector<int64_t> lengths;
  for (const std::vector<int32_t> &prompt : prompts)
    lengths.push_back(int64_t(prompt.size()));
  return lengths;
}

Runner::Runner(Model &model, const Prompts &largest, const RunOptions &options)
    : model_(model.description()), options_(options) {
  session_.chunk = options.chunk;
  session_.maxNewTokens = options.newTokens;
  session_.ignoreEos = true;
  session_.allLogits = session_.keepRows = session_.keepExperts = true;
  limits_.threads = options.threads;
  limits_.poison = options.poison;
  Status status = planExecutor(model_, session_, lengthsOf(largest), limits_);
  EXPECT_TRUE(status.ok()) << status.message();
  executor_ = model.executor(options.device, limits_);
  if (executor_ && options.device == Device::Reference && !options.tiesAreMeant)
    expectClearChoices(*executor_);
}

void Runner::expectBeyondK(const Prompts &prompts) const {
  int64_t longest = 0;
  for (int64_t length : lengthsOf(prompts))
    longest = std::max(longest, contextTokens(model_, session_, length));
  for (int64_t k : model_.rowWidths)
    if (longest <= k) {
      ADD_FAILURE() << "vacuous: no prompt is longer than k = " << k;
      return;
    }
}

std::vector<rt::Generation> Runner::run(const Prompts &prompts) {
  if (!options_.shortIsMeant)
    expectBeyondK(prompts);
  std::vector<rt::Generation> generations(prompts.size());
  if (!executor_)
    return generations;
  rt::Session session(*executor_, limits_, session_);
  for (const std::vector<int32_t> &prompt : prompts) {
    Expected<int64_t> number = session.addPrompt({prompt, {}, {}});
    EXPECT_TRUE(number.ok()) << number.status().message();
  }
  while (!session.finished())
    if (Status status = session.step(); !status.ok()) {
      ADD_FAILURE() << status.message();
      return generations;
    }
  EXPECT_EQ(session.statistics().nanScores, 0);
  for (size_t i = 0; i < prompts.size(); ++i)
    generations[i] = session.generation(int64_t(i));
  return generations;
}

std::vector<rt::Generation> run(Model &model, const Prompts &prompts, const RunOptions &options) {
  return Runner(model, prompts, options).run(prompts);
}

StepResult runStep(rt::Executor &executor, const std::vector<Piece> &pieces, const PageTable &pages,
                   const std::vector<std::vector<int32_t>> &importedRows) {
  rt::StepInput input;
  for (const Piece &piece : pieces) {
    int32_t pageBegin = int32_t(input.pages.size());
    std::vector<int32_t> own = pages(piece.sequence);
    input.pages.insert(input.pages.end(), own.begin(), own.end());
    int32_t position = piece.firstPosition;
    for (int32_t token : piece.tokens) {
      input.wanted.push_back(int32_t(input.tokenIds.size()));
      input.tokenIds.push_back(token);
      input.positions.push_back(position++);
      input.sequences.push_back(piece.sequence);
      input.pageBegin.push_back(pageBegin);
    }
  }
  for (const std::vector<int32_t> &rows : importedRows)
    input.importedRows.push_back(rows.data());
  const rt::ModelDescription &model = executor.model();
  StepResult result;
  result.logits.resize(input.tokenIds.size() * size_t(model.vocabularySize));
  rt::StepOutput output;
  output.logits = result.logits.data();
  for (int64_t k : model.rowWidths)
    result.rows.emplace_back(input.tokenIds.size() * size_t(k));
  for (std::vector<int32_t> &rows : result.rows)
    output.rows.push_back(rows.data());
  result.status = executor.step(input, output);
  return result;
}

std::vector<int32_t> makePrompt(int64_t length, uint64_t seed) {
  std::vector<int32_t> prompt;
  for (int64_t i = 0; i < length; ++i)
    prompt.push_back(int32_t(test::splitmix64(test::splitmix64(seed) + uint64_t(i)) % 256));
  return prompt;
}

std::vector<int32_t> rowOf(const rt::Generation &generation, int64_t indexer, int64_t token) {
  const std::vector<int32_t> &rows = generation.rows[size_t(indexer)];
  int64_t k = int64_t(rows.size()) / generation.processed;
  return {rows.begin() + token * k, rows.begin() + (token + 1) * k};
}

void expectSameBits(const rt::Generation &found, const rt::Generation &expected) {
  EXPECT_EQ(found.tokens, expected.tokens);
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.experts, expected.experts);
  ASSERT_EQ(found.logits.size(), expected.logits.size());
  EXPECT_EQ(
      std::memcmp(found.logits.data(), expected.logits.data(), found.logits.size() * sizeof(float)),
      0);
}

void expectAgreement(const rt::Generation &found, const rt::Generation &expected,
                     double tolerance) {
  EXPECT_EQ(found.tokens, expected.tokens);
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.experts, expected.experts);
  ASSERT_EQ(found.logits.size(), expected.logits.size());
  double largest = 0, error = 0;
  for (size_t i = 0; i < found.logits.size(); ++i) {
    ASSERT_TRUE(std::isfinite(found.logits[i])) << "logit " << i;
    largest = std::max(largest, std::fabs(double(expected.logits[i])));
    error = std::max(error, std::fabs(double(found.logits[i]) - double(expected.logits[i])));
  }
  EXPECT_LE(error, tolerance * largest);
}

std::vector<rt::Generation> runBoth(Model &model, const Prompts &prompts, RunOptions options) {
  options.device = Device::Reference;
  std::vector<rt::Generation> expected = run(model, prompts, options);
  options.device = Device::Cpu;
  std::vector<rt::Generation> found = run(model, prompts, options);
  for (size_t i = 0; i < prompts.size(); ++i)
    expectAgreement(found[i], expected[i]);
  return found;
}

} // namespace strata::rows
