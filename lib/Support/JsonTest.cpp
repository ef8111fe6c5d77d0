//===- JsonTest.cpp -------------------------------------------------------===//
#include "strata/lib/Support/Json.h"

#include <gtest/gtest.h>

using namespace strata;

namespace {

TEST(Json, Parses) {
  Expected<nlohmann::json> value = parseJson(R"({"a": [1, {"b": null}], "c": {"a": 1.5}})");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ((*value)["a"][0], 1);
}

TEST(Json, InvalidText) {
  for (const char *text : {"", "{", "{\"a\": }", "[1,]", "{} x", "\xff", "{\"a\": 1e999999}"})
    EXPECT_EQ(parseJson(text).status().message(), "not valid JSON") << text;
}

TEST(Json, RepeatedKey) {
  EXPECT_EQ(parseJson(R"({"a": 1, "b": {"a": 2, "c": 3, "c": 4}})").status().message(),
            "'c' is given twice");
  EXPECT_TRUE(parseJson(R"([{"a": 1}, {"a": 2}])").ok());
}

TEST(Json, DeepNesting) {
  EXPECT_TRUE(parseJson("[[[1]]]", 3).ok());
  EXPECT_EQ(parseJson("[[[[1]]]]", 3).status().message(), "nested more than 3 deep");
  EXPECT_EQ(parseJson(std::string(1000000, '[')).status().message(), "nested more than 16 deep");
  std::string objects;
  for (int i = 0; i < 100000; ++i)
    objects += "{\"a\":";
  EXPECT_EQ(parseJson(objects).status().message(), "nested more than 16 deep");
}

} // namespace
