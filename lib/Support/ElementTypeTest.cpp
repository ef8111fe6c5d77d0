//===- ElementTypeTest.cpp ------------------------------------------------===//
#include "strata/lib/Support/ElementType.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace strata;

namespace {

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TEST(ElementType, NamesAndSizes) {
  EXPECT_EQ(elementTypeName(ElementType::F8E4M3), "f8E4M3FN");
  EXPECT_EQ(elementSize(ElementType::BF16), 2u);
  EXPECT_EQ(elementTypeFromSafetensors("F8_E4M3"), ElementType::F8E4M3);
  EXPECT_EQ(elementTypeFromSafetensors("I64"), std::nullopt);
}

TEST(ElementType, BF16RoundsToNearestEven) {
  EXPECT_EQ(roundToBF16(1.0f), 0x3f80);
  EXPECT_EQ(roundToBF16(fromBits(0x3f808000)), 0x3f80); // halfway, down to even
  EXPECT_EQ(roundToBF16(fromBits(0x3f818000)), 0x3f82); // halfway, up to even
  EXPECT_EQ(roundToBF16(fromBits(0x3f808001)), 0x3f81);
  EXPECT_EQ(roundToBF16(fromBits(0x7f7fffff)), 0x7f80); // beyond the largest: infinity
  EXPECT_TRUE(std::isnan(widenBF16(roundToBF16(fromBits(0x7f800001)))));
}

TEST(ElementType, BF16RoundTripsAllCodes) {
  for (uint32_t code = 0; code < 65536; ++code)
    if (float value = widenBF16(uint16_t(code)); !std::isnan(value))
      EXPECT_EQ(roundToBF16(value), code);
}

TEST(ElementType, F16SpecialValues) {
  EXPECT_EQ(widenF16(0x3c00), 1.0f);
  EXPECT_EQ(widenF16(0xc000), -2.0f);
  EXPECT_EQ(widenF16(0x7bff), 65504.0f);
  EXPECT_EQ(widenF16(0x0001), std::ldexp(1.0f, -24)); // smallest subnormal
  EXPECT_EQ(widenF16(0x03ff), std::ldexp(1023.0f, -24));
  EXPECT_TRUE(std::signbit(widenF16(0x8000)));
  EXPECT_TRUE(std::isinf(widenF16(0x7c00)));
  EXPECT_TRUE(std::isnan(widenF16(0x7e00)));
}

TEST(ElementType, F16AllCodesEqualTheCompilersOwn) {
  for (uint32_t code = 0; code < 65536; ++code) {
    uint16_t bits = uint16_t(code);
    _Float16 half;
    std::memcpy(&half, &bits, sizeof half);
    if (float expected = float(half); !std::isnan(expected))
      EXPECT_EQ(widenF16(bits), expected) << code;
  }
}

TEST(ElementType, F16RoundingEqualsTheCompilersOwn) {
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 9973) {
    float value = fromBits(uint32_t(bits));
    if (std::isnan(value))
      continue;
    _Float16 half = _Float16(value);
    uint16_t expected;
    std::memcpy(&expected, &half, sizeof expected);
    ASSERT_EQ(roundToF16(value), expected) << value;
  }
  for (uint32_t code = 0; code < 65536; ++code)
    if (float value = widenF16(uint16_t(code)); !std::isnan(value))
      ASSERT_EQ(roundToF16(value), code);
  EXPECT_TRUE(std::isnan(widenF16(roundToF16(NAN))));
}

TEST(ElementType, F8E4M3RoundsToNearestEven) {
  for (int code = 0; code < 256; ++code)
    if (float value = widenF8E4M3(uint8_t(code)); !std::isnan(value))
      EXPECT_EQ(roundToF8E4M3(value), code);
  // Halfway between two neighbours the even code wins; a hair to either side decides otherwise.
  for (int code = 0; code < 0x7e; ++code) {
    float middle = (widenF8E4M3(uint8_t(code)) + widenF8E4M3(uint8_t(code + 1))) / 2;
    EXPECT_EQ(roundToF8E4M3(middle), code + (code & 1)) << code;
    EXPECT_EQ(roundToF8E4M3(std::nextafter(middle, 0.0f)), code);
    EXPECT_EQ(roundToF8E4M3(-std::nextafter(middle, 1e9f)), (code + 1) | 0x80);
  }
  EXPECT_EQ(roundToF8E4M3(1e30f), 0x7e);
  EXPECT_EQ(roundToF8E4M3(-INFINITY), 0xfe);
  EXPECT_TRUE(std::isnan(widenF8E4M3(roundToF8E4M3(NAN))));
}

TEST(ElementType, F8E4M3AllCodes) {
  // The value by the format's definition: (-1)^s × 2^(e-7) × (1 + m/8), or 2^-6 × m/8 when e is 0.
  for (int code = 0; code < 256; ++code) {
    int exponent = code >> 3 & 15, mantissa = code & 7;
    float value = widenF8E4M3(uint8_t(code));
    if ((code & 127) == 127) {
      EXPECT_TRUE(std::isnan(value));
      continue;
    }
    double expected = exponent == 0 ? std::pow(2.0, -6) * mantissa / 8
                                    : std::pow(2.0, exponent - 7) * (1 + mantissa / 8.0);
    EXPECT_EQ(value, code & 128 ? -expected : expected) << code;
    EXPECT_EQ(std::signbit(value), code >= 128) << code;
  }
  EXPECT_EQ(widenF8E4M3(0x7e), 448.0f);
}

TEST(ElementType, WidensUnalignedData) {
  alignas(4) unsigned char bytes[9] = {0, 0x80, 0x3f, 0x00, 0xc0, 0, 0, 0, 0};
  float values[2];
  widen(ElementType::BF16, bytes + 1, values, 2);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], -2.0f);
}

} // namespace
