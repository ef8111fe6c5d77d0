//===- Checksum.cpp - The checksum of package files -----------------------===//
#include "strata/runtime/core/Checksum.h"

#include <cstring>

namespace strata::rt {

// Odd, so that multiplying by them is a bijection of 64-bit words.
constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9;

static uint64_t rotate(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

static uint64_t absorb(uint64_t accumulator, uint64_t word) {
  return rotate(accumulator + word * kPrime2, 31) * kPrime1;
}

uint64_t checksum(const void *bytes, size_t size) {
  const char *next = static_cast<const char *>(bytes);
  uint64_t accumulators[4] = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
  size_t left = size;
  auto word = [&](int lane) {
    uint64_t value = 0;
    std::memcpy(&value, next + 8 * lane, sizeof value);
    return value;
  };
  for (; left >= 32; left -= 32, next += 32)
    for (int lane = 0; lane < 4; ++lane)
      accumulators[lane] = absorb(accumulators[lane], word(lane));
  // The rest, filled up with zeros; the size tells it apart from zeros that are there.
  for (int lane = 0; left > 0; ++lane) {
    uint64_t value = 0;
    size_t count = left < 8 ? left : 8;
    std::memcpy(&value, next, count);
    accumulators[lane] = absorb(accumulators[lane], value);
    next += count;
    left -= count;
  }
  uint64_t hash = size;
  for (uint64_t accumulator : accumulators)
    hash = absorb(hash, accumulator);
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

} // namespace strata::rt
