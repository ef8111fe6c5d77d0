//===- CpuCode.h - Kernels to shared objects --------------------*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_CPUCODE_H
#define STRATA_LIB_TARGET_CPUCODE_H

#include "strata/lib/Target/LowerKernels.h"
#include "strata/lib/Target/Processor.h"

#include <string>
#include <vector>

namespace strata {

/// Compiles the entries' kernels for each processor: one shared object each (its bytes), in their
/// order, that exports the entries' symbols and nothing else. See `lowerKernels` for what kernels
/// may be. The objects use nothing from outside but memcpy, memmove and memset; a kernel that would
/// is an error that names the kernel and the function. Same input, same bytes.
mlir::FailureOr<std::vector<std::string>> compileKernels(mlir::ModuleOp kernels,
                                                         llvm::ArrayRef<KernelEntry> entries,
                                                         llvm::ArrayRef<Processor> processors);

} // namespace strata

#endif // STRATA_LIB_TARGET_CPUCODE_H
