//===- WritePackage.h - From a lowered module to a package file -*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_WRITEPACKAGE_H
#define STRATA_LIB_TARGET_WRITEPACKAGE_H

#include "strata/lib/Target/Processor.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace strata {

/// The phase `emit`: compiles the kernels of a module of the phase `lower` for each processor
/// (levels differ), and writes the package. `inputModule` is MLIR bytecode of the phase `input`, or
/// empty. Errors are diagnostics; after one there is no file, or the file that was there.
mlir::LogicalResult writePackage(mlir::ModuleOp lowered, llvm::ArrayRef<Processor> processors,
                                 llvm::StringRef inputModule, llvm::StringRef path);

/// Bytecode of a module, without locations: they name files of the machine that compiles.
std::string getBytecode(mlir::ModuleOp module);

} // namespace strata

#endif // STRATA_LIB_TARGET_WRITEPACKAGE_H
