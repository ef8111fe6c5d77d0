//===- TextTest.cpp -------------------------------------------------------===//
#include "strata/lib/Support/Text.h"

#include <gtest/gtest.h>

using namespace strata;

namespace {

TEST(Text, PrintableHasNoControlCharacters) {
  EXPECT_EQ(printable(std::string_view("a\nb\0c", 5)), "a?b?c");
  EXPECT_EQ(printable(std::string(300, 'x')), std::string(200, 'x') + "…");
}

TEST(Text, Shapes) {
  EXPECT_EQ(shapeText({}), "[]");
  EXPECT_EQ(shapeText({2, 3}), "[2, 3]");
}

TEST(Text, ListsAreCut) {
  EXPECT_EQ(listText({"a", "b"}), "a, b");
  EXPECT_EQ(listText({"a", "b", "c", "d"}, "; ", 2), "a; b … and 2 more");
}

} // namespace
