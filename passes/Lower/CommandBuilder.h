//===- CommandBuilder.h - Buffers, views and launches -----------*- C++ -*-===//
#ifndef STRATA_PASSES_LOWER_COMMANDBUILDER_H
#define STRATA_PASSES_LOWER_COMMANDBUILDER_H

#include "strata/dialects/Strata/IR.h"
#include "strata/passes/Lower/Kernels.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

#include <map>

namespace strata {

/// Makes the host ops of a lowered step, and keeps what each tensor of the step became: a buffer, a
/// view of one, a weight or an array of the runtime.
class CommandBuilder {
public:
  CommandBuilder(mlir::OpBuilder builder, mlir::Value batch) : builder(builder), batch(batch) {}

  /// The op whose commands are made next: gives them its location and layer.
  void setSource(mlir::Operation *op) { source = op; }

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return source->getLoc(); }

  /// What `value` of the step became.
  mlir::Value lookup(mlir::Value value) const { return values.lookup(value); }
  void map(mlir::Value value, mlir::Value lowered) { values[value] = lowered; }

  /// A new buffer with `rows` rows of the given shape.
  mlir::Value makeBuffer(SizeAttr rows, llvm::ArrayRef<int64_t> rowShape, mlir::Type elementType);
  /// The place where an op writes its result, a tensor with a row for each token (or each wanted
  /// one): a new buffer, or a view of the buffer of the concatenation that alone uses the result.
  mlir::Value makeOutput(mlir::Value tensor);
  /// A view of `base` with the given row shape, inner strides and offset (elements).
  mlir::Value makeView(mlir::Value base, int64_t offset, llvm::ArrayRef<int64_t> rowShape,
                       llvm::ArrayRef<int64_t> innerStrides);
  /// The buffer that a concatenation fills.
  mlir::Value getConcatBuffer(mlir::tensor::ConcatOp concat);
  /// Whether the lowered `operand` already lies in its place in the concatenation's buffer.
  bool isInPlace(mlir::tensor::ConcatOp concat, unsigned operand);
  /// The place of an operand in the concatenation's buffer.
  mlir::Value getConcatPart(mlir::tensor::ConcatOp concat, unsigned operand);

  /// An array of the runtime.
  mlir::Value getStepArray(StepArray kind);
  /// The cosines and sines of a rotary embedding; computed once for each table and width.
  mlir::Value getRopeTable(RopeAttr table, int64_t width);

  SizeAttr tokens(int64_t count = 1) { return SizeAttr::get(builder.getContext(), count, 0, 0); }
  SizeAttr wanted() { return SizeAttr::get(builder.getContext(), 0, 1, 0); }
  SizeAttr fixed(int64_t count) { return SizeAttr::get(builder.getContext(), 0, 0, count); }

  /// Launches a kernel over `items`, in pieces of about the same work whatever the size of an item:
  /// `itemElements` of it.
  void launch(mlir::SymbolRefAttr kernel, mlir::ValueRange arguments, SizeAttr items,
              int64_t itemElements);
  /// outputs = input · weights (+ biases) (+ residual); see strata.launch_product.
  void product(mlir::Value input, mlir::ValueRange weights, mlir::ValueRange biases,
               mlir::Value residual, mlir::ValueRange outputs, SizeAttr rows, bool transposed,
               mlir::Type operands);

  /// From here on launches are kept back …
  void beginSequence() { keepsLaunches = true; }
  /// … and become one launch here, row by row. They all have the tokens as items.
  void endSequence(KernelModule &kernels);

  /// Makes a command and labels it.
  template <typename Op, typename... Args> Op command(Args &&...args) {
    Op op = Op::create(builder, getLoc(), std::forward<Args>(args)...);
    if (mlir::Attribute layer = source->getDiscardableAttr("strata.layer"))
      op->setDiscardableAttr("strata.layer", layer);
    return op;
  }

private:
  struct KeptLaunch {
    mlir::SymbolRefAttr kernel;
    llvm::SmallVector<mlir::Value> arguments;
    int64_t itemElements;
  };

  mlir::OpBuilder builder;
  mlir::Value batch;
  mlir::Operation *source = nullptr;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  llvm::DenseMap<mlir::Operation *, mlir::Value> concatBuffers;
  std::map<StepArray, mlir::Value> stepArrays;
  llvm::SmallVector<std::tuple<RopeAttr, int64_t, mlir::Value>> ropeTables;
  bool keepsLaunches = false;
  llvm::SmallVector<KeptLaunch> keptLaunches;
};

/// The memref type of a lowered value.
inline mlir::MemRefType getViewType(mlir::Value value) {
  return mlir::cast<mlir::MemRefType>(value.getType());
}

} // namespace strata

#endif // STRATA_PASSES_LOWER_COMMANDBUILDER_H
