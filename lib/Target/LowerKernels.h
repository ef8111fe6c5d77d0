//===- LowerKernels.h - Kernels to LLVM IR ----------------------*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_LOWERKERNELS_H
#define STRATA_LIB_TARGET_LOWERKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Module.h"

#include <memory>
#include <string>

namespace strata {

/// A kernel that the package exports.
struct KernelEntry {
  /// The function (memrefs…, begin: index, end: index) with a body.
  mlir::func::FuncOp function;
  /// The name of the exported function, see strata-rt/kernel-abi.h. Different for each entry.
  std::string symbol;
};

/// Translates the functions of `kernels`, a module of func, scf, cf, arith, math, index, memref and
/// vector ops, to LLVM IR, and adds for each entry a function `void SYMBOL(void *const *arguments,
/// int64_t begin, int64_t end)` that calls it; nothing else is visible outside. The memrefs must
/// have static strides and no offset; the length of a dimension that is dynamic reads as the
/// largest index. Says what is wrong as diagnostics and returns null. `kernels` stays as it is; its
/// context is given the dialects and interfaces that this needs.
std::unique_ptr<llvm::Module> lowerKernels(mlir::ModuleOp kernels,
                                           llvm::ArrayRef<KernelEntry> entries,
                                           const llvm::DataLayout &layout,
                                           llvm::LLVMContext &llvmContext);

} // namespace strata

#endif // STRATA_LIB_TARGET_LOWERKERNELS_H
