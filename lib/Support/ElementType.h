//===- ElementType.h - Number formats of weights and caches -----*- C++ -*-===//
#ifndef STRATA_LIB_SUPPORT_ELEMENTTYPE_H
#define STRATA_LIB_SUPPORT_ELEMENTTYPE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace strata {

/// The number formats that checkpoints and caches use. The values are those of `ElementType` in
/// package.fbs.
enum class ElementType : uint8_t { F32 = 0, BF16 = 1, F16 = 2, F8E4M3 = 3, I32 = 4 };

/// Size of one element in bytes.
size_t elementSize(ElementType type);

/// MLIR's spelling: f32, bf16, f16, f8E4M3FN, i32.
std::string_view elementTypeName(ElementType type);

/// The safetensors spelling (F32, BF16, F16, F8_E4M3, I32); nothing when Strata has no use for the
/// type.
std::optional<ElementType> elementTypeFromSafetensors(std::string_view dtype);

/// bf16 is the upper half of an f32.
float widenBF16(uint16_t bits);
/// Rounds to nearest even; NaN stays NaN.
uint16_t roundToBF16(float value);
/// IEEE binary16, subnormals included.
float widenF16(uint16_t bits);
/// e4m3fn: no infinities, 0x7f and 0xff are NaN, largest 448 (OCP 8-bit floating point
/// specification).
float widenF8E4M3(uint8_t bits);
/// Rounds to nearest even; too large becomes infinity; NaN stays NaN.
uint16_t roundToF16(float value);
/// Rounds to nearest even; too large becomes ±448, as there is no infinity; NaN stays NaN.
uint8_t roundToF8E4M3(float value);

/// Widens `count` elements to f32.
void widen(ElementType type, const void *source, float *target, size_t count);

} // namespace strata

#endif // STRATA_LIB_SUPPORT_ELEMENTTYPE_H
