//===- MixtureTest.cpp - Router and experts -------------------------------===//
#include "strata/lib/Reference/TestStep.h"

#include <cmath>

using namespace strata;
using namespace strata::reference;

namespace {

/// A router whose logits are the inputs: 6 experts, k = 2. `options`: scoring, groups, attributes.
std::string routeText(const std::vector<float> &logits, const std::string &options,
                      const std::string &correction = "") {
  int64_t tokens = int64_t(logits.size()) / 6;
  std::string n = std::to_string(tokens);
  std::vector<float> identity(36, 0.0f);
  for (int i = 0; i < 6; ++i)
    identity[7 * i] = 1;
  bool corrected = !correction.empty();
  return "(%batch: !strata.batch) -> (tensor<" + n + "x2xi32>, tensor<" + n +
         "x2xf32>) {\n %x = " + constantText({tokens, 6}, logits) +
         "\n %r = " + constantText({6, 6}, identity) +
         (corrected ? "\n %c = arith.constant dense<" + correction + "> : tensor<6xf32>" : "") +
         "\n %e, %w = strata.route %x, %r " + (corrected ? "correction %c " : "") + options +
         " : (tensor<" + n + "x6xf32>, tensor<6x6xf32>" + (corrected ? ", tensor<6xf32>" : "") +
         ") -> (tensor<" + n + "x2xi32>, tensor<" + n + "x2xf32>)\n return %e, %w : tensor<" + n +
         "x2xi32>, tensor<" + n + "x2xf32>\n}";
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void expectRoute(const std::string &text, const std::vector<int32_t> &experts,
                 const std::vector<double> &weights) {
  TestStep step(text);
  std::vector<Tensor> results = step.run(tokensAt(0, int32_t(experts.size() / 2)));
  ASSERT_EQ(results.size(), 2u) << step.error;
  EXPECT_EQ(results[0].integers, experts);
  expectNear(results[1].floats, weights, 1e-6);
}

TEST(RouteTest, softmax) {
  double sum = 0;
  for (double x : {1, 3, 0, 2, -1, 0})
    sum += std::exp(x);
  expectRoute(
      routeText({1, 3, 0, 2, -1, 0},
                "scoring = softmax groups = 1 top_groups = 1 group_score = maximum {scale = "
                "2.0}"),
      {1, 3}, {2 * std::exp(3.0) / sum, 2 * std::exp(2.0) / sum});
}

TEST(RouteTest, normalisedSigmoid) {
  double sum = sigmoid(3) + sigmoid(2) + 1e-20;
  expectRoute(routeText({1, 3, 0, 2, -1, 0},
                        "scoring = sigmoid groups = 1 top_groups = 1 group_score = maximum "
                        "{normalise, scale = 2.5}"),
              {1, 3}, {2.5 * sigmoid(3) / sum, 2.5 * sigmoid(2) / sum});
}

TEST(RouteTest, correctionChoosesButDoesNotWeigh) {
  expectRoute(
      routeText({1, 3, 0, 2, -1, 0},
                "scoring = sigmoid groups = 1 top_groups = 1 group_score = maximum {scale = "
                "1.0}",
                "[0.0, -1.0, 0.0, 0.0, 2.0, 0.0]"),
      {3, 4}, {sigmoid(2), sigmoid(-1)});
}

TEST(RouteTest, groups) {
  // Groups {0, 1}, {2, 3}, {4, 5}: the second has the best expert, the first the best pair.
  std::vector<float> logits = {2, 2, 3, -9, 1, 1};
  expectRoute(routeText(logits, "scoring = sigmoid groups = 3 top_groups = 1 group_score = "
                                "top_two_sum {scale = 1.0}"),
              {0, 1}, {sigmoid(2), sigmoid(2)});
  expectRoute(routeText(logits, "scoring = sigmoid groups = 3 top_groups = 1 group_score = maximum "
                                "{scale = 1.0}"),
              {2, 3}, {sigmoid(3), sigmoid(-9)});
}

TEST(RouteTest, negativeChoicesOfChosenGroupsBeatOtherGroups) {
  // All choices of the chosen group are negative; experts of other groups are out nevertheless.
  expectRoute(routeText({-3, -4, -5, -5, -6, -6},
                        "scoring = sigmoid groups = 3 top_groups = 1 group_score = top_two_sum "
                        "{scale = 1.0}",
                        "-1.0"),
              {0, 1}, {sigmoid(-3), sigmoid(-4)});
}

TEST(RouteTest, tiesGoToSmallerNumbers) {
  std::vector<int32_t> experts = {0, 1};
  expectRoute(routeText({0, 0, 0, 0, 0, 0}, "scoring = sigmoid groups = 3 top_groups = 2 "
                                            "group_score = top_two_sum {scale = 1.0}"),
              experts, {0.5, 0.5});
}

TEST(RouteTest, nanIsLast) {
  TestStep step(routeText({1, 1, 1, 1, 1, 1},
                          "scoring = sigmoid groups = 1 top_groups = 1 "
                          "group_score = maximum {scale = 1.0}",
                          "[0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000, -1.0]"));
  std::vector<Tensor> results = step.run(tokensAt(0, 1));
  ASSERT_EQ(results.size(), 2u) << step.error;
  EXPECT_EQ(results[0].integers, (std::vector<int32_t>{0, 5}));
}

TEST(RouteTest, importedExpertsKeepTheirOwnScores) {
  TestStep step(routeText({1, 3, 0, 2, -1, 0}, "scoring = sigmoid groups = 1 top_groups = 1 "
                                               "group_score = maximum {normalise, scale = 1.0}"));
  std::vector<int32_t> imported = {0, 4}, exported(2);
  std::vector<float> seen;
  Observer observer;
  observer.experts = [&](int mixture, int token, llvm::ArrayRef<float> choices,
                         llvm::ArrayRef<int32_t> experts) {
    EXPECT_EQ(mixture, 0);
    EXPECT_EQ(token, 0);
    EXPECT_EQ(experts.vec(), (std::vector<int32_t>{0, 4}));
    seen = choices.vec();
  };
  step.interpreter->setObserver(observer);
  rt::StepInput input = tokensAt(0, 1);
  input.importedExperts = {imported.data()};
  step.output.experts = {exported.data()};
  std::vector<Tensor> results = step.run(input);
  ASSERT_EQ(results.size(), 2u) << step.error;
  EXPECT_EQ(exported, imported);
  double sum = sigmoid(1) + sigmoid(-1);
  expectNear(results[1].floats, {sigmoid(1) / sum, sigmoid(-1) / sum}, 1e-6);
  ASSERT_EQ(seen.size(), 6u);
  EXPECT_NEAR(seen[1], sigmoid(3), 1e-7);

  imported = {0, 6};
  step.run(input);
  EXPECT_NE(step.error.find("'strata.route' op token 0: expected an expert from 0 to 5 but got 6"),
            std::string::npos)
      << step.error;
}

TEST(MixtureTest, isTheWeightedSum) {
  // Expert e: down = e + 1, gate and up = 1, so mlp_e(x) = (e + 1) · silu(x) · x.
  TestStep step(R"((%batch: !strata.batch) -> tensor<2x1xf32> {
    %x = arith.constant dense<[[2.0], [-1.0]]> : tensor<2x1xf32>
    %e = arith.constant dense<[[0, 2], [2, 2]]> : tensor<2x2xi32>
    %w = arith.constant dense<[[0.5, 2.0], [1.0, 0.25]]> : tensor<2x2xf32>
    %gate = arith.constant dense<1.0> : tensor<3x1x1xf32>
    %down = arith.constant dense<[[[1.0]], [[2.0]], [[3.0]]]> : tensor<3x1x1xf32>
    %y = strata.mixture_of_experts %x, %e, %w, %gate, %gate, %down activation = silu
        : (tensor<2x1xf32>, tensor<2x2xi32>, tensor<2x2xf32>, tensor<3x1x1xf32>, tensor<3x1x1xf32>, tensor<3x1x1xf32>) -> tensor<2x1xf32>
    return %y : tensor<2x1xf32>
  })");
  expectNear(step.runOne(tokensAt(0, 2)).floats, {6.5 * 4 * sigmoid(2), 3.75 * sigmoid(-1)}, 1e-5);
}

} // namespace
