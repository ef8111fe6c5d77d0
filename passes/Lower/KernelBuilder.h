//===- KernelBuilder.h - Building blocks of the CPU kernels -----*- C++ -*-===//
//
// What all generators share: a function with its loops over items and features, loads and stores of
// f32 vectors, sums in one fixed order, and the few functions that kernels need without calling any
// library. Everything is correct on every x86-64: bf16 is converted by integer operations, and no
// op is used whose lowering may call the math library.
//
// Features are walked in chunks of 16 lanes, whatever the processor, and a last, shorter chunk. So
// sums have the same order everywhere, and a vector never reaches beyond the elements that the
// kernel may touch. Views have a last stride of 1.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_PASSES_LOWER_KERNELBUILDER_H
#define STRATA_PASSES_LOWER_KERNELBUILDER_H

#include "strata/passes/Lower/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace strata {

/// Lanes of a full chunk of features and of every accumulator.
constexpr int64_t chunkLanes = 16;

/// Collects everything that a kernel's body depends on into the kernel's name.
class KernelName {
public:
  explicit KernelName(llvm::StringRef kind) : text(kind) {}
  KernelName &word(llvm::StringRef word);
  KernelName &integer(llvm::StringRef label, int64_t value);
  /// The shortest digits that give `value` back.
  KernelName &real(llvm::StringRef label, double value);
  /// Dimensions without a leading dynamic one, strides if there are gaps, element type if it isn't
  /// f32.
  KernelName &view(mlir::MemRefType type);
  KernelName &cache(CacheType cache);
  /// The name; a long one is cut and ends in a hash of the whole.
  std::string str() const;

private:
  std::string text;
};

/// The last dimension of a memref from `indices` on (the last index is that of element 0).
struct KernelRow {
  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 3> indices;
};

/// Builds the body of one kernel; an OpBuilder whose insertion point moves into and out of the
/// loops.
class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Body = llvm::function_ref<void(mlir::Value position)>;
  using ReducingBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value position, mlir::ValueRange accumulators)>;
  using ChunkBody = llvm::function_ref<void(mlir::Value position, int64_t lanes)>;
  using ReducingChunkBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value position, int64_t lanes, mlir::ValueRange accumulators)>;

  /// Starts the body of `function`, whose last two arguments are the range of items.
  explicit KernelBuilder(mlir::func::FuncOp function);

  mlir::Value argument(unsigned number) { return function.getArgument(number); }
  mlir::Value begin() { return function.getArgument(function.getNumArguments() - 2); }
  mlir::Value end() { return function.getArgument(function.getNumArguments() - 1); }
  /// A buffer on the stack, allocated once, at the function's entry.
  mlir::Value stackBuffer(int64_t elements, mlir::Type elementType);

  // Constants.
  mlir::Value index(int64_t value);
  mlir::Value real(double value) { return splat(value, 0); }
  /// An f32 vector of `lanes` equal elements, a scalar if `lanes` is 0.
  mlir::Value splat(double value, int64_t lanes);
  /// An i32 vector or scalar like the f32 value `like`.
  mlir::Value integersLike(int32_t value, mlir::Value like);
  mlir::VectorType floats(int64_t lanes) { return mlir::VectorType::get({lanes}, getF32Type()); }

  // Control.
  void loop(mlir::Value from, mlir::Value to, int64_t step, Body body);
  llvm::SmallVector<mlir::Value> loop(mlir::Value from, mlir::Value to, int64_t step,
                                      mlir::ValueRange initial, ReducingBody body);
  void forEachItem(Body body) { loop(begin(), end(), 1, body); }
  /// The rows of an item of `view`: one if it is 2-D, one for each head if it is 3-D. Gives the
  /// indices in front of the features'.
  void forEachRow(mlir::MemRefType view, mlir::Value item,
                  llvm::function_ref<void(llvm::ArrayRef<mlir::Value> leading)> body);
  void forEachChunk(int64_t width, ChunkBody body);
  llvm::SmallVector<mlir::Value> reduceChunks(int64_t width, mlir::ValueRange initial,
                                              ReducingChunkBody body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  /// `body` gives the value where the condition holds; it is `otherwise` elsewhere.
  mlir::Value ifThenElse(mlir::Value condition, mlir::Value otherwise,
                         llvm::function_ref<mlir::Value()> body);

  // Index arithmetic.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return b == 0 ? a : add(a, index(b)); }
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, int64_t b);
  /// Of numbers that are not negative.
  mlir::Value quotient(mlir::Value a, int64_t b);
  mlir::Value remainder(mlir::Value a, int64_t b);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  mlir::Value maximum(mlir::Value a, mlir::Value b);
  mlir::Value isLess(mlir::Value a, mlir::Value b);

  // f32 scalars and vectors. Products may be fused with sums; the order of sums is as written.
  mlir::Value addFloats(mlir::Value a, mlir::Value b);
  mlir::Value subtractFloats(mlir::Value a, mlir::Value b);
  mlir::Value multiplyFloats(mlir::Value a, mlir::Value b);
  mlir::Value divideFloats(mlir::Value a, mlir::Value b);
  /// `a` where the comparison holds, `b` elsewhere.
  mlir::Value selectFloats(mlir::arith::CmpFPredicate predicate, mlir::Value left,
                           mlir::Value right, mlir::Value a, mlir::Value b);
  /// The greater one; b if one is NaN.
  mlir::Value greaterFloat(mlir::Value a, mlir::Value b);
  mlir::Value broadcast(mlir::Value scalar, int64_t lanes);
  /// `vector` with zeros behind it up to 16 lanes.
  mlir::Value widen(mlir::Value vector);
  mlir::Value shuffle(mlir::Value a, mlir::Value b, llvm::ArrayRef<int64_t> lanes);
  /// One vector or scalar from the lanes of a 16-lane vector: halves are combined until one lane is
  /// left.
  mlir::Value reduce(mlir::Value vector,
                     llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);
  mlir::Value sum(mlir::Value vector);
  /// e^x within about 1 ulp: 0 and subnormal numbers below, infinity above, NaN for NaN.
  mlir::Value exponential(mlir::Value x);
  /// The nearest bf16 number, ties to even, as f32.
  mlir::Value roundToBF16(mlir::Value x);

  // Memory.
  mlir::Value loadIndex(mlir::Value memref, mlir::ValueRange indices);
  mlir::Value loadFloat(mlir::Value memref, mlir::ValueRange indices);
  void storeFloat(mlir::Value value, mlir::Value memref, mlir::ValueRange indices);
  KernelRow row(mlir::Value memref, llvm::ArrayRef<mlir::Value> leading);
  /// `lanes` elements from `position` of the row on, f32 or bf16 in memory, as f32.
  mlir::Value load(const KernelRow &row, mlir::Value position, int64_t lanes);
  /// Writes an f32 vector, rounded to the memory's element type.
  void store(mlir::Value vector, const KernelRow &row, mlir::Value position);
  /// Copies elements of any type.
  void copy(const KernelRow &source, const KernelRow &destination, int64_t width);

private:
  llvm::SmallVector<mlir::Value, 3> at(const KernelRow &row, mlir::Value position);
  /// The bits of a bf16 value, in the low half of an i32 of the same lanes.
  mlir::Value bf16Bits(mlir::Value x);
  mlir::Type integerTypeLike(mlir::Type floatType, unsigned bits);

  mlir::func::FuncOp function;
};

/// The kernel called `name` of the module; `build` fills it if it isn't there yet.
mlir::SymbolRefAttr getOrBuildKernel(mlir::ModuleOp kernels, const KernelName &name,
                                     llvm::ArrayRef<mlir::Type> arguments,
                                     llvm::function_ref<void(KernelBuilder &)> build);

/// memref<?xi32>: positions, pages, token ids and the like.
mlir::MemRefType getIntegersType(mlir::MLIRContext *context);
/// memref<WIDTHxf32>: a weight vector.
mlir::MemRefType getFloatsType(mlir::MLIRContext *context, int64_t width);

} // namespace strata

#endif // STRATA_PASSES_LOWER_KERNELBUILDER_H
