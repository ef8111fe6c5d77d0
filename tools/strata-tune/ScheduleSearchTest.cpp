//===- ScheduleSearchTest.cpp - What the search finds, and in how many runs ===//
#include "ScheduleSearch.h"

#include <gtest/gtest.h>

#include <set>

namespace strata::tune {
namespace {

/// A model whose losses are a function of the pattern. Windows differ, their differences to the
/// baseline but little.
class FakeModel {
public:
  using Loss = std::function<double(const std::string &)>;

  FakeModel(std::string declared, int64_t windows, Loss loss)
      : declared_(std::move(declared)), windows_(windows), loss_(std::move(loss)) {}

  Expected<SearchResult> search(double maxLoss, int64_t screening = 4) {
    size_t indexers = size_t(countLeaders(declared_));
    SearchInput input{
        declared_, {}, Matrix(indexers, std::vector<double>(indexers, 0.5)), maxLoss, screening};
    for (size_t i = 0; i < indexers; ++i)
      input.recall[i][i] = 1;
    for (int64_t window = 0; window < windows_; ++window)
      input.baseline.push_back(scoreOf(declared_, window));
    auto run = [this](const std::string &pattern, const std::vector<int64_t> &windows) {
      return this->run(pattern, windows);
    };
    int64_t reported = 1;
    auto progress = [&](const std::string &, int64_t, double, int64_t runs) {
      EXPECT_EQ(runs, ++reported);
    };
    return ScheduleSearch(std::move(input), run, progress).search();
  }

  int64_t runs = 1; ///< with the baseline
  int64_t failAt = -1;

private:
  double scoreOf(const std::string &pattern, int64_t window) {
    return 2 + double(window) / 10 + loss_(pattern) * (1 + 0.1 * double(window % 3 - 1));
  }

  Expected<std::vector<double>> run(const std::string &pattern,
                                    const std::vector<int64_t> &windows) {
    if (++runs == failAt)
      return Status(StatusCode::Io, "the fake model was told to fail");
    EXPECT_EQ(pattern.size(), declared_.size());
    EXPECT_EQ(pattern[0], 'F');
    std::vector<double> scores;
    for (size_t layer = 0; layer < pattern.size(); ++layer)
      EXPECT_TRUE(pattern[layer] == 'S' || declared_[layer] == 'F') << pattern;
    for (int64_t window : windows) {
      EXPECT_TRUE(done_.insert({pattern, window}).second) << pattern << " again on " << window;
      scores.push_back(scoreOf(pattern, window));
    }
    return scores;
  }

  std::string declared_;
  int64_t windows_;
  Loss loss_;
  std::set<std::pair<std::string, int64_t>> done_;
};

/// The sum of what each follower costs.
FakeModel::Loss sumOf(std::vector<double> costs) {
  return [costs](const std::string &pattern) {
    double sum = 0;
    for (size_t layer = 0; layer < pattern.size(); ++layer)
      sum += pattern[layer] == 'S' ? costs[layer] : 0;
    return sum;
  };
}

TEST(ScheduleSearch, KeepsTheSensitiveLayers) {
  FakeModel model("FFFFFFFF", 10, sumOf({0, 1, 1e-4, 1e-4, 2, 1e-4, 1e-4, 1e-4}));
  Expected<SearchResult> result = model.search(0.001);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->frontier[result->chosen].pattern, "FFSSFSSS");
  EXPECT_NEAR(result->frontier[result->chosen].loss, 5e-4, 1e-4);
  ASSERT_EQ(result->frontier.size(), 8u);
  for (size_t i = 0; i < 8; ++i)
    EXPECT_EQ(countLeaders(result->frontier[i].pattern), 8 - int64_t(i));
  EXPECT_EQ(result->runs, model.runs);
}

TEST(ScheduleSearch, LossesThatDoNotAddUp) {
  // Layers 1 and 2 are hurt only when both share; what is below layer 5 doesn't matter to others.
  auto loss = [](const std::string &pattern) {
    double loss = pattern[1] == 'S' && pattern[2] == 'S' ? 0.5 : 0;
    return loss + (pattern[5] == 'S' ? 0.3 : 0) + 1e-5 * double(9 - countLeaders(pattern));
  };
  FakeModel model("FFFFFFFFF", 12, loss);
  Expected<SearchResult> result = model.search(0.001);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(countLeaders(result->frontier[result->chosen].pattern), 3);
}

TEST(ScheduleSearch, NothingKeepsTheLimit) {
  FakeModel model("FFFF", 3, sumOf({0, 1, 1, 1}));
  Expected<SearchResult> result = model.search(0.5);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->chosen, 0u);
  EXPECT_EQ(result->frontier[0].pattern, "FFFF");
}

TEST(ScheduleSearch, OneIndexer) {
  FakeModel model("FSS", 3, sumOf({0, 0, 0}));
  Expected<SearchResult> result = model.search(0);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->runs, 1);
  EXPECT_EQ(result->frontier.size(), 1u);
}

TEST(ScheduleSearch, AtMostLayersSquaredRuns) {
  for (int64_t layers = 1; layers <= 24; ++layers)
    for (int64_t windows : {1, 4, 5, 23}) {
      // A loss without any order to it, so that all levels have near misses.
      auto loss = [](const std::string &pattern) {
        return double(std::hash<std::string>{}(pattern) % 1000) * 2e-6;
      };
      FakeModel model(std::string(size_t(layers), 'F'), windows, loss);
      Expected<SearchResult> result = model.search(0.001);
      ASSERT_TRUE(result.ok());
      EXPECT_LE(result->runs, layers * layers);
      EXPECT_EQ(result->runs, model.runs);
      EXPECT_EQ(int64_t(result->frontier.size()), layers);
      EXPECT_LE(result->frontier[result->chosen].loss, 0.001);
    }
}

TEST(ScheduleSearch, SharedLayersStayShared) {
  FakeModel model("FFSSFSFS", 6, sumOf({0, 1, 0, 0, 1e-4, 0, 1e-4, 0}));
  Expected<SearchResult> result = model.search(0.001);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->frontier[result->chosen].pattern, "FFSSSSSS");
}

TEST(ScheduleSearch, AFailedRunEndsIt) {
  for (int64_t failAt : {2, 6, 12}) {
    FakeModel model("FFFFF", 9, sumOf({0, 1, 1, 1, 1}));
    model.failAt = failAt;
    EXPECT_EQ(model.search(0.001).status().message(), "the fake model was told to fail");
    EXPECT_EQ(model.runs, failAt);
  }
}

} // namespace
} // namespace strata::tune
