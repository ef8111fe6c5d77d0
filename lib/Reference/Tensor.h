//===- Tensor.h - Values that the reference executor computes with -*- C++ -*-===//
#ifndef STRATA_LIB_REFERENCE_TENSOR_H
#define STRATA_LIB_REFERENCE_TENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace strata::reference {

using Shape = llvm::SmallVector<int64_t, 4>;

/// The number of elements of a shape.
inline int64_t countElements(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// A tensor of f32 or i32 in row-major order; one of the two arrays is used.
struct Tensor {
  Shape shape;
  std::vector<float> floats;
  std::vector<int32_t> integers;

  /// Filled with NaN, so that an element that is never written is seen.
  static Tensor ofFloats(llvm::ArrayRef<int64_t> shape) {
    Tensor tensor{Shape(shape), {}, {}};
    tensor.floats.assign(countElements(shape), std::numeric_limits<float>::quiet_NaN());
    return tensor;
  }
  /// Filled with −1.
  static Tensor ofIntegers(llvm::ArrayRef<int64_t> shape) {
    Tensor tensor{Shape(shape), {}, {}};
    tensor.integers.assign(countElements(shape), -1);
    return tensor;
  }

  int64_t dim(unsigned index) const { return shape[index]; }
  int64_t elements() const { return countElements(shape); }
  uint64_t bytes() const { return 4 * uint64_t(floats.size() + integers.size()); }

  /// Element `index` of the first dimension: all that lies below it.
  const float *row(int64_t index) const { return floats.data() + index * rowElements(); }
  float *row(int64_t index) { return floats.data() + index * rowElements(); }
  int64_t rowElements() const { return countElements(llvm::ArrayRef<int64_t>(shape).drop_front()); }
};

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_TENSOR_H
