//===- EmitPackage.h - From a lowered module to a package --------*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_EMITPACKAGE_H
#define STRATA_LIB_TARGET_EMITPACKAGE_H

#include "strata/lib/Target/Processor.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace strata {

/// Shared objects that were compiled before, one for each processor, by the kernels' text. For
/// callers who emit many packages for the same processors.
using KernelCache = std::map<std::string, std::vector<std::string>>;

/// The phase `emit`: compiles the kernels of a module of the phase `lower` for each processor
/// (levels differ) and gives the bytes of the package file. `inputModule` is MLIR bytecode of the
/// phase `input`, or empty. The same arguments give the same bytes. Errors are diagnostics. With a
/// cache the same kernels are compiled once.
mlir::FailureOr<std::string> emitPackage(mlir::ModuleOp lowered,
                                         llvm::ArrayRef<Processor> processors,
                                         llvm::StringRef inputModule, KernelCache *cache = nullptr);

/// Bytecode of a module, without locations: they name files of the machine that compiles.
std::string getBytecode(mlir::ModuleOp module);

} // namespace strata

#endif // STRATA_LIB_TARGET_EMITPACKAGE_H
