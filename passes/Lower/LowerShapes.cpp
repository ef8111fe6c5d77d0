//===- LowerShapes.cpp - Slices, reshapes and concatenations --------------===//
#include "strata/passes/Lower/StepLowering.h"

using namespace mlir;
using namespace strata;

int64_t strata::getRowElements(Value view) {
  int64_t count = 1;
  for (int64_t size : getViewType(view).getShape().drop_front())
    count *= size;
  return count;
}

Value StepLowering::makeDense(Value view) {
  MemRefType type = getViewType(view);
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t dense = 1;
  bool isDense = true;
  for (int64_t i = type.getRank() - 1; i > 0; --i) {
    isDense &= strides[i] == dense;
    dense *= type.getDimSize(i);
  }
  if (isDense)
    return view;
  Value output =
      commands.makeBuffer(commands.tokens(), type.getShape().drop_front(), type.getElementType());
  commands.launch(kernels.copy(type, getViewType(output)), {view, output}, commands.tokens(),
                  getRowElements(output));
  return output;
}

LogicalResult StepLowering::lowerReshape(Operation *op, Value input, RankedTensorType result) {
  SmallVector<int64_t> strides;
  int64_t stride = 1;
  for (int64_t size : llvm::reverse(result.getShape().drop_front())) {
    strides.insert(strides.begin(), stride);
    stride *= size;
  }
  Value dense = makeDense(input);
  if (getRowElements(dense) != stride)
    return op->emitOpError() << "can't be lowered: expected the first dimension to stay";
  return mapTo(op, commands.makeView(dense, 0, result.getShape().drop_front(), strides));
}

LogicalResult StepLowering::lowerOp(tensor::ExpandShapeOp op) {
  return lowerReshape(op, get(op.getSrc()), op.getResultType());
}

LogicalResult StepLowering::lowerOp(tensor::CollapseShapeOp op) {
  return lowerReshape(op, get(op.getSrc()), op.getResultType());
}

LogicalResult StepLowering::lowerOp(tensor::ExtractSliceOp op) {
  ArrayRef<int64_t> offsets = op.getStaticOffsets(), steps = op.getStaticStrides();
  bool allRows = offsets.front() == 0 && ShapedType::isDynamic(op.getStaticSizes().front()) &&
                 op.getType().getRank() == op.getSourceType().getRank();
  if (!allRows || llvm::any_of(offsets, ShapedType::isDynamic) ||
      llvm::any_of(steps, [](int64_t step) { return step != 1; }))
    return op.emitOpError() << "can't be lowered: expected a slice of all tokens with static "
                               "offsets and strides of 1";
  Value input = get(op.getSource());
  auto [strides, ignored] = getViewType(input).getStridesAndOffset();
  int64_t offset = 0;
  for (auto [start, stride] : llvm::drop_begin(llvm::zip(offsets, strides)))
    offset += start * stride;
  return mapTo(op, commands.makeView(input, offset, op.getType().getShape().drop_front(),
                                     ArrayRef<int64_t>(strides).drop_front()));
}

LogicalResult StepLowering::lowerOp(tensor::ConcatOp op) {
  if (int64_t(op.getDim()) != op.getResultType().getRank() - 1 || op.getResultType().getRank() < 2)
    return op.emitOpError()
           << "can't be lowered: expected a concatenation along the last of several dimensions";
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    if (commands.isInPlace(op, i))
      continue;
    Value input = get(op.getInputs()[i]), part = commands.getConcatPart(op, i);
    commands.launch(kernels.copy(getViewType(input), getViewType(part)), {input, part},
                    commands.tokens(), getRowElements(part));
  }
  return mapTo(op, commands.getConcatBuffer(op));
}
