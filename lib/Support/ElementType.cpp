//===- ElementType.cpp - Number formats of weights and caches -------------===//
#include "strata/lib/Support/ElementType.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace strata {

size_t elementSize(ElementType type) {
  switch (type) {
  case ElementType::F32:
  case ElementType::I32:
    return 4;
  case ElementType::BF16:
  case ElementType::F16:
    return 2;
  case ElementType::F8E4M3:
    return 1;
  }
  return 0;
}

std::string_view elementTypeName(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "f32";
  case ElementType::BF16:
    return "bf16";
  case ElementType::F16:
    return "f16";
  case ElementType::F8E4M3:
    return "f8E4M3FN";
  case ElementType::I32:
    return "i32";
  }
  return "unknown";
}

std::optional<ElementType> elementTypeFromSafetensors(std::string_view dtype) {
  if (dtype == "F32")
    return ElementType::F32;
  if (dtype == "BF16")
    return ElementType::BF16;
  if (dtype == "F16")
    return ElementType::F16;
  if (dtype == "F8_E4M3")
    return ElementType::F8E4M3;
  if (dtype == "I32")
    return ElementType::I32;
  return std::nullopt;
}

static float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float widenBF16(uint16_t bits) { return fromBits(uint32_t(bits) << 16); }

uint16_t roundToBF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return uint16_t((bits >> 16) | 0x40); // quiet, so that the payload can't round away
  return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

float widenF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31,
           mantissa = bits & 0x3ffu;
  if (exponent == 31)
    return fromBits(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0)
    return fromBits(sign | (exponent + 112) << 23 | mantissa << 13);
  float magnitude = std::ldexp(float(mantissa), -24);
  return sign ? -magnitude : magnitude;
}

/// The code of `magnitude` (≥ 0, finite) without sign, in a format with subnormals whose smallest
/// normal number is 2^smallestExponent: codes of growing magnitudes are consecutive, so rounding up
/// may carry into the exponent.
static uint32_t roundMagnitude(float magnitude, int mantissaBits, int smallestExponent) {
  int exponent =
      magnitude == 0 ? smallestExponent : std::max(std::ilogb(magnitude), smallestExponent);
  // exact: a power of two times at most 24 bits; the nearest integer in the default rounding mode
  // is the even one
  double units = std::nearbyint(std::ldexp(double(magnitude), mantissaBits - exponent));
  return uint32_t(units) + (uint32_t(exponent - smallestExponent) << mantissaBits);
}

uint16_t roundToF16(float value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return sign | 0x7e00;
  float magnitude = std::fabs(value);
  return sign | (magnitude >= 65520.0f ? 0x7c00 : uint16_t(roundMagnitude(magnitude, 10, -14)));
}

uint8_t roundToF8E4M3(float value) {
  uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value))
    return sign | 0x7f;
  float magnitude = std::fabs(value);
  return sign | (magnitude >= 448.0f ? 0x7e : uint8_t(roundMagnitude(magnitude, 3, -6)));
}

static std::array<float, 256> makeF8E4M3Table() {
  std::array<float, 256> table{};
  for (int code = 0; code < 256; ++code) {
    int exponent = (code >> 3) & 15, mantissa = code & 7;
    float magnitude = exponent == 15 && mantissa == 7 ? std::numeric_limits<float>::quiet_NaN()
                      : exponent == 0 ? std::ldexp(float(mantissa), -9)
                                      : std::ldexp(float(8 + mantissa), exponent - 10);
    table[code] = code & 0x80 ? -magnitude : magnitude;
  }
  return table;
}

float widenF8E4M3(uint8_t bits) {
  static const std::array<float, 256> table = makeF8E4M3Table();
  return table[bits];
}

/// Unaligned elements of type T, one by one through `convert`.
template <typename T, typename Convert>
static void widenEach(const void *source, float *target, size_t count, Convert convert) {
  const char *bytes = static_cast<const char *>(source);
  for (size_t i = 0; i < count; ++i) {
    T bits;
    std::memcpy(&bits, bytes + i * sizeof(T), sizeof(T));
    target[i] = convert(bits);
  }
}

void widen(ElementType type, const void *source, float *target, size_t count) {
  switch (type) {
  case ElementType::F32:
    std::memcpy(target, source, count * sizeof(float));
    return;
  case ElementType::BF16:
    return widenEach<uint16_t>(source, target, count, widenBF16);
  case ElementType::F16:
    return widenEach<uint16_t>(source, target, count, widenF16);
  case ElementType::F8E4M3:
    return widenEach<uint8_t>(source, target, count, widenF8E4M3);
  case ElementType::I32:
    return widenEach<int32_t>(source, target, count, [](int32_t value) { return float(value); });
  }
}

} // namespace strata
