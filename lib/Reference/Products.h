//===- Products.h - Products with weights -----------------------*- C++ -*-===//
#ifndef STRATA_LIB_REFERENCE_PRODUCTS_H
#define STRATA_LIB_REFERENCE_PRODUCTS_H

#include "strata/lib/Reference/Weights.h"
#include "strata/lib/Reference/Workers.h"

namespace strata::reference {

/// Σ a[i]·b[i] in f64, in an order that depends on `count` alone.
inline double dot(const float *a, const float *b, int64_t count) {
  // Eight sums that do not wait for each other.
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int64_t lane = 0; lane < 8; ++lane)
      sums[lane] += double(a[i + lane]) * double(b[i + lane]);
  for (int64_t lane = 0; i < count; ++i, ++lane)
    sums[lane] += double(a[i]) * double(b[i]);
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/// Receives element (input, output) of a product.
using StoreProduct = llvm::function_ref<void(int64_t input, int64_t output, double value)>;

/// Multiplies each input (weight.columns() values) by one member of a weight: value (n, m) is
/// Σ_k inputs[n][k] · weight[member, m, k]. `store` is called by several threads.
void multiply(Workers &workers, const WeightView &weight, int64_t member,
              llvm::ArrayRef<const float *> inputs, StoreProduct store);

/// activation(gate · x) ⊙ (up · x) of one member of two weights: [inputs, width], dense.
std::vector<float> applyGate(Workers &workers, const WeightView &gate, const WeightView &up,
                             int64_t member, Activation activation,
                             llvm::ArrayRef<const float *> inputs);

/// The gated MLP of one member of three weights: down · (activation(gate · x) ⊙ (up · x)).
/// `store` is called by several threads.
void applyGatedMlp(Workers &workers, const WeightView &gate, const WeightView &up,
                   const WeightView &down, int64_t member, Activation activation,
                   llvm::ArrayRef<const float *> inputs, StoreProduct store);

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_PRODUCTS_H
