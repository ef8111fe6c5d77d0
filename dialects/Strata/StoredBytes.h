//===- StoredBytes.h - Bytes of weights and records in a format -*- C++ -*-===//
//
// What costs are counted in when formats are asked for that the module itself does not have.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_DIALECTS_STRATA_STOREDBYTES_H
#define STRATA_DIALECTS_STRATA_STOREDBYTES_H

#include "strata/dialects/Strata/IR.h"

namespace strata {

/// Does a cache hold index keys? They are compared with queries and nothing else, so they have no
/// values.
inline bool holdsIndexKeys(CacheType cache) { return cache.getValueWidth() == 0; }

/// Bytes of one record. In the formats that serving systems publish for sparse attention
/// - index keys are e4m3 with one f32 scale for 128 elements of a head, in BF16 and FP8 alike (132
///   bytes for 128 elements);
/// - FP8 stores keys and values in the same way, except that the key beside a shared key and value,
///   MLA's rotated part, stays bf16 (656 bytes for MLA's 512 + 64 elements);
/// - BF16 stores keys and values as bf16 (1152 bytes there).
double getRecordBytes(CacheType cache, StorageFormat format);

/// Bytes of a weight's value. In BF16 every matrix is bf16; in FP8 it is e4m3 with one f32 scale
/// for each block of 128 × 128. Vectors, of norms and biases, stay as the checkpoint stores them.
double getWeightBytes(WeightOp weight, StorageFormat format);

} // namespace strata

#endif // STRATA_DIALECTS_STRATA_STOREDBYTES_H
