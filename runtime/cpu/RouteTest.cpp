//===- RouteTest.cpp ------------------------------------------------------===//
#include "strata/runtime/cpu/Route.h"

#include "strata/runtime/cpu/TestModel.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>

using namespace strata;
using namespace strata::rt;
using package::GroupScore;
using package::Scoring;

namespace {

struct RouteShape {
  int64_t experts = 8, perToken = 2, groups = 1, topGroups = 1;
  Scoring scoring = Scoring::Sigmoid;
  GroupScore groupScore = GroupScore::TopTwoSum;
  bool normalise = true;
  double scale = 1;
};

/// A table of the manifest.
class RouteTable {
public:
  explicit RouteTable(const RouteShape &shape) {
    builder_.Finish(package::CreateRoute(
        builder_, nullptr, -1, nullptr, nullptr, shape.experts, shape.perToken, shape.scoring,
        shape.groups, shape.topGroups, shape.groupScore, shape.normalise, shape.scale, 0));
  }
  const package::Route &operator*() const {
    return *flatbuffers::GetRoot<package::Route>(builder_.GetBufferPointer());
  }

private:
  flatbuffers::FlatBufferBuilder builder_;
};

/// The definition, by repeated search for the best.
std::vector<int32_t> plainChoice(const RouteShape &shape, const std::vector<float> &scores,
                                 const std::vector<float> &correction) {
  std::vector<float> choice(scores);
  for (size_t e = 0; e < choice.size(); ++e) {
    choice[e] += correction[e];
    if (std::isnan(choice[e]))
      choice[e] = -INFINITY;
  }
  auto takeBest = [](const std::vector<float> &values, int64_t count) {
    std::set<int32_t> taken;
    while (int64_t(taken.size()) < count) {
      int32_t best = -1;
      for (int32_t i = 0; i < int32_t(values.size()); ++i)
        if (!taken.count(i) && (best < 0 || values[size_t(i)] > values[size_t(best)]))
          best = i;
      taken.insert(best);
    }
    return taken;
  };
  if (shape.groups > 1) {
    size_t size = choice.size() / size_t(shape.groups);
    std::vector<float> groups;
    for (size_t g = 0; g < size_t(shape.groups); ++g) {
      std::vector<float> members(choice.begin() + int64_t(g * size),
                                 choice.begin() + int64_t((g + 1) * size));
      std::sort(members.begin(), members.end(), std::greater<>());
      groups.push_back(shape.groupScore == GroupScore::Maximum ? members[0]
                                                               : members[0] + members[1]);
    }
    std::set<int32_t> kept = takeBest(groups, shape.topGroups);
    for (size_t e = 0; e < choice.size(); ++e)
      if (!kept.count(int32_t(e / size)))
        choice[e] = -INFINITY;
  }
  std::set<int32_t> experts = takeBest(choice, shape.perToken);
  return {experts.begin(), experts.end()};
}

std::vector<float> scoresOf(const RouteShape &shape, const std::vector<float> &logits) {
  std::vector<float> scores;
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit));
  for (float logit : logits)
    scores.push_back(float(shape.scoring == Scoring::Sigmoid ? 1 / (1 + std::exp(-double(logit)))
                                                             : std::exp(double(logit)) / sum));
  return scores;
}

TEST(Route, RandomTokensEqualThePlainImplementation) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    RouteShape shape;
    int64_t groupSize = 2 + random() % 7;
    shape.groups = 1 + random() % 6;
    shape.experts = groupSize * shape.groups;
    shape.topGroups = 1 + random() % shape.groups;
    shape.perToken = 1 + random() % (groupSize * shape.topGroups);
    shape.scoring = random() % 2 ? Scoring::Sigmoid : Scoring::Softmax;
    shape.groupScore = random() % 2 ? GroupScore::TopTwoSum : GroupScore::Maximum;
    shape.normalise = random() % 2;
    shape.scale = random() % 2 ? 2.5 : 1;
    std::vector<float> logits(size_t(shape.experts)), correction(logits.size());
    // Few values, so that ties are common.
    for (float &logit : logits)
      logit = round % 2 ? float(random() % 5) : float(random() % 100000) * 1e-4f - 5;
    for (float &value : correction)
      value = round % 3 ? 0.0f : float(random() % 3) * 0.25f;
    RouteTable table(shape);
    Router router(*table, correction.data());
    std::vector<int32_t> experts(size_t(shape.perToken));
    std::vector<float> weights(experts.size()), scores = scoresOf(shape, logits);
    router.choose(logits.data(), experts.data());
    router.weigh(logits.data(), experts.data(), weights.data());
    if (shape.scoring == Scoring::Sigmoid || round % 2 == 0)
      ASSERT_EQ(experts, plainChoice(shape, scores, correction)) << "round " << round;
    double sum = 0;
    for (int32_t expert : experts)
      sum += scores[size_t(expert)];
    for (size_t j = 0; j < experts.size(); ++j) {
      double expected =
          scores[size_t(experts[j])] / (shape.normalise ? sum + 1e-20 : 1) * shape.scale;
      ASSERT_NEAR(weights[j], expected, 1e-6 * expected) << "round " << round;
    }
  }
}

TEST(Route, TiesGoToTheSmallerIndexAndZerosAreEqual) {
  RouteShape shape;
  shape.experts = 4;
  RouteTable table(shape);
  std::vector<float> logits(4, 0.0f), correction = {-0.5f, -0.5f, -0.5f, -0.5f};
  Router router(*table, correction.data());
  int32_t experts[2];
  router.choose(logits.data(), experts);
  EXPECT_EQ(experts[0], 0);
  EXPECT_EQ(experts[1], 1);
}

TEST(Route, NaNIsChosenLast) {
  RouteShape shape;
  shape.experts = 4;
  RouteTable table(shape);
  Router router(*table, nullptr);
  float logits[4] = {NAN, -3, NAN, -5};
  int32_t experts[2];
  router.choose(logits, experts);
  EXPECT_EQ(experts[0], 1);
  EXPECT_EQ(experts[1], 3);
}

TEST(Route, TheCorrectionDoesNotEnterTheWeights) {
  RouteShape shape;
  shape.experts = 3;
  shape.normalise = false;
  RouteTable table(shape);
  float correction[3] = {0, 10, 10}, logits[3] = {5, 0, 0}, weights[2];
  Router router(*table, correction);
  int32_t experts[2];
  router.choose(logits, experts);
  EXPECT_EQ(experts[0], 1);
  EXPECT_EQ(experts[1], 2);
  router.weigh(logits, experts, weights);
  EXPECT_EQ(weights[0], 0.5f);
  EXPECT_EQ(weights[1], 0.5f);
}

TEST(Route, LargeLogitsDoNotOverflow) {
  RouteShape shape;
  shape.experts = 3;
  shape.scoring = Scoring::Softmax;
  shape.normalise = false;
  RouteTable table(shape);
  Router router(*table, nullptr);
  float logits[3] = {2000, 2000, -2000}, weights[2];
  int32_t experts[2];
  router.choose(logits, experts);
  router.weigh(logits, experts, weights);
  EXPECT_EQ(weights[0], 0.5f);
  EXPECT_EQ(weights[1], 0.5f);
}

} // namespace
