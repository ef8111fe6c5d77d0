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

/// The use of a tensor by a concatenation along the last dimension that alone uses it, looked for
/// through the end of a kernel; null otherwise.
static OpOperand *getOnlyConcatUse(Value tensor) {
  while (tensor.hasOneUse()) {
    OpOperand &use = *tensor.use_begin();
    if (auto yield = dyn_cast<YieldOp>(use.getOwner())) {
      tensor = yield->getParentOp()->getResult(use.getOperandNumber());
      continue;
    }
    auto concat = dyn_cast<tensor::ConcatOp>(use.getOwner());
    return concat && int64_t(concat.getDim()) == concat.getResultType().getRank() - 1 ? &use
                                                                                      : nullptr;
  }
  return nullptr;
}

Value CommandBuilder::makeOutput(Value tensor) {
  if (OpOperand *use = getOnlyConcatUse(tensor))
    return getConcatPart(cast<tensor::ConcatOp>(use->getOwner()), use->getOperandNumber());
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
  if (keepsLaunches) {
    assert(items == tokens() && "a sequence goes row by row");
    keptLaunches.push_back({kernel, llvm::to_vector(arguments), itemElements});
    return;
  }
  command<LaunchOp>(kernel, arguments, items, std::max<int64_t>(kTaskElements / itemElements, 1));
}

void CommandBuilder::endSequence(KernelModule &kernels) {
  keepsLaunches = false;
  SmallVector<KeptLaunch> launches = std::exchange(keptLaunches, {});
  if (launches.size() == 1) {
    launch(launches.front().kernel, launches.front().arguments, tokens(),
           launches.front().itemElements);
    return;
  }
  // Of an argument that several kernels take with different types (a buffer and the view of it that
  // has all its elements) each type is an argument of its own; a value's type says which.
  llvm::SetVector<Value> arguments;
  SmallVector<KernelModule::Call> calls;
  int64_t itemElements = 0;
  for (const KeptLaunch &kept : launches) {
    calls.push_back({kept.kernel, {}});
    for (Value argument : kept.arguments) {
      arguments.insert(argument);
      calls.back().arguments.push_back(llvm::find(arguments, argument) - arguments.begin());
    }
    itemElements += kept.itemElements;
  }
  constexpr int64_t kTileElements = 16384; // rows of a tile stay in the first levels of cache
  SymbolRefAttr kernel =
      kernels.sequence(calls, std::max<int64_t>(kTileElements / itemElements, 1));
  launch(kernel, arguments.getArrayRef(), tokens(), itemElements);
}

void CommandBuilder::product(Value input, ValueRange weights, ValueRange biases, Value residual,
                             ValueRange outputs, SizeAttr rows, bool transposed, Type operands) {
  command<LaunchProductOp>(input, weights, biases, residual, outputs, rows, transposed, operands);
}
