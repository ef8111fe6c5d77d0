//===- GatedRows.h - Two products of the same rows, combined ----*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_GATEDROWS_H
#define STRATA_RUNTIME_CPU_GATEDROWS_H

#include "strata-rt/kernel-abi.h"
#include "strata/runtime/cpu/RowProduct.h"

namespace strata::rt {

/// Products of rows with the matrices of two weights of one shape, which a kernel combines element
/// by element.
class GatedRows {
public:
  GatedRows(RowProduct gate, RowProduct up, strata_rt_kernel kernel)
      : gate_(gate), up_(up), kernel_(kernel) {}

  /// What one of the products is like.
  const RowProduct &product() const { return gate_; }
  size_t scratchBytes() const { return gate_.scratchBytes() + up_.scratchBytes(); }

  /// As `RowProduct::run`, but writes to whole rows: outputRow(i)[m] = kernel(gate, up).
  template <typename InputRow, typename OutputRow>
  bool run(int64_t member, int64_t outputBlock, int64_t rows, InputRow inputRow,
           OutputRow outputRow, std::byte *scratch, bool areLoaded) const {
    RowProduct::Room gate = gate_.room(scratch), up = up_.room(scratch + gate_.scratchBytes());
    up.rows = gate.rows; // of one shape, so in blocks of as many rows
    const float *gateWeights = gate_.loadWeights(member, outputBlock, gate);
    const float *upWeights = up_.loadWeights(member, outputBlock, up);
    int64_t width = gate_.blockWidth(outputBlock);
    for (int64_t first = 0; first < rows; first += gate_.blockRows()) {
      int64_t count = std::min(gate_.blockRows(), rows - first);
      if (!areLoaded)
        gate_.loadRows(count, [&](int64_t i) { return inputRow(first + i); }, gate);
      if (!gate_.multiply(outputBlock, gateWeights, gate) ||
          !up_.multiply(outputBlock, upWeights, up))
        return false;
      // Row by row: an element's place in the range, which may choose between a kernel's vector and
      // scalar code, must not depend on other rows.
      for (int64_t i = 0; i < count; ++i) {
        void *arguments[] = {gate.sums + i * width, up.sums + i * width,
                             outputRow(first + i) + gate_.firstOutput(outputBlock)};
        kernel_(arguments, 0, width);
      }
    }
    return true;
  }

private:
  RowProduct gate_, up_;
  strata_rt_kernel kernel_;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_GATEDROWS_H
