#include <gtest/gtest.h>
TEST(ImportModel, Placeholder) {}
