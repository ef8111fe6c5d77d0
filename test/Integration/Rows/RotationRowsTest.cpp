//===- RotationRowsTest.cpp - Rows 1 to 10: layouts and numbers of the indexer ===//
#include "Harness.h"
#include "IndexerOracle.h"

#include "strata/dialects/Strata/IR.h"
#include "strata/lib/Reference/Interpreter.h"

#include <cmath>
#include <gtest/gtest-spi.h>

using namespace strata;
using namespace strata::rows;

namespace {

json withLayout(json config, bool interleaved) {
  config["indexer_rope_interleave"] = interleaved;
  return config;
}

/// Expects the first indexer's rows to be the oracle's, token by token.
void expectOracleRows(const rt::Generation &found, const IndexerStages &oracle) {
  for (size_t token = 0; token < oracle.rows.size(); ++token)
    EXPECT_EQ(rowOf(found, 0, int64_t(token)), oracle.rows[token]) << "token " << token;
}

/// Rows of layer 0 in both implementations against the oracle.
void expectOracleRows(Model &model, const json &config, bool interleaved) {
  std::vector<int32_t> prompt = makePrompt(20);
  expectOracleRows(runBoth(model, {prompt})[0],
                   computeIndexer(config, model.checkpoint(), prompt, interleaved));
}

TEST(DomainRows, Row01IndexerRopeLayoutComesFromTheConfig) {
  std::vector<int32_t> prompt = makePrompt(20);
  rt::Generation found[2];
  for (bool interleaved : {false, true}) {
    json config = withLayout(glmConfig(), interleaved);
    std::unique_ptr<Model> model = Model::create(config);
    found[interleaved] = runBoth(*model, {prompt})[0];
    expectOracleRows(found[interleaved],
                     computeIndexer(config, model->checkpoint(), prompt, interleaved));
  }
  int differing = 0;
  for (int64_t token = 0; token < 20; ++token) {
    bool same = rowOf(found[0], 0, token) == rowOf(found[1], 0, token);
    EXPECT_TRUE(same || token >= 8) << "token " << token << " sees no more than k positions";
    differing += !same;
  }
  EXPECT_GT(differing, 0);
}

TEST(DomainRows, Row02DeepSeeksIndexerIsHalfSplitWhereNothingIsSaid) {
  json config = deepSeekConfig();
  std::unique_ptr<Model> model = Model::create(config);
  expectOracleRows(*model, config, /*interleaved=*/false);
  std::vector<int32_t> prompt = makePrompt(20);
  EXPECT_NE(computeIndexer(config, model->checkpoint(), prompt, true).rows,
            computeIndexer(config, model->checkpoint(), prompt, false).rows);
}

/// `select` as its two halves.
void splitSelects(mlir::ModuleOp module) {
  std::vector<SelectOp> selects;
  module.walk([&](SelectOp select) { selects.push_back(select); });
  for (SelectOp select : selects) {
    mlir::OpBuilder builder(select);
    int64_t dynamic = mlir::ShapedType::kDynamic;
    auto scores = IndexScoresOp::create(
        builder, select.getLoc(),
        mlir::RankedTensorType::get({dynamic, dynamic}, builder.getF32Type()), select.getQuery(),
        select.getHeadWeights(), select.getCache(), select.getBatch(), select.getScaleAttr());
    auto best = TopKOp::create(builder, select.getLoc(), select.getType(), scores,
                               select.getBatch(), select.getKAttr());
    select.replaceAllUsesWith(best.getRows());
    select.erase();
  }
}

// Fused and unfused, with kernels and by the reference: four ways from the same attribute.
TEST(DomainRows, Row03EveryLoweringOfTheIndexerRotatesAlike) {
  for (bool interleaved : {false, true}) {
    json config = withLayout(glmConfig(), interleaved);
    std::unique_ptr<Model> fused = Model::create(config);
    ModelOptions options;
    options.change = splitSelects;
    std::unique_ptr<Model> halves = Model::create(config, options);
    std::vector<int32_t> prompt = makePrompt(40, 3);
    expectSameBits(runBoth(*halves, {prompt})[0], runBoth(*fused, {prompt})[0]);
    expectOracleRows(*halves, config, interleaved);
  }
}

// Two layouts in one process, taking turns: nothing is kept from one model to the next.
TEST(DomainRows, Row04TwoLayoutsLiveInOneProcess) {
  std::vector<int32_t> prompt = makePrompt(20);
  json configs[] = {glmConfig(), deepSeekConfig()};
  std::unique_ptr<Model> models[] = {Model::create(configs[0]), Model::create(configs[1])};
  for (Device device : {Device::Cpu, Device::Reference}) {
    RunOptions options;
    options.device = device;
    Runner runners[] = {Runner(*models[0], {prompt}, options),
                        Runner(*models[1], {prompt}, options)};
    for (int turn = 0; turn < 4; ++turn) {
      bool deepSeek = turn % 2;
      expectOracleRows(
          runners[deepSeek].run({prompt})[0],
          computeIndexer(configs[deepSeek], models[deepSeek]->checkpoint(), prompt, !deepSeek));
    }
  }
}

TEST(DomainRows, Row05TestsWhosePromptsAreNoLongerThanKAreRefused) {
  static std::unique_ptr<Model> model = Model::create(glmConfig());
  EXPECT_NONFATAL_FAILURE(run(*model, {makePrompt(8)}), "vacuous: no prompt is longer than k = 8");
  run(*model, {makePrompt(9)});
}

/// A module whose @step gives the query, head weights, key and scores of the first indexer.
mlir::OwningOpRef<mlir::ModuleOp> cutAtFirstIndexer(mlir::ModuleOp module) {
  mlir::OwningOpRef<mlir::ModuleOp> cut(module.clone());
  auto step = cut->lookupSymbol<mlir::func::FuncOp>("step");
  SelectOp select = *step.getOps<SelectOp>().begin();
  auto append = select.getCache().getDefiningOp<AppendOp>();
  mlir::OpBuilder builder(select);
  int64_t dynamic = mlir::ShapedType::kDynamic;
  auto scores = IndexScoresOp::create(
      builder, select.getLoc(),
      mlir::RankedTensorType::get({dynamic, dynamic}, builder.getF32Type()), select.getQuery(),
      select.getHeadWeights(), select.getCache(), select.getBatch(), select.getScaleAttr());
  mlir::Operation *end = step.getBody().front().getTerminator();
  end->setOperands({select.getQuery(), select.getHeadWeights(), append.getValues()[0], scores});
  step.setFunctionType(builder.getFunctionType(step.getArgumentTypes(), end->getOperandTypes()));
  return cut;
}

void expectNear(const reference::Tensor &found, int64_t token, const std::vector<double> &expected,
                const char *stage) {
  ASSERT_GE(found.rowElements(), int64_t(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found.row(token)[i], expected[i], 1e-5 * (1 + std::fabs(expected[i])))
        << stage << ", token " << token << ", element " << i;
}

TEST(DomainRows, Row06EveryStageOfTheIndexerEqualsTheFormulas) {
  struct {
    json config;
    bool interleaved;
  } cases[] = {
      {glmConfig(), true}, {withLayout(glmConfig(), false), false}, {deepSeekConfig(), false}};
  for (const auto &[config, interleaved] : cases) {
    std::unique_ptr<Model> model = Model::create(config);
    std::vector<int32_t> prompt = makePrompt(20, 6);
    IndexerStages oracle = computeIndexer(config, model->checkpoint(), prompt, interleaved);

    mlir::OwningOpRef<mlir::ModuleOp> cut = cutAtFirstIndexer(model->module());
    rt::ExecutorOptions limits;
    Expected<std::unique_ptr<reference::Interpreter>> interpreter =
        reference::Interpreter::create(*cut, &model->checkpoint(), limits);
    ASSERT_TRUE(interpreter.ok()) << interpreter.status().message();
    rt::StepInput input;
    for (int32_t position = 0; position < 20; ++position) {
      input.tokenIds.push_back(prompt[size_t(position)]);
      input.positions.push_back(position);
      input.sequences.push_back(0);
    }
    rt::StepOutput output;
    Expected<std::vector<reference::Tensor>> stages = (*interpreter)->run(input, output);
    ASSERT_TRUE(stages.ok()) << stages.status().message();
    for (int64_t token = 0; token < 20; ++token) {
      expectNear((*stages)[0], token, oracle.queries[size_t(token)], "queries");
      expectNear((*stages)[1], token, oracle.headWeights[size_t(token)], "head weights");
      expectNear((*stages)[2], token, oracle.keys[size_t(token)], "keys");
      expectNear((*stages)[3], token, oracle.scores[size_t(token)], "scores");
    }
    expectOracleRows(runBoth(*model, {prompt})[0], oracle);
  }
}

// What of row 9 does not need narrow index caches: parameters of the key's norm in any type, and
// keys of any size before it.
TEST(DomainRows, Row09IndexKeyNormTakesAnyTypeAndSize) {
  for (ElementType type : {ElementType::F32, ElementType::BF16, ElementType::F16}) {
    ModelOptions options;
    options.checkpoint.type = type;
    std::unique_ptr<Model> model = Model::create(glmConfig(), options);
    expectOracleRows(*model, glmConfig(), true);
  }
  for (float factor : {1e-3f, 1e3f}) {
    ModelOptions options;
    options.edit = scaled("model.layers.0.self_attn.indexer.wk.weight", factor);
    std::unique_ptr<Model> model = Model::create(glmConfig(), options);
    expectOracleRows(*model, glmConfig(), true);
  }
}

double roundedToBF16(double value) { return widenBF16(roundToBF16(float(value))); }

/// Rows as they would be if the head weights were summed in bf16.
std::vector<std::vector<int32_t>> rowsOfNarrowHeadWeights(const json &config,
                                                          const Checkpoint &checkpoint,
                                                          const std::vector<int32_t> &prompt,
                                                          const IndexerStages &exact) {
  size_t heads = config["index_n_heads"], width = config["index_head_dim"],
         k = config["index_topk"];
  const TensorView &view = *checkpoint.find("model.layers.0.self_attn.indexer.weights_proj.weight");
  const TensorView &table = *checkpoint.find("model.embed_tokens.weight");
  const TensorView &norm = *checkpoint.find("model.layers.0.input_layernorm.weight");
  auto *weights = reinterpret_cast<const float *>(view.data);
  auto *gains = reinterpret_cast<const float *>(norm.data);
  size_t hidden = norm.bytes / sizeof(float);
  std::vector<std::vector<int32_t>> rows;
  for (size_t token = 0; token < prompt.size(); ++token) {
    auto *x = reinterpret_cast<const float *>(table.data) + size_t(prompt[token]) * hidden;
    double square = 0;
    for (size_t i = 0; i < hidden; ++i)
      square += double(x[i]) * double(x[i]) / double(hidden);
    std::vector<double> narrow(heads), scores(token + 1);
    for (size_t head = 0; head < heads; ++head)
      for (size_t i = 0; i < hidden; ++i)
        narrow[head] =
            roundedToBF16(narrow[head] + double(weights[head * hidden + i]) * double(x[i]) *
                                             double(gains[i]) / std::sqrt(square));
    for (size_t seen = 0; seen <= token; ++seen)
      for (size_t head = 0; head < heads; ++head) {
        double product = 0;
        for (size_t i = 0; i < width; ++i)
          product += exact.queries[token][head * width + i] * exact.keys[seen][i];
        scores[seen] += narrow[head] * std::max(product, 0.0);
      }
    rows.push_back(bestPositions(scores, int64_t(k)));
  }
  return rows;
}

/// What the products with a weight round their operands to.
package::ElementType operandsOf(const Model &model, const std::string &weight) {
  const package::Manifest &manifest = model.package().manifest();
  for (const package::CommandEntry *entry : *manifest.commands())
    if (const package::Product *product = entry->command_as_Product())
      for (const package::ProductPart *part : *product->parts())
        if (manifest.weights()->Get(uint32_t(part->weight()))->name()->str() == weight)
          return product->operands();
  ADD_FAILURE() << "no product with " << weight;
  return package::ElementType::F16;
}

// Head weights are f32 and summed in f32 even where --compute=bf16 rounds the large products.
TEST(DomainRows, Row10HeadWeightsAreSummedInSinglePrecision) {
  json config = glmConfigWithoutSharing();
  config["num_hidden_layers"] = 1;
  config["hidden_size"] = 4096;
  ModelOptions options;
  options.compute = NumberFormat::BF16;
  std::unique_ptr<Model> model = Model::create(config, options);
  std::string indexer = "model.layers.0.self_attn.indexer.";
  EXPECT_EQ(operandsOf(*model, indexer + "wq_b.weight"), package::ElementType::BF16);
  EXPECT_EQ(operandsOf(*model, indexer + "weights_proj.weight"), package::ElementType::F32);
  std::vector<int32_t> prompt = makePrompt(40, 10);
  IndexerStages oracle = computeIndexer(config, model->checkpoint(), prompt, true);
  rt::Generation found = run(*model, {prompt})[0];
  int differing = 0;
  for (size_t token = 0; token < prompt.size(); ++token) {
    std::vector<int32_t> row = rowOf(found, 0, int64_t(token));
    for (int32_t position : row)
      differing += !llvm::is_contained(oracle.rows[token], position);
  }
  // bf16 queries and keys alone may flip near-ties of the last place.
  EXPECT_LE(differing, 40 * 8 / 50);
  std::vector<std::vector<int32_t>> narrow =
      rowsOfNarrowHeadWeights(config, model->checkpoint(), prompt, oracle);
  int differingNarrow = 0;
  for (size_t token = 0; token < prompt.size(); ++token)
    for (int32_t position : narrow[token])
      differingNarrow += !llvm::is_contained(oracle.rows[token], position);
  EXPECT_GT(differingNarrow, differing);
}

} // namespace
