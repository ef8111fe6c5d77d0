//===- ReferenceExecutorTest.cpp - Whole models and the plugin ------------===//
#include "strata/lib/Reference/ReferenceExecutor.h"
#include "strata/runtime/core/ReferencePlugin.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

using namespace strata;
using namespace strata::reference;

namespace {

/// A model whose next token is the id minus one; the mixture multiplies by 1.
std::string model(const std::string &attributes =
                      "strata.model_type = \"test\", strata.max_positions = 16 : i64, "
                      "strata.eos_token_ids = array<i32: 2, 3>") {
  return "module attributes {" + attributes + R"(} {
  func.func @step(%batch: !strata.batch, %c0: !strata.cache<key 1xf32, page = 8>) -> (tensor<?x4xf32>, !strata.cache<key 1xf32, page = 8>) {
    %table = arith.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
    %ids = strata.token_ids %batch : tensor<?xi32>
    %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<4x1xf32>) -> tensor<?x1xf32>
    %c1 = strata.append %c0[%batch], %x : !strata.cache<key 1xf32, page = 8>, tensor<?x1xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %ids, %zero : tensor<?xi32>
    %q = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 1, 1] : tensor<?x1xf32> into tensor<?x1x1xf32>
    %rows = strata.select %q, %x, %c1[%batch] {k = 2, scale = 1.0} : (tensor<?x1x1xf32>, tensor<?x1xf32>, !strata.cache<key 1xf32, page = 8>) -> tensor<?x2xi32>
    %router = arith.constant dense<0.0> : tensor<3x1xf32>
    %e, %w = strata.route %x, %router scoring = softmax groups = 1 top_groups = 1 group_score = maximum {normalise, scale = 1.0} : (tensor<?x1xf32>, tensor<3x1xf32>) -> (tensor<?x1xi32>, tensor<?x1xf32>)
    %p = arith.mulf %x, %w : tensor<?x1xf32>
    %out = arith.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
    %logits = strata.logits %p, %out[%batch] : (tensor<?x1xf32>, tensor<4x1xf32>) -> tensor<?x4xf32>
    return %logits, %c1 : tensor<?x4xf32>, !strata.cache<key 1xf32, page = 8>
  }
})";
}

rt::StepInput tokens(const std::vector<int32_t> &ids) {
  rt::StepInput input;
  input.tokenIds = ids;
  for (size_t i = 0; i < ids.size(); ++i) {
    input.positions.push_back(int32_t(i));
    input.sequences.push_back(0);
  }
  return input;
}

void expectDescription(const rt::ModelDescription &description) {
  EXPECT_EQ(description.modelType, "test");
  EXPECT_EQ(description.vocabularySize, 4);
  EXPECT_EQ(description.maxPositions, 16);
  EXPECT_EQ(description.eosTokenIds, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(description.pageSize, 8);
  EXPECT_EQ(description.rowWidths, (std::vector<int64_t>{2}));
  EXPECT_EQ(description.expertWidths, (std::vector<int64_t>{1}));
  EXPECT_EQ(description.expertCounts, (std::vector<int64_t>{3}));
}

void expectStep(rt::Executor &executor) {
  rt::StepInput input = tokens({0, 2, 1});
  input.wanted = {1, 2};
  std::vector<float> logits(8);
  std::vector<int32_t> rows(6), experts(3);
  rt::StepOutput output;
  output.logits = logits.data();
  output.rows = {rows.data()};
  output.experts = {experts.data()};
  Status status = executor.step(input, output);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(logits, (std::vector<float>{3, 6, 9, 12, 2, 4, 6, 8}));
  EXPECT_EQ(rows, (std::vector<int32_t>{0, -1, 0, 1, 1, 2}));
  EXPECT_EQ(experts, (std::vector<int32_t>{0, 0, 0}));
  EXPECT_GT(executor.memoryBytes(), 0u);
}

TEST(ReferenceExecutorTest, describesAndRuns) {
  Expected<std::unique_ptr<ReferenceExecutor>> executor =
      ReferenceExecutor::parse(model(), nullptr, rt::ExecutorOptions());
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  expectDescription((*executor)->model());
  expectStep(**executor);
}

TEST(ReferenceExecutorTest, badModules) {
  auto error = [](const std::string &text) {
    Expected<std::unique_ptr<ReferenceExecutor>> executor =
        ReferenceExecutor::parse(text, nullptr, rt::ExecutorOptions());
    return executor.ok() ? "" : executor.status().message();
  };
  auto replaced = [](const std::string &from, const std::string &to) {
    std::string text = model();
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
    return text;
  };
  EXPECT_EQ(error("nonsense"), "module: 1:1: custom op 'nonsense' is unknown (tried "
                               "'builtin.nonsense' as well)");
  EXPECT_EQ(error(""), "the module has no function @step");
  EXPECT_EQ(error("func.func @other() { return }"), "the module has no function @step");
  EXPECT_EQ(error("func.func @step(%x: tensor<1xf32>) { return }"),
            "module:1:1: 'func.func' op expected @step to take a batch, then caches, then rows, "
            "then activations");
  EXPECT_EQ(
      error("func.func @step(%b: !strata.batch) { return }"),
      "module:1:38: 'func.return' op expected logits [tokens, vocabulary] as the first result");
  EXPECT_EQ(error(replaced("return %logits, %c1", "return %logits, %c0")), ""); // a cache as it was
  EXPECT_EQ(error(model("strata.model_type = \"test\"")),
            "module:1:1: 'builtin.module' op expected the attributes strata.model_type and "
            "strata.max_positions");
  EXPECT_NE(error(replaced("max_positions = 16", "max_positions = 0")).find("from 1 to"),
            std::string::npos);
  EXPECT_NE(error(replaced("k = 2", "k = 3")).find("(select_c3)"), std::string::npos);
}

TEST(ReferenceExecutorTest, positionsBeyondTheModels) {
  Expected<std::unique_ptr<ReferenceExecutor>> executor =
      ReferenceExecutor::parse(model(), nullptr, rt::ExecutorOptions());
  ASSERT_TRUE(executor.ok());
  rt::StepInput input = tokens(std::vector<int32_t>(17, 0));
  rt::StepOutput output;
  EXPECT_EQ((*executor)->step(input, output).message(),
            "token 16: expected a position below 16 but got 16");
}

TEST(ReferencePluginTest, throughTheLibrary) {
  void *library = dlopen(STRATA_REFERENCE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto describe =
      reinterpret_cast<rt::DescribeReferenceModel>(dlsym(library, rt::kDescribeReferenceModel));
  auto create =
      reinterpret_cast<rt::CreateReferenceExecutor>(dlsym(library, rt::kCreateReferenceExecutor));
  ASSERT_TRUE(describe && create);

  std::string text = model();
  char error[12];
  rt::ModelDescription description;
  ASSERT_EQ(describe(text.data(), text.size(), &description, error, sizeof error), 0);
  expectDescription(description);
  rt::ExecutorOptions options;
  rt::Executor *executor = nullptr;
  ASSERT_EQ(create(text.data(), text.size(), nullptr, &options, &executor, error, sizeof error), 0);
  expectStep(*executor);
  delete executor;

  EXPECT_EQ(describe("x", 1, &description, error, sizeof error), int(StatusCode::Corrupt));
  EXPECT_STREQ(error, "module: 1:1"); // cut to the buffer
}

} // namespace
