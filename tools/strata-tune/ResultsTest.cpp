//===- ResultsTest.cpp - The frontier as table, JSON and picture ----------===//
#include "Results.h"

#include "strata/lib/Support/Json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace strata::tune {
namespace {

Results makeResults() {
  Results results;
  results.checkpoint = "a<b&c";
  results.text = "t.txt";
  results.window = 1024;
  results.windows = 23;
  results.maxLoss = 0.001;
  results.context = 4096;
  results.recall = {{1, 0.5}, {0.25, 1}};
  results.search.frontier = {{"FFF", 1.5, 0}, {"FFS", 1.49999, -0.00001}, {"FSS", 2.5, 1}};
  results.search.chosen = 1;
  results.search.runs = 6;
  results.flops = {3e9, 2.5e9, 2e9};
  return results;
}

TEST(Results, Table) {
  EXPECT_EQ(formatTable(makeResults()),
            "  indexers  schedule  nats/byte      loss  GFLOP/token at 4096\n"
            "         3  FFF         1.50000   0.00000  3\n"
            "*        2  FFS         1.49999  -0.00001  2.5\n"
            "         1  FSS         2.50000   1.00000  2\n"
            "* the fewest indexers with a loss of at most 0.001; 6 runs\n");
}

TEST(Results, Json) {
  Expected<nlohmann::json> json = parseJson(formatJson(makeResults()));
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ((*json)["chosen"], "pattern:FFS");
  EXPECT_EQ((*json)["frontier"].size(), 3u);
  EXPECT_EQ((*json)["frontier"][2]["schedule"], "pattern:FSS");
  EXPECT_EQ((*json)["frontier"][2]["indexers"], 1);
  EXPECT_EQ((*json)["frontier"][2]["loss"], 1);
  EXPECT_EQ((*json)["frontier"][2]["flops"], 2e9);
  EXPECT_EQ((*json)["recall"][1][0], 0.25);
  Results results = makeResults();
  results.checkpoint = "\xff";
  EXPECT_TRUE(parseJson(formatJson(results)).ok());
}

size_t countOf(const std::string &text, const std::string &piece) {
  size_t count = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1))
    ++count;
  return count;
}

TEST(Results, Picture) {
  std::string picture = drawSvg(makeResults());
  EXPECT_EQ(picture.rfind("<svg ", 0), 0u);
  EXPECT_EQ(countOf(picture, "class=\"leads\""), 6u);
  EXPECT_EQ(countOf(picture, "class=\"shares\""), 3u);
  EXPECT_EQ(countOf(picture, "class=\"chosen\""), 1u);
  EXPECT_NE(picture.find("a&lt;b&amp;c"), std::string::npos);
  EXPECT_NE(picture.find("limit 0.001"), std::string::npos);
  std::string page = drawHtml(makeResults());
  EXPECT_NE(page.find(picture), std::string::npos);
  EXPECT_NE(page.find("<pre>"), std::string::npos);
}

TEST(Results, PictureOfOddNumbers) {
  Results results = makeResults();
  results.maxLoss = 0;
  results.search.frontier[2].loss = INFINITY;
  std::string picture = drawSvg(results);
  EXPECT_EQ(picture.find("=\"nan"), std::string::npos);
  EXPECT_EQ(picture.find("=\"inf"), std::string::npos);
  EXPECT_EQ(picture.find("=\"-"), std::string::npos);
}

} // namespace
} // namespace strata::tune
