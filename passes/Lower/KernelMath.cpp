//===- KernelMath.cpp - Arithmetic of kernels on f32 vectors --------------===//
#include "strata/passes/Lower/KernelBuilder.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace strata;

Type KernelBuilder::integerTypeLike(Type floatType, unsigned bits) {
  Type element = getIntegerType(bits);
  if (auto vector = dyn_cast<VectorType>(floatType))
    return vector.clone(element);
  return element;
}

Value KernelBuilder::integersLike(int32_t value, Value like) {
  Type type = integerTypeLike(like.getType(), 32);
  TypedAttr element = getI32IntegerAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(*this, DenseElementsAttr::get(vector, Attribute(element)));
  return arith::ConstantOp::create(*this, element);
}

// A product may be fused with the sum that uses it (one rounding less). Reordering isn't allowed:
// an item's bits must not depend on what is around it.
constexpr arith::FastMathFlags contract = arith::FastMathFlags::contract;

Value KernelBuilder::addFloats(Value a, Value b) {
  return arith::AddFOp::create(*this, a, b, contract);
}
Value KernelBuilder::subtractFloats(Value a, Value b) {
  return arith::SubFOp::create(*this, a, b, contract);
}
Value KernelBuilder::multiplyFloats(Value a, Value b) {
  return arith::MulFOp::create(*this, a, b, contract);
}
Value KernelBuilder::divideFloats(Value a, Value b) { return arith::DivFOp::create(*this, a, b); }

Value KernelBuilder::selectFloats(arith::CmpFPredicate predicate, Value left, Value right, Value a,
                                  Value b) {
  Value condition = arith::CmpFOp::create(*this, predicate, left, right);
  return arith::SelectOp::create(*this, condition, a, b);
}

Value KernelBuilder::greaterFloat(Value a, Value b) {
  return selectFloats(arith::CmpFPredicate::OGT, a, b, a, b);
}

Value KernelBuilder::broadcast(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(*this, floats(lanes), scalar);
}

Value KernelBuilder::shuffle(Value a, Value b, ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(*this, a, b, lanes);
}

Value KernelBuilder::widen(Value vector) {
  if (cast<VectorType>(vector.getType()).getNumElements() == chunkLanes)
    return vector;
  return vector::InsertStridedSliceOp::create(*this, vector, splat(0, chunkLanes),
                                              ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
}

Value KernelBuilder::reduce(Value vector, llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t half = chunkLanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low(half), high(half);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), half);
    vector = combine(shuffle(vector, vector, low), shuffle(vector, vector, high));
  }
  return vector::ExtractOp::create(*this, vector, 0);
}

Value KernelBuilder::sum(Value vector) {
  return reduce(vector, [&](Value a, Value b) { return addFloats(a, b); });
}

// Cody and Waite's reduction to |r| ≤ ln 2 / 2 and the polynomial of Cephes' expf (S. Moshier). A
// factor 2^n is applied in two halves, so that subnormal results and overflow come out of the last
// multiplication with one rounding.
Value KernelBuilder::exponential(Value x) {
  auto vectorType = dyn_cast<VectorType>(x.getType());
  int64_t lanes = vectorType ? vectorType.getNumElements() : 0;
  auto constant = [&](double value) { return splat(value, lanes); };

  // Beyond these bounds the result is 0 or infinity anyway; NaN fails both comparisons and stays.
  Value lowest = constant(-104), highest = constant(89);
  x = selectFloats(arith::CmpFPredicate::OLT, x, lowest, lowest, x);
  x = selectFloats(arith::CmpFPredicate::OGT, x, highest, highest, x);

  // Adding 1.5 × 2^23 rounds to an integer and leaves it in the low bits.
  Value magic = constant(12582912);
  Value shifted = addFloats(multiplyFloats(x, constant(1.44269504088896341)), magic);
  // No fusing here: this subtraction must be exact.
  Value whole = arith::SubFOp::create(*this, shifted, magic);
  Type integers = integerTypeLike(x.getType(), 32);
  Value power = arith::SubIOp::create(*this, arith::BitcastOp::create(*this, integers, shifted),
                                      arith::BitcastOp::create(*this, integers, magic));
  Value r = subtractFloats(x, multiplyFloats(whole, constant(0.693359375)));
  r = subtractFloats(r, multiplyFloats(whole, constant(-2.12194440e-4)));

  Value polynomial = constant(1.9875691500e-4);
  for (double coefficient :
       {1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1})
    polynomial = addFloats(multiplyFloats(polynomial, r), constant(coefficient));
  Value result = addFloats(multiplyFloats(polynomial, multiplyFloats(r, r)), r);
  result = addFloats(result, constant(1));

  auto powerOfTwo = [&](Value exponent) -> Value {
    Value biased = arith::AddIOp::create(*this, exponent, integersLike(127, exponent));
    Value bits = arith::ShLIOp::create(*this, biased, integersLike(23, biased));
    return arith::BitcastOp::create(*this, x.getType(), bits);
  };
  Value half = arith::ShRSIOp::create(*this, power, integersLike(1, power));
  Value rest = arith::SubIOp::create(*this, power, half);
  return multiplyFloats(multiplyFloats(result, powerOfTwo(half)), powerOfTwo(rest));
}

Value KernelBuilder::bf16Bits(Value x) {
  Value bits = arith::BitcastOp::create(*this, integerTypeLike(x.getType(), 32), x);
  auto constant = [&](uint32_t value) { return integersLike(static_cast<int32_t>(value), bits); };
  Value upper = arith::ShRUIOp::create(*this, bits, constant(16));
  Value isOdd = arith::AndIOp::create(*this, upper, constant(1));
  Value bias = arith::AddIOp::create(*this, isOdd, constant(0x7fff));
  Value rounded =
      arith::ShRUIOp::create(*this, arith::AddIOp::create(*this, bits, bias), constant(16));
  // Rounding could carry a NaN into infinity or zero; it stays one, quiet.
  Value quiet = arith::OrIOp::create(*this, upper, constant(0x40));
  Value isNaN = arith::CmpFOp::create(*this, arith::CmpFPredicate::UNO, x, x);
  return arith::SelectOp::create(*this, isNaN, quiet, rounded);
}

Value KernelBuilder::roundToBF16(Value x) {
  Value bits = bf16Bits(x);
  Value shifted = arith::ShLIOp::create(*this, bits, integersLike(16, bits));
  return arith::BitcastOp::create(*this, x.getType(), shifted);
}
