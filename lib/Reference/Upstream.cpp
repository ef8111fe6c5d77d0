//===- Upstream.cpp - Ops of arith and tensor -----------------------------===//
#include "strata/lib/Reference/Ops.h"

#include <algorithm>

using namespace mlir;

namespace strata::reference {

static Status unsupported(Operation *op, const llvm::Twine &what) {
  return errorAt(op, what, StatusCode::Unsupported);
}

/// Checks that a type is a tensor of f32 or i32.
static Status expectTensor(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && (tensor.getElementType().isF32() || tensor.getElementType().isInteger(32)))
    return Status::success();
  std::string text;
  llvm::raw_string_ostream(text) << "expected a tensor of f32 or i32 but got " << type;
  return unsupported(op, text);
}

/// result = f(lhs, rhs), element by element.
template <typename Op, typename Function>
static Status runElementwise(StepState &state, Op op, Function function) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type || !type.getElementType().isF32())
    return unsupported(op, "expected tensors of f32");
  const Tensor &lhs = state.tensor(op.getLhs()), &rhs = state.tensor(op.getRhs());
  if (Status status = state.expectShape(op, "a right operand", op.getRhs(), lhs.shape);
      !status.ok())
    return status;
  Tensor result = Tensor::ofFloats(lhs.shape);
  std::transform(lhs.floats.begin(), lhs.floats.end(), rhs.floats.begin(), result.floats.begin(),
                 function);
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

Status run(StepState &state, arith::AddFOp op) {
  return runElementwise(state, op, [](float a, float b) { return a + b; });
}

Status run(StepState &state, arith::MulFOp op) {
  return runElementwise(state, op, [](float a, float b) { return a * b; });
}

Status run(StepState &state, arith::ConstantOp op) {
  if (auto index = dyn_cast<IntegerAttr>(op.getValue()); index && index.getType().isIndex()) {
    state.set(op.getResult(), index.getInt());
    return Status::success();
  }
  if (Status status = expectTensor(op, op.getType()); !status.ok())
    return status;
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return unsupported(op, "expected dense elements");
  Tensor result{Shape(elements.getType().getShape()), {}, {}};
  if (elements.getElementType().isF32())
    llvm::append_range(result.floats, elements.getValues<float>());
  else
    llvm::append_range(result.integers, elements.getValues<int32_t>());
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

/// Constants and values of index type as numbers.
static Shape resolve(StepState &state, ArrayRef<OpFoldResult> sizes) {
  Shape resolved;
  for (OpFoldResult size : sizes) {
    if (auto constant = dyn_cast<Attribute>(size))
      resolved.push_back(cast<IntegerAttr>(constant).getInt());
    else
      resolved.push_back(state.index(cast<Value>(size)));
  }
  return resolved;
}

/// The distance of neighbours in each dimension, in elements.
static Shape computeStrides(ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

/// Copies elements between two strided boxes of the same sizes; offsets and strides are in
/// elements.
template <typename T>
static void copyBox(ArrayRef<int64_t> sizes, const T *source, ArrayRef<int64_t> sourceStrides,
                    T *target, ArrayRef<int64_t> targetStrides) {
  if (sizes.empty()) {
    *target = *source;
    return;
  }
  for (int64_t i = 0; i < sizes.front(); ++i)
    copyBox(sizes.drop_front(), source + i * sourceStrides.front(), sourceStrides.drop_front(),
            target + i * targetStrides.front(), targetStrides.drop_front());
}

/// Copies a box of a tensor into a box of another one, whichever elements they have.
static void copyTensorBox(ArrayRef<int64_t> sizes, const Tensor &source, int64_t sourceOffset,
                          ArrayRef<int64_t> sourceStrides, Tensor &target, int64_t targetOffset,
                          ArrayRef<int64_t> targetStrides) {
  if (countElements(sizes) == 0)
    return;
  if (source.integers.empty())
    copyBox(sizes, source.floats.data() + sourceOffset, sourceStrides,
            target.floats.data() + targetOffset, targetStrides);
  else
    copyBox(sizes, source.integers.data() + sourceOffset, sourceStrides,
            target.integers.data() + targetOffset, targetStrides);
}

static Tensor makeLike(Type type, ArrayRef<int64_t> shape) {
  return cast<RankedTensorType>(type).getElementType().isF32() ? Tensor::ofFloats(shape)
                                                               : Tensor::ofIntegers(shape);
}

Status run(StepState &state, tensor::ExtractSliceOp op) {
  if (Status status = expectTensor(op, op.getSourceType()); !status.ok())
    return status;
  const Tensor &source = state.tensor(op.getSource());
  Shape offsets = resolve(state, op.getMixedOffsets()), sizes = resolve(state, op.getMixedSizes()),
        steps = resolve(state, op.getMixedStrides()), strides = computeStrides(source.shape);
  int64_t offset = 0;
  for (unsigned i = 0; i < source.shape.size(); ++i) {
    int64_t last = sizes[i] == 0 ? offsets[i] : offsets[i] + (sizes[i] - 1) * steps[i];
    if (sizes[i] < 0 || offsets[i] < 0 || last < 0 || (sizes[i] > 0 && last >= source.dim(i)) ||
        std::max(offsets[i], last) > source.dim(i))
      return errorAt(op, "expected a slice within " + llvm::Twine(source.dim(i)) +
                             " of dimension " + llvm::Twine(i) + " but got " +
                             llvm::Twine(offsets[i]) + " to " + llvm::Twine(last));
    offset += offsets[i] * strides[i];
    strides[i] *= steps[i];
  }
  Tensor result = makeLike(op.getType(), sizes);
  copyTensorBox(sizes, source, offset, strides, result, 0, computeStrides(sizes));
  Shape kept; // dimensions of size 1 may be dropped
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (unsigned i = 0; i < sizes.size(); ++i)
    if (!dropped.test(i))
      kept.push_back(sizes[i]);
  result.shape = kept;
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

static Status reshape(StepState &state, Operation *op, Value source, Value result, Shape shape) {
  if (Status status = expectTensor(op, source.getType()); !status.ok())
    return status;
  Tensor copy = state.tensor(source);
  bool negative = llvm::any_of(shape, [](int64_t size) { return size < 0; });
  if (negative || countElements(shape) != copy.elements())
    return errorAt(op, "expected sizes for " + llvm::Twine(copy.elements()) + " elements but got " +
                           llvm::Twine(countElements(shape)));
  copy.shape = shape;
  state.set(result, std::move(copy));
  return Status::success();
}

Status run(StepState &state, tensor::ExpandShapeOp op) {
  return reshape(state, op, op.getSrc(), op.getResult(), resolve(state, op.getMixedOutputShape()));
}

Status run(StepState &state, tensor::CollapseShapeOp op) {
  Shape source = state.shape(op.getSrc()), shape;
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    shape.push_back(1);
    for (int64_t dimension : group)
      shape.back() *= source[dimension];
  }
  return reshape(state, op, op.getSrc(), op.getResult(), shape);
}

Status run(StepState &state, tensor::ConcatOp op) {
  if (Status status = expectTensor(op, op.getType()); !status.ok())
    return status;
  int64_t dimension = op.getDim();
  Shape shape = state.shape(op.getInputs().front());
  shape[dimension] = 0;
  for (Value input : op.getInputs()) {
    Shape expected = shape, found = state.shape(input);
    expected[dimension] = found[dimension];
    if (Status status = state.expectShape(op, "an operand", input, expected); !status.ok())
      return status;
    shape[dimension] += found[dimension];
  }
  Tensor result = makeLike(op.getType(), shape);
  Shape strides = computeStrides(shape);
  int64_t offset = 0;
  for (Value input : op.getInputs()) {
    const Tensor &part = state.tensor(input);
    copyTensorBox(part.shape, part, 0, computeStrides(part.shape), result, offset, strides);
    offset += part.dim(dimension) * strides[dimension];
  }
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

Status run(StepState &state, tensor::DimOp op) {
  if (Status status = expectTensor(op, op.getSource().getType()); !status.ok())
    return status;
  Shape shape = state.shape(op.getSource());
  int64_t index = state.index(op.getIndex());
  if (index < 0 || index >= int64_t(shape.size()))
    return errorAt(op, "expected a dimension below " + llvm::Twine(shape.size()) + " but got " +
                           llvm::Twine(index));
  state.set(op.getResult(), shape[index]);
  return Status::success();
}

} // namespace strata::reference
