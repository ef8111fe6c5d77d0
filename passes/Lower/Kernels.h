//===- Kernels.h - Generators of the CPU kernels ----------------*- C++ -*-===//
//
// Each function of KernelModule gives the kernel for some argument types and constants: the one
// that is already in the module, or a new one. A kernel is a func.func over memrefs with two last
// arguments, begin and end (index): the range of items that a call does. Its body is scf, arith,
// math, memref and vector code for one thread; it calls nothing. An item's result doesn't depend on
// the range that it is part of, so chunks, batches and threads give the same bits.
//
// Views: rows first; strides are static, the offset is taken off (the caller passes the pointer to
// the first element). Caches are 1-D memrefs of their elements (all fields of one element type);
// record r of page p is found by the cache's type.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_PASSES_LOWER_KERNELS_H
#define STRATA_PASSES_LOWER_KERNELS_H

#include "strata/dialects/Strata/IR.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace strata {

/// The type of a kernel argument for a buffer or view: the same strides, no offset.
mlir::MemRefType getKernelArgumentType(mlir::MemRefType view);

/// The 1-D memref that a kernel sees of a cache.
mlir::MemRefType getCacheElementsType(CacheType cache);

/// What of an attention a kernel computes.
enum class AttentionPart {
  Whole,
  First, ///< leaves the sum of values, not divided, and the softmax's state
  Last,  ///< goes on from what First left
};

/// The nested module of kernels, filled on demand. Kernels are found again by name; the name holds
/// everything that the body depends on.
class KernelModule {
public:
  explicit KernelModule(mlir::ModuleOp kernels) : kernels(kernels) {}

  /// What attention needs to know of one key source.
  struct Source {
    CacheType cache;
    SelectorAttr selector;
    mlir::MemRefType rows; ///< of a `rows` or `records` selector, null otherwise
    int64_t cacheArgument; ///< sources of the same cache value have the same number, counted from 0
    mlir::MemRefType scores = {}; ///< [?, H, k] if the scores of the rows are known, else null
  };

  // Items are tokens (rows of the output) unless said otherwise. All return the kernel's symbol,
  // nested in the module's.

  /// (ids i32[?], table [V, D] as stored (f32 or bf16), output [?, D])
  mlir::SymbolRefAttr embedding(mlir::MemRefType table, mlir::MemRefType output);
  /// (input, weight f32[D] if `weighted`, output): 2-D or 3-D views; sums in f32 in a fixed order.
  mlir::SymbolRefAttr rmsNorm(mlir::MemRefType input, bool weighted, double epsilon,
                              mlir::MemRefType output);
  /// (input, weight f32[D], bias f32[D], output)
  mlir::SymbolRefAttr layerNorm(mlir::MemRefType input, double epsilon, mlir::MemRefType output);
  /// (input, table f32[?, width]: cosines then sines, output): elements outside [offset, offset +
  /// width) are copied.
  mlir::SymbolRefAttr rope(mlir::MemRefType input, RopeLayout layout, int64_t offset, int64_t width,
                           bool inverse, mlir::MemRefType output);
  /// (input, output)
  mlir::SymbolRefAttr hadamard(mlir::MemRefType input, mlir::MemRefType output);
  /// (a, b, output)
  mlir::SymbolRefAttr add(mlir::MemRefType a, mlir::MemRefType b, mlir::MemRefType output);
  /// (a, b, output)
  mlir::SymbolRefAttr multiply(mlir::MemRefType a, mlir::MemRefType b, mlir::MemRefType output);
  /// (input, output): the same shape, other strides.
  mlir::SymbolRefAttr copy(mlir::MemRefType input, mlir::MemRefType output);
  /// (indices i32[?], input [?, D], output [?, D]): output[i] = input[indices[i]]; items are rows
  /// of the output.
  mlir::SymbolRefAttr gatherRows(mlir::MemRefType input, mlir::MemRefType output);
  /// (gate f32[?], up f32[?], output f32[?]): activation(gate) × up; items are elements.
  mlir::SymbolRefAttr gate(Activation activation);
  /// (rank i32[?], weights f32[?, K], expertRows [?, D], output [?, D]): output[n] = Σ_j weights[n,
  /// j] × expertRows[rank[n·K + j]], j ascending.
  mlir::SymbolRefAttr combineExperts(mlir::MemRefType weights, mlir::MemRefType expertRows,
                                     mlir::MemRefType output);
  /// (positions i32[?], pageBegin i32[?], pages i32[?], one value for each field…, cache): writes
  /// the tokens' records, rounded to the cache's element type.
  mlir::SymbolRefAttr append(CacheType cache, llvm::ArrayRef<mlir::MemRefType> values);
  /// Items are positions of one token: (query f32[H, D], headWeights f32[H], cache, pages i32[?] of
  /// the token's sequence, out f32[?]): out[s − begin] = scale × Σ_h headWeights[h] × max(0,
  /// query[h] · key[s]). `roundQuery`: the query is rounded to bf16 first.
  mlir::SymbolRefAttr indexScores(CacheType cache, int64_t heads, double scale, bool roundQuery);
  /// Items are token × heads + head: (query view [?, H, Dk], one cache for each distinct cache
  /// argument…, rows i32[?, k] for each listed source…, scores f32[?, H, k] for each source whose
  /// scores are known…, sinks f32[H] if `hasSinks`, partial f32[?, H, Dv + 2] if `part` is Last,
  /// positions, pageBegin, pages, output view [?, H, Dv] (Dv + 2 if `part` is First)). With known
  /// scores a key's bits and so the result's are those without.
  mlir::SymbolRefAttr attention(mlir::MemRefType query, llvm::ArrayRef<Source> sources,
                                bool hasSinks, double scale, bool roundQuery,
                                mlir::MemRefType output, AttentionPart part = AttentionPart::Whole);
  /// What the first part of an attention leaves for the last, whose output is given.
  static mlir::MemRefType getPartialType(mlir::MemRefType output);
  /// Items are token × heads + head: (query view [?, H, Dk], cache, rows i32[?, k], positions,
  /// pageBegin, pages, scores f32[?, H, k]): the scores that `attention` would compute of the rows
  /// that count. Writes nothing for the others. `source` gives the types of cache, rows and scores.
  mlir::SymbolRefAttr attentionScores(mlir::MemRefType query, const Source &source, double scale,
                                      bool roundQuery);

  /// A kernel of this module and which of a sequence's arguments it takes.
  struct Call {
    mlir::SymbolRefAttr kernel;
    llvm::SmallVector<unsigned> arguments;
  };
  /// One kernel after the other for `tile` items at a time, so that what one writes the next finds
  /// close by. All have the same items.
  mlir::SymbolRefAttr sequence(llvm::ArrayRef<Call> calls, int64_t tile);

private:
  mlir::ModuleOp kernels;
};

} // namespace strata

#endif // STRATA_PASSES_LOWER_KERNELS_H
