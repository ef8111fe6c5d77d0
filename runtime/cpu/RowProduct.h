//===- RowProduct.h - Matrix products whose rows don't depend on each other -*- C++ -*-===//
//
// A row of x wᵀ must have the same bits whatever rows it is computed with: a prompt at once, in
// chunks or token by token are the same numbers. A library chooses its kernel, and with it the
// order of its sums, by the shape of the product, and some kernels also by a row's place. So the
// library is always given blocks of one fixed shape, and that shape is one for which it was tried
// out on this processor that a row's place in the block does not matter.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_RUNTIME_CPU_ROWPRODUCT_H
#define STRATA_RUNTIME_CPU_ROWPRODUCT_H

#include "strata/lib/Checkpoint/BoundWeight.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::rt {

/// Shape of the products that go to the library: [rows, inputs] × [inputs, outputs]. The weight is
/// stored as [outputs, inputs], or as [inputs, outputs] when transposed.
struct BlockShape {
  int64_t inputs = 0, outputs = 0;
  bool transposed = false;
};

/// c[rows, outputs] = x[rows, inputs] × w, all dense f32. `rows` = 0 stands for 1 and a plain loop
/// instead of the library. False if the library has no memory.
bool multiplyBlock(const BlockShape &shape, int64_t rows, const float *x, const float *w, float *c);

/// True if, for random blocks of `rows` rows, each row's result is bit-equal at every place.
bool rowsAreIndependent(const BlockShape &shape, int64_t rows);

/// The number of rows in a block: the fastest for which `rowsAreIndependent` holds for all
/// `shapes`; 0 if there is none (see multiplyBlock).
int64_t chooseBlockRows(const std::vector<BlockShape> &shapes);

/// Makes the library compute with the calling thread alone, until the object is gone. Each thread
/// that multiplies needs one.
class SingleThreadedLibrary {
public:
  SingleThreadedLibrary();
  ~SingleThreadedLibrary();
  SingleThreadedLibrary(const SingleThreadedLibrary &) = delete;
  SingleThreadedLibrary &operator=(const SingleThreadedLibrary &) = delete;

private:
  int before_ = 0;
};

/// Rounds to bf16 and back, to nearest even, as `roundToBF16` does.
void roundValuesToBF16(float *values, int64_t count);

/// The error after a product that returned false.
Status productFailed();

/// Products of rows with the matrices of one weight. The weight's rows are converted block by block
/// when they are not stored as what is multiplied; the matrix as a whole never is.
class RowProduct {
public:
  /// The weight's members are matrices [outputs, inputs], or [inputs, outputs] when transposed.
  /// Operands are rounded to `operands` (F32 or BF16) before they are multiplied. `weight` must
  /// outlive the product.
  RowProduct(const BoundWeight &weight, bool transposed, ElementType operands);

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }
  /// Rows that go to the library at once.
  int64_t blockRows() const { return libraryRows_ == 0 ? 1 : libraryRows_; }
  /// Outputs are computed in blocks, each by one call of `run`.
  int64_t outputBlocks() const { return (outputs_ + blockOutputs_ - 1) / blockOutputs_; }
  /// What a thread needs for `run`, aligned to 64 bytes.
  size_t scratchBytes() const;

  /// Computes one output block of `rows` rows: outputRow(i)[m] = bias[m] + Σ_k inputRow(i)[k] ×
  /// w[m, k] with the matrix of `member`. Pointers are to whole rows; `bias` (all outputs) may be
  /// null. False if the library has no memory.
  template <typename InputRow, typename OutputRow>
  bool run(int64_t member, int64_t outputBlock, int64_t rows, InputRow inputRow,
           OutputRow outputRow, const float *bias, std::byte *scratch) const {
    Block block = openBlock(member, outputBlock, scratch);
    for (int64_t first = 0; first < rows; first += blockRows()) {
      int64_t count = std::min(blockRows(), rows - first);
      for (int64_t i = 0; i < count; ++i)
        loadRow(block, i, inputRow(first + i));
      if (!multiply(block, count))
        return false;
      for (int64_t i = 0; i < count; ++i)
        storeRow(block, i, bias, outputRow(first + i));
    }
    return true;
  }

private:
  struct Block {
    BlockShape shape;
    int64_t firstOutput;
    const float *weight;
    float *x, *c;
  };

  bool usedInPlace(int64_t member) const;
  Block openBlock(int64_t member, int64_t outputBlock, std::byte *scratch) const;
  void loadRow(const Block &block, int64_t place, const float *input) const;
  bool multiply(const Block &block, int64_t count) const;
  void storeRow(const Block &block, int64_t place, const float *bias, float *output) const;

  const BoundWeight *weight_;
  int64_t inputs_, outputs_, blockOutputs_, libraryRows_;
  bool transposed_, roundInputs_, roundWeights_;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_ROWPRODUCT_H
