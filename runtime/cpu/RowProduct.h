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
  /// Outputs [firstOutput(i), firstOutput(i) + blockWidth(i)) are those of output block i.
  int64_t firstOutput(int64_t outputBlock) const { return outputBlock * blockOutputs_; }
  int64_t blockWidth(int64_t outputBlock) const {
    return std::min(blockOutputs_, outputs_ - firstOutput(outputBlock));
  }

  /// Where a thread computes.
  struct Room {
    float *rows;    ///< [blockRows, inputs]
    float *weights; ///< an output block's, when they are converted
    float *sums;    ///< [blockRows, width of the output block]
  };
  /// What a thread needs, aligned to 64 bytes. `rows` lie first, so that products of one number of
  /// inputs find them at one place.
  size_t scratchBytes() const;
  Room room(std::byte *scratch) const;

  // The steps of `run`.

  /// The weights of an output block, rounded: in place or converted into `room`.
  const float *loadWeights(int64_t member, int64_t outputBlock, const Room &room) const;
  /// Gathers `count` rows, at most `blockRows`, and rounds them.
  template <typename InputRow>
  void loadRows(int64_t count, InputRow inputRow, const Room &room) const {
    for (int64_t i = 0; i < count; ++i)
      loadRow(inputRow(i), room.rows + i * inputs_);
    clearRows(count, room);
  }
  /// room.sums = loaded rows × `weights`. False if the library has no memory.
  bool multiply(int64_t outputBlock, const float *weights, const Room &room) const;

  /// Computes one output block of `rows` rows with the matrix of `member`, and calls
  /// store(i, sums) for each row i: sums[j] = Σ_k inputRow(i)[k] × w[firstOutput + j, k], an array
  /// of the block's width. With `areLoaded` the rows, at most `blockRows`, are those of the last
  /// call with this scratch, perhaps of another product with as many inputs and block rows and the
  /// same operands. False if the library has no memory.
  template <typename InputRow, typename Store>
  bool run(int64_t member, int64_t outputBlock, int64_t rows, InputRow inputRow, Store store,
           std::byte *scratch, bool areLoaded = false) const {
    Room place = room(scratch);
    const float *weights = loadWeights(member, outputBlock, place);
    for (int64_t first = 0; first < rows; first += blockRows()) {
      int64_t count = std::min(blockRows(), rows - first);
      if (!areLoaded)
        loadRows(count, [&](int64_t i) { return inputRow(first + i); }, place);
      if (!multiply(outputBlock, weights, place))
        return false;
      for (int64_t i = 0; i < count; ++i)
        store(first + i, place.sums + i * blockWidth(outputBlock));
    }
    return true;
  }

private:
  bool usedInPlace(int64_t member) const;
  void loadRow(const float *input, float *row) const;
  void clearRows(int64_t first, const Room &room) const;

  const BoundWeight *weight_;
  int64_t inputs_, outputs_, blockOutputs_, libraryRows_;
  bool transposed_, roundInputs_, roundWeights_;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_ROWPRODUCT_H
