//===- DenseTest.cpp - Dense layers, norms, rotations, upstream ops -------===//
#include "strata/lib/Checkpoint/TestSafetensors.h"
#include "strata/lib/Reference/TestStep.h"
#include "strata/lib/Support/TestFolder.h"

#include <cmath>

using namespace strata;
using namespace strata::reference;

namespace {

TEST(EmbeddingTest, takesRows) {
  TestStep step(R"((%batch: !strata.batch) -> tensor<?x2xf32> {
    %table = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
    %ids = strata.token_ids %batch : tensor<?xi32>
    %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<3x2xf32>) -> tensor<?x2xf32>
    return %x : tensor<?x2xf32>
  })");
  rt::StepInput input = tokensAt(0, 2);
  input.tokenIds = {2, 0};
  EXPECT_EQ(step.runOne(input).floats, (std::vector<float>{5, 6, 1, 2}));

  for (int32_t wrong : {-1, 3}) {
    input.tokenIds = {0, wrong};
    step.run(input);
    EXPECT_NE(step.error.find("'strata.embedding' op token 1: expected an id from 0 to 2 but got " +
                              std::to_string(wrong)),
              std::string::npos)
        << step.error;
  }
}

TEST(LinearTest, addsBias) {
  TestStep step(R"((%batch: !strata.batch) -> tensor<2x2xf32> {
    %x = arith.constant dense<[[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]]> : tensor<2x3xf32>
    %w = arith.constant dense<[[1.0, 0.0, 2.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %b = arith.constant dense<[0.5, -1.0]> : tensor<2xf32>
    %y = strata.linear %x, %w bias %b : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    return %y : tensor<2x2xf32>
  })");
  EXPECT_EQ(step.runOne(tokensAt(0, 2)).floats, (std::vector<float>{7.5, 31, 2.5, 0}));
}

TEST(LinearTest, sumsInDouble) {
  // In f32 the ones would vanish beside 2^25.
  std::vector<float> x(41, 1), w(41, 1);
  x[0] = 33554432;
  x[40] = -33554432;
  TestStep step("(%batch: !strata.batch) -> tensor<1x1xf32> {\n %x = " + constantText({1, 41}, x) +
                "\n %w = " + constantText({1, 41}, w) +
                "\n %y = strata.linear %x, %w : (tensor<1x41xf32>, tensor<1x41xf32>) -> "
                "tensor<1x1xf32>\n return %y : tensor<1x1xf32>\n}");
  EXPECT_EQ(step.runOne(tokensAt(0, 1)).floats, (std::vector<float>{39}));
}

TEST(HeadLinearTest, bothForms) {
  TestStep step(R"((%batch: !strata.batch) -> (tensor<1x2x3xf32>, tensor<1x2x2xf32>) {
    %x = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
    %w = arith.constant dense<[[[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]], [[1.0, 1.0, 1.0], [2.0, 0.0, -1.0]]]> : tensor<2x2x3xf32>
    %y = strata.head_linear %x, %w transposed : (tensor<1x2x2xf32>, tensor<2x2x3xf32>) -> tensor<1x2x3xf32>
    %z = strata.head_linear %y, %w : (tensor<1x2x3xf32>, tensor<2x2x3xf32>) -> tensor<1x2x2xf32>
    return %y, %z : tensor<1x2x3xf32>, tensor<1x2x2xf32>
  })");
  std::vector<Tensor> results = step.run(tokensAt(0, 1));
  ASSERT_EQ(results.size(), 2u) << step.error;
  EXPECT_EQ(results[0].floats, (std::vector<float>{1, 2, 8, 11, 3, -1}));
  EXPECT_EQ(results[1].floats, (std::vector<float>{17, 26, 13, 23}));
}

TEST(GatedMlpTest, silu) {
  TestStep step(R"((%batch: !strata.batch) -> tensor<1x2xf32> {
    %x = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
    %gate = arith.constant dense<[[1.0, 1.0], [-1.0, 0.0], [0.0, 0.0]]> : tensor<3x2xf32>
    %up = arith.constant dense<[[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]> : tensor<3x2xf32>
    %down = arith.constant dense<[[1.0, 0.0, 5.0], [0.0, 1.0, 5.0]]> : tensor<2x3xf32>
    %y = strata.gated_mlp %x, %gate, %up, %down activation = silu : (tensor<1x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x3xf32>) -> tensor<1x2xf32>
    return %y : tensor<1x2xf32>
  })");
  expectNear(step.runOne(tokensAt(0, 1)).floats,
             {3 / (1 + std::exp(-3.0)) * 2, -1 / (1 + std::exp(1.0)) * 2}, 1e-6);
}

TEST(LogitsTest, wantedTokens) {
  TestStep step(R"((%batch: !strata.batch) -> tensor<?x2xf32> {
    %x = arith.constant dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>
    %w = arith.constant dense<[[1.0], [-1.0]]> : tensor<2x1xf32>
    %y = strata.logits %x, %w[%batch] : (tensor<3x1xf32>, tensor<2x1xf32>) -> tensor<?x2xf32>
    return %y : tensor<?x2xf32>
  })");
  rt::StepInput input = tokensAt(0, 3);
  EXPECT_EQ(step.runOne(input).shape, (Shape{0, 2}));
  input.wanted = {0, 2};
  EXPECT_EQ(step.runOne(input).floats, (std::vector<float>{1, -1, 3, -3}));
  input.wanted = {3};
  step.run(input);
  EXPECT_EQ(step.error, "expected the logits of a token from 0 to 2 to be wanted but got 3");
}

TEST(NormTest, rootMeanSquare) {
  TestStep step(R"((%batch: !strata.batch) -> (tensor<1x2x2xf32>, tensor<1x2xf32>) {
    %x = arith.constant dense<[[[3.0, 4.0], [0.0, 0.0]]]> : tensor<1x2x2xf32>
    %y = strata.rms_norm %x {epsilon = 0.5} : tensor<1x2x2xf32>
    %v = arith.constant dense<[[3.0, 4.0]]> : tensor<1x2xf32>
    %w = arith.constant dense<[2.0, -1.0]> : tensor<2xf32>
    %z = strata.rms_norm %v weight %w {epsilon = 0.0} : tensor<1x2xf32>, tensor<2xf32>
    return %y, %z : tensor<1x2x2xf32>, tensor<1x2xf32>
  })");
  std::vector<Tensor> results = step.run(tokensAt(0, 1));
  ASSERT_EQ(results.size(), 2u) << step.error;
  double root = std::sqrt(13.0);
  expectNear(results[0].floats, {3 / root, 4 / root, 0, 0}, 1e-7);
  expectNear(results[1].floats, {6 / std::sqrt(12.5), -4 / std::sqrt(12.5)}, 1e-6);
}

TEST(NormTest, layer) {
  TestStep step(R"((%batch: !strata.batch) -> tensor<1x4xf32> {
    %x = arith.constant dense<[[1.0, 3.0, 5.0, 7.0]]> : tensor<1x4xf32>
    %w = arith.constant dense<[1.0, 2.0, 1.0, 1.0]> : tensor<4xf32>
    %b = arith.constant dense<[0.0, 0.0, 0.5, 0.0]> : tensor<4xf32>
    %y = strata.layer_norm %x weight %w bias %b {epsilon = 4.0} : tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>
    return %y : tensor<1x4xf32>
  })");
  expectNear(step.runOne(tokensAt(0, 1)).floats, {-1, -2.0 / 3, 1 / 3.0 + 0.5, 1}, 1e-6);
}

/// A rope op over two tokens at positions 5 and 6 with two heads of six features.
std::string ropeStep(const std::string &attributes, const std::string &more = "%y = strata.rope") {
  std::vector<float> x(2 * 2 * 6);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i) - 7;
  return "(%batch: !strata.batch) -> tensor<2x2x6xf32> {\n %x = " + constantText({2, 2, 6}, x) +
         "\n %y = strata.rope %x[%batch] " + attributes + " : tensor<2x2x6xf32>\n" + more +
         " return %y : tensor<2x2x6xf32>\n}";
}

TEST(RopeTest, layouts) {
  for (bool interleaved : {true, false}) {
    TestStep step(ropeStep(std::string("{table = #strata.rope<theta = 100.0, layout = ") +
                               (interleaved ? "interleaved" : "half") + ">, offset = 1, width = 4}",
                           ""));
    Tensor y = step.runOne(tokensAt(5, 7));
    for (int token = 0; token < 2; ++token)
      for (int head = 0; head < 2; ++head) {
        const float *out = y.row(token) + 6 * head;
        auto x = [&](int i) { return double(12 * token + 6 * head + i - 7); };
        EXPECT_EQ(out[0], x(0));
        EXPECT_EQ(out[5], x(5));
        for (int pair = 0; pair < 2; ++pair) {
          double angle = (5 + token) * (pair == 0 ? 1.0 : 0.1);
          int a = 1 + (interleaved ? 2 * pair : pair), b = a + (interleaved ? 1 : 2);
          EXPECT_NEAR(out[a], x(a) * std::cos(angle) - x(b) * std::sin(angle), 2e-6);
          EXPECT_NEAR(out[b], x(b) * std::cos(angle) + x(a) * std::sin(angle), 2e-6);
        }
      }
  }
}

TEST(RopeTest, inverseUndoes) {
  std::string attributes =
      "{table = #strata.rope<theta = 1.0e4, layout = half>, offset = 0, width = 6}";
  TestStep step(ropeStep(attributes, " %z = strata.rope %y[%batch] inverse " + attributes +
                                         " : tensor<2x2x6xf32>\n %minus = arith.constant "
                                         "dense<-1.0> : tensor<2x2x6xf32>\n"
                                         " %m = arith.mulf %x, %minus : tensor<2x2x6xf32>\n"
                                         " %d = arith.addf %z, %m : tensor<2x2x6xf32>\n"
                                         " return %d : tensor<2x2x6xf32>\n}\n"
                                         "func.func private @unused(%y: tensor<2x2x6xf32>) -> "
                                         "tensor<2x2x6xf32> {\n"));
  expectNear(step.runOne(tokensAt(100, 102)).floats, std::vector<double>(24, 0.0), 3e-6);
}

TEST(RopeTest, attentionFactorTouchesRotatedElementsOnly) {
  TestStep step(ropeStep(
      "{table = #strata.rope<theta = 1.0e4, layout = half, scaling = #strata.yarn<factor = 4.0, "
      "beta_fast = 32.0, beta_slow = 1.0, original_positions = 64, attention_factor = 2.0, "
      "truncate = true>>, offset = 0, width = 4}",
      ""));
  Tensor y = step.runOne(tokensAt(0, 2));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(y.floats[i], (i < 4 ? 2 : 1) * (i - 7)); // position 0: no rotation
}

TEST(RopeTest, anotherNumberOfTokensIsAnError) {
  TestStep step(
      ropeStep("{table = #strata.rope<theta = 1.0e4, layout = half>, offset = 0, width = 4}", ""));
  step.run(tokensAt(0, 3));
  EXPECT_NE(step.error.find("'strata.rope' op expected 3 tokens but got 2"), std::string::npos);
}

TEST(HadamardTest, isSylvesters) {
  TestStep step(R"((%batch: !strata.batch) -> tensor<1x4xf32> {
    %x = arith.constant dense<[[1.0, 2.0, 4.0, 8.0]]> : tensor<1x4xf32>
    %y = strata.hadamard %x : tensor<1x4xf32>
    return %y : tensor<1x4xf32>
  })");
  EXPECT_EQ(step.runOne(tokensAt(0, 1)).floats, (std::vector<float>{7.5, -2.5, -4.5, 1.5}));
}

TEST(UpstreamTest, slicesShapesAndSums) {
  TestStep step(
      R"((%batch: !strata.batch) -> (tensor<?x2xf32>, tensor<2x1x3xf32>, tensor<6xf32>, tensor<2x3xf32>, tensor<2xi32>) {
    %x = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %zero = arith.constant 0 : index
    %ids = strata.token_ids %batch : tensor<?xi32>
    %n = tensor.dim %ids, %zero : tensor<?xi32>
    %slice = tensor.extract_slice %x[0, 1] [%n, 2] [1, 1] : tensor<2x3xf32> to tensor<?x2xf32>
    %expanded = tensor.expand_shape %x [[0], [1, 2]] output_shape [2, 1, 3] : tensor<2x3xf32> into tensor<2x1x3xf32>
    %flat = tensor.collapse_shape %expanded [[0, 1, 2]] : tensor<2x1x3xf32> into tensor<6xf32>
    %left = tensor.extract_slice %x[0, 2] [2, 1] [1, 1] : tensor<2x3xf32> to tensor<2x1xf32>
    %right = tensor.extract_slice %x[0, 0] [2, 2] [1, 1] : tensor<2x3xf32> to tensor<2x2xf32>
    %turned = tensor.concat dim(1) %left, %right : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>
    %product = arith.mulf %x, %turned : tensor<2x3xf32>
    %sum = arith.addf %product, %x : tensor<2x3xf32>
    %numbers = arith.constant dense<[[7, 8], [9, 10]]> : tensor<2x2xi32>
    %column = tensor.extract_slice %numbers[0, 1] [2, 1] [1, 1] : tensor<2x2xi32> to tensor<2xi32>
    return %slice, %expanded, %flat, %sum, %column : tensor<?x2xf32>, tensor<2x1x3xf32>, tensor<6xf32>, tensor<2x3xf32>, tensor<2xi32>
  })");
  std::vector<Tensor> results = step.run(tokensAt(0, 1));
  ASSERT_EQ(results.size(), 5u) << step.error;
  EXPECT_EQ(results[0].shape, (Shape{1, 2}));
  EXPECT_EQ(results[0].floats, (std::vector<float>{2, 3}));
  EXPECT_EQ(results[1].shape, (Shape{2, 1, 3}));
  EXPECT_EQ(results[2].floats, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(results[3].floats, (std::vector<float>{4, 4, 9, 28, 25, 36}));
  EXPECT_EQ(results[4].integers, (std::vector<int32_t>{8, 10}));

  step.run(tokensAt(0, 3));
  EXPECT_NE(step.error.find("expected a slice within 2 of dimension 0 but got 0 to 2"),
            std::string::npos)
      << step.error;
}

TEST(UpstreamTest, noTokens) {
  TestStep step(R"((%batch: !strata.batch) -> tensor<?x2xf32> {
    %table = arith.constant dense<1.0> : tensor<3x4xf32>
    %ids = strata.token_ids %batch : tensor<?xi32>
    %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<3x4xf32>) -> tensor<?x4xf32>
    %y = strata.rms_norm %x {epsilon = 1.0e-5} : tensor<?x4xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %y, %zero : tensor<?x4xf32>
    %h = tensor.expand_shape %y [[0], [1, 2]] output_shape [%n, 2, 2] : tensor<?x4xf32> into tensor<?x2x2xf32>
    %r = strata.rope %h[%batch] {table = #strata.rope<theta = 1.0e4, layout = half>, offset = 0, width = 2} : tensor<?x2x2xf32>
    %f = tensor.collapse_shape %r [[0], [1, 2]] : tensor<?x2x2xf32> into tensor<?x4xf32>
    %z = tensor.extract_slice %f[0, 0] [%n, 2] [1, 1] : tensor<?x4xf32> to tensor<?x2xf32>
    return %z : tensor<?x2xf32>
  })");
  EXPECT_EQ(step.runOne(tokensAt(0, 0)).shape, (Shape{0, 2}));
}

TEST(UpstreamTest, otherOpsAreNamed) {
  TestStep other(R"((%batch: !strata.batch) -> tensor<2xf32> {
    %x = arith.constant dense<1.0> : tensor<2xf32>
    %y = arith.subf %x, %x : tensor<2xf32>
    return %y : tensor<2xf32>
  })");
  EXPECT_EQ(other.error, "module:3:10: 'arith.subf' op is not an op of the phase input");
  TestStep call(R"((%batch: !strata.batch) -> tensor<2xf32> {
    %y = func.call @f() : () -> tensor<2xf32>
    return %y : tensor<2xf32>
  }
  func.func private @f() -> tensor<2xf32>)");
  EXPECT_EQ(call.error, "module:2:10: 'func.call' op is not an op of the phase input");
}

TEST(WeightTest, widenedScaledStackedAndCut) {
  TestFolder folder;
  std::vector<uint16_t> bf16 = {0x3f80, 0x4000, 0xc040, 0x4080}; // 1 2 −3 4
  std::vector<float> scales = {0.5f, 2.0f};
  std::string path = folder.write(
      "model.safetensors",
      safetensorsFile({{"a.0", "BF16", "[1,2]", bytesOf(std::vector<uint16_t>{0x3f80, 0x4000})},
                       {"a.1", "BF16", "[1,2]", bytesOf(std::vector<uint16_t>{0xc040, 0x4080})},
                       {"f8", "F8_E4M3", "[2,2]", std::string("\x38\x40\xb8\x30", 4)},
                       {"f8.scale", "F32", "[2,1]", bytesOf(scales)},
                       {"parts", "BF16", "[4,1]", bytesOf(bf16)}}));
  Expected<Checkpoint> checkpoint = Checkpoint::open(path);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  const char *text =
      R"((%batch: !strata.batch) -> (tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<1x2x1xf32>) {
    %stack = strata.weight "a.{0..1}" stored bf16 : tensor<2x1x2xf32>
    %f8 = strata.weight "f8" stored f8E4M3FN scales <name = "f8.scale", rows = 1, columns = 2> : tensor<2x2xf32>
    %part = strata.weight "parts" stored bf16 part <groups = 2, stride = 2, offset = 1> : tensor<2x1x1xf32>
    %flat = tensor.collapse_shape %stack [[0, 1], [2]] : tensor<2x1x2xf32> into tensor<2x2xf32>
    %ones = arith.constant dense<1.0> : tensor<2x2xf32>
    %sums = strata.linear %flat, %f8 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %cut = tensor.collapse_shape %part [[0, 1], [2]] : tensor<2x1x1xf32> into tensor<2x1xf32>
    %one = arith.constant dense<1.0> : tensor<1x2x1xf32>
    %heads = strata.head_linear %one, %part : (tensor<1x2x1xf32>, tensor<2x1x1xf32>) -> tensor<1x2x1xf32>
    return %cut, %sums, %cut, %heads : tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<1x2x1xf32>
  })";
  TestStep step(text, 1, &*checkpoint);
  std::vector<Tensor> results = step.run(tokensAt(0, 1));
  ASSERT_EQ(results.size(), 4u) << step.error;
  EXPECT_EQ(results[0].floats, (std::vector<float>{2, 4}));
  // f8 rows: 0.5 · (1, 2) and 2 · (−1, 0.5).
  EXPECT_EQ(results[1].floats, (std::vector<float>{2.5, 0, 2.5, 10}));
  EXPECT_EQ(results[3].floats, (std::vector<float>{2, 4}));

  TestStep missing(R"((%batch: !strata.batch) -> tensor<3xf32> {
    %w = strata.weight "norm" stored f32 : tensor<3xf32>
    return %w : tensor<3xf32>
  })",
                   1, &*checkpoint);
  EXPECT_NE(missing.error.find("1 tensor missing: norm"), std::string::npos) << missing.error;
}

} // namespace
