//===- CommandBuilder.cpp - Buffers, views and launches -------------------===//
#include "strata/passes/Lower/CommandBuilder.h"

using namespace mlir;
using namespace strata;

/// What one task of a launch does at least: enough elements to outweigh handing it to a thread.
static constexpr int64_t kTaskElements = 16384;

Value CommandBuilder::makeBuffer(SizeAttr rows, ArrayRef<int64_t> rowShape, Type elementType) {
  bool isFixed = rows.getTokens() == 0 && rows.getWanted() == 0;
  SmallVector<int64_t> shape{isFixed ? rows.getFixed() : ShapedType::kDynamic};
  llvm::append_range(shape, rowShape);
  return BufferOp::create(builder, getLoc(), MemRefType::get(shape, elementType), rows,
                          IntegerAttr());
}

/// The concatenation that alone uses a tensor, along the last dimension; null otherwise.
static tensor::ConcatOp getOnlyConcat(Value tensor) {
  if (!tensor.hasOneUse())
    return {};
  auto concat = dyn_cast<tensor::ConcatOp>(*tensor.user_begin());
  if (!concat || int64_t(concat.getDim()) != concat.getResultType().getRank() - 1)
    return {};
  return concat;
}

Value CommandBuilder::makeOutput(Value tensor) {
  if (tensor::ConcatOp concat = getOnlyConcat(tensor))
    return getConcatPart(concat, tensor.use_begin()->getOperandNumber());
  auto type = cast<RankedTensorType>(tensor.getType());
  SizeAttr rows = isa_and_nonnull<LogitsOp>(tensor.getDefiningOp()) ? wanted() : tokens();
  return makeBuffer(rows, type.getShape().drop_front(), type.getElementType());
}

Value CommandBuilder::makeView(Value base, int64_t offset, ArrayRef<int64_t> rowShape,
                               ArrayRef<int64_t> innerStrides) {
  MemRefType baseType = getViewType(base);
  auto [baseStrides, baseOffset] = baseType.getStridesAndOffset();
  SmallVector<int64_t> shape{baseType.getDimSize(0)}, strides{baseStrides.front()};
  llvm::append_range(shape, rowShape);
  llvm::append_range(strides, innerStrides);
  auto layout = StridedLayoutAttr::get(builder.getContext(), baseOffset + offset, strides);
  auto type = MemRefType::get(shape, baseType.getElementType(), layout);
  return ViewOp::create(builder, getLoc(), type, base, offset);
}

Value CommandBuilder::getConcatBuffer(tensor::ConcatOp concat) {
  Value &buffer = concatBuffers[concat];
  if (!buffer)
    buffer = makeBuffer(tokens(), concat.getResultType().getShape().drop_front(),
                        concat.getResultType().getElementType());
  return buffer;
}

static int64_t getConcatOffset(tensor::ConcatOp concat, unsigned operand) {
  int64_t offset = 0;
  for (Value input : concat.getInputs().take_front(operand))
    offset += cast<ShapedType>(input.getType()).getShape().back();
  return offset;
}

Value CommandBuilder::getConcatPart(tensor::ConcatOp concat, unsigned operand) {
  Value buffer = getConcatBuffer(concat);
  auto part = cast<RankedTensorType>(concat.getInputs()[operand].getType());
  auto [strides, offset] = getViewType(buffer).getStridesAndOffset();
  return makeView(buffer, getConcatOffset(concat, operand), part.getShape().drop_front(),
                  ArrayRef<int64_t>(strides).drop_front());
}

bool CommandBuilder::isInPlace(tensor::ConcatOp concat, unsigned operand) {
  auto view = lookup(concat.getInputs()[operand]).getDefiningOp<ViewOp>();
  return view && view.getSource() == concatBuffers.lookup(concat) &&
         int64_t(view.getOffset()) == getConcatOffset(concat, operand);
}

Value CommandBuilder::getStepArray(StepArray kind) {
  Value &array = stepArrays[kind];
  if (!array)
    array = StepArrayOp::create(builder, getLoc(),
                                MemRefType::get({ShapedType::kDynamic}, builder.getI32Type()), kind,
                                batch);
  return array;
}

Value CommandBuilder::getRopeTable(RopeAttr table, int64_t width) {
  for (auto [knownTable, knownWidth, buffer] : ropeTables)
    if (knownTable == table && knownWidth == width)
      return buffer;
  Value buffer = makeBuffer(tokens(), {width}, builder.getF32Type());
  LaunchRopeTableOp::create(builder, getLoc(), buffer, table,
                            width); // of no layer: the layers share it
  ropeTables.push_back({table, width, buffer});
  return buffer;
}

void CommandBuilder::launch(SymbolRefAttr kernel, ValueRange arguments, SizeAttr items,
                            int64_t itemElements) {
  command<LaunchOp>(kernel, arguments, items, std::max<int64_t>(kTaskElements / itemElements, 1));
}

void CommandBuilder::product(Value input, Value weight, Value bias, Value output, SizeAttr rows,
                             bool transposed, Type operands) {
  command<LaunchProductOp>(input, weight, bias, output, rows, transposed, operands);
}
