//===- Npy.h - NumPy's array files, format version 1.0 ----------*- C++ -*-===//
//
// Logits, rows and experts come in and go out as .npy: little-endian f4 or i4, C order. The format
// is described in numpy.lib.format; the header's data begins at a multiple of 64 bytes, as NumPy
// writes it.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_LIB_SUPPORT_NPY_H
#define STRATA_LIB_SUPPORT_NPY_H

#include "strata/lib/Support/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace strata {

/// An array in C order. `values` has as many elements as `shape` says (one for rank 0).
template <typename T> struct NpyArray {
  std::vector<int64_t> shape;
  std::vector<T> values;
};

/// Reads an array of '<f4' or '<i4'. Errors name the path: another element type, Fortran order, a
/// version other than 1.0 to 3.0, a shape that doesn't match the size of the file.
Expected<NpyArray<float>> readNpyFloats(const std::string &path);
Expected<NpyArray<int32_t>> readNpyIntegers(const std::string &path);

/// Writes an array; the file appears only when it is complete (see AtomicFile).
Status writeNpy(const std::string &path, const std::vector<int64_t> &shape, const float *values);
Status writeNpy(const std::string &path, const std::vector<int64_t> &shape, const int32_t *values);

} // namespace strata

#endif // STRATA_LIB_SUPPORT_NPY_H
