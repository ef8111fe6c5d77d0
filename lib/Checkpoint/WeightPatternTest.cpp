//===- WeightPatternTest.cpp ----------------------------------------------===//
#include "strata/lib/Checkpoint/WeightPattern.h"

#include <gtest/gtest.h>

using namespace strata;
using Names = std::vector<std::string>;

namespace {

TEST(WeightPattern, PlainName) {
  EXPECT_FALSE(isWeightPattern("model.norm.weight"));
  EXPECT_EQ(*expandWeightPattern("model.norm.weight"), Names{"model.norm.weight"});
}

TEST(WeightPattern, Range) {
  EXPECT_TRUE(isWeightPattern("e.{0..2}.w"));
  EXPECT_EQ(*expandWeightPattern("e.{9..11}.w"), (Names{"e.9.w", "e.10.w", "e.11.w"}));
  EXPECT_EQ(*expandWeightPattern("{5..5}"), Names{"5"});
}

TEST(WeightPattern, Refusals) {
  auto message = [](const char *pattern) {
    return expandWeightPattern(pattern).status().message();
  };
  for (const char *pattern : {"{0..1}.{0..1}", "{0..1", "0..1}", "}0..1{", "{{0..1}}"})
    EXPECT_EQ(message(pattern),
              "weight pattern '" + std::string(pattern) + "': expected one part in braces");
  for (const char *pattern : {"{}", "{0}", "{0..}", "{..1}", "{0...1}", "{a..b}", "{-1..1}",
                              "{00..01}", "{0,1}", "{0..18446744073709551616}", "{ 0..1}"})
    EXPECT_EQ(message(pattern),
              "weight pattern '" + std::string(pattern) + "': expected {first..last}, two numbers");
  for (const char *pattern : {"{1..0}", "{0..65536}", "{0..18446744073709551615}"})
    EXPECT_EQ(message(pattern),
              "weight pattern '" + std::string(pattern) + "': expected 1 to 65536 names");
}

} // namespace
