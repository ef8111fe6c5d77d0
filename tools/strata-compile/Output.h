//===- Output.h - Where strata-compile writes -------------------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATACOMPILE_OUTPUT_H
#define STRATA_TOOLS_STRATACOMPILE_OUTPUT_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace strata {

/// The module as text that ends with a line break.
std::string getText(mlir::ModuleOp module);

/// Writes a file whole or not at all; "-" is standard output. An error is told on standard error.
mlir::LogicalResult write(llvm::StringRef content, const std::string &path);

} // namespace strata

#endif // STRATA_TOOLS_STRATACOMPILE_OUTPUT_H
