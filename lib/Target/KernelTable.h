//===- KernelTable.h - The kernels that a package exports -------*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_KERNELTABLE_H
#define STRATA_LIB_TARGET_KERNELTABLE_H

#include "strata/lib/Target/LowerKernels.h"

#include "llvm/ADT/StringSet.h"

#include <vector>

namespace strata {

/// Numbers the kernels that commands name, in the order of their first use. Functions that differ
/// in nothing but their name are one kernel.
class KernelTable {
public:
  /// The kernel's number. All kernels lie in one module; errors are diagnostics at the command,
  /// which was verified.
  mlir::FailureOr<int32_t> getNumber(mlir::Operation *command, mlir::SymbolRefAttr name);

  /// Of the function: its arguments, then the range of items.
  llvm::ArrayRef<mlir::Type> getArgumentTypes(int32_t number) {
    return entries[size_t(number)].function.getArgumentTypes();
  }

  llvm::ArrayRef<KernelEntry> getEntries() const { return entries; }
  /// The module that holds all entries; null if there are none.
  mlir::ModuleOp getModule() const { return module; }

private:
  /// The name that the package gives a kernel: letters, digits and underscores.
  std::string makeSymbol(llvm::StringRef name);

  std::vector<KernelEntry> entries;
  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Attribute, int32_t> numbersByName;
  llvm::StringMap<int32_t> numbersByText;
  llvm::StringSet<> symbols;
};

} // namespace strata

#endif // STRATA_LIB_TARGET_KERNELTABLE_H
