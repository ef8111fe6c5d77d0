//===- Checksum.h - The checksum of package files ---------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_CHECKSUM_H
#define STRATA_RUNTIME_CORE_CHECKSUM_H

#include <cstddef>
#include <cstdint>

namespace strata::rt {

/// A 64-bit checksum of `size` bytes. Not cryptographic: it finds damage, not forgery.
///
/// Four accumulators take the words 0, 4, 8, …; 1, 5, 9, … and so on, and are then folded into one.
/// Each step is a bijection of the accumulator for a given word and of the word for a given
/// accumulator, so a change within one aligned 8-byte word always changes the result. (The scheme
/// and the primes are those of XXH64; its way of folding has no such guarantee.)
uint64_t checksum(const void *bytes, size_t size);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_CHECKSUM_H
