//===- Products.cpp - Products with weights -------------------------------===//
#include "strata/lib/Reference/Products.h"

#include <cmath>

using namespace mlir;

namespace strata::reference {

void multiply(Workers &workers, const WeightView &weight, int64_t member,
              ArrayRef<const float *> inputs, StoreProduct store) {
  double work = double(inputs.size()) * double(weight.columns());
  workers.forRanges(weight.rows(), work, [&](int64_t begin, int64_t end) {
    weight.forRows(member, begin, end, [&](int64_t row, const float *values) {
      for (auto [n, input] : llvm::enumerate(inputs))
        store(n, row, dot(input, values, weight.columns()));
    });
  });
}

static double activate(Activation activation, double x) {
  switch (activation) {
  case Activation::Silu:
    return x / (1 + std::exp(-x));
  }
  llvm_unreachable("all activations are handled");
}

std::vector<float> applyGate(Workers &workers, const WeightView &gate, const WeightView &up,
                             int64_t member, Activation activation,
                             ArrayRef<const float *> inputs) {
  int64_t width = gate.rows();
  std::vector<float> gated(inputs.size() * width), hidden(inputs.size() * width);
  multiply(workers, gate, member, inputs,
           [&](int64_t n, int64_t m, double value) { gated[n * width + m] = float(value); });
  multiply(workers, up, member, inputs, [&](int64_t n, int64_t m, double value) {
    double opened = activate(activation, gated[n * width + m]);
    hidden[n * width + m] = float(opened * double(float(value)));
  });
  return hidden;
}

void applyGatedMlp(Workers &workers, const WeightView &gate, const WeightView &up,
                   const WeightView &down, int64_t member, Activation activation,
                   ArrayRef<const float *> inputs, StoreProduct store) {
  std::vector<float> hidden = applyGate(workers, gate, up, member, activation, inputs);
  std::vector<const float *> rows;
  for (size_t n = 0; n < inputs.size(); ++n)
    rows.push_back(hidden.data() + n * gate.rows());
  multiply(workers, down, member, rows, store);
}

} // namespace strata::reference
