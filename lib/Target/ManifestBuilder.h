//===- ManifestBuilder.h - A lowered module as a manifest -------*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_MANIFESTBUILDER_H
#define STRATA_LIB_TARGET_MANIFESTBUILDER_H

#include "strata/lib/Target/KernelTable.h"
#include "strata/lib/Target/Processor.h"

#include <cstdint>
#include <vector>

namespace strata {

/// A manifest (strata-rt/package.fbs) whose blobs are still zero.
struct Manifest {
  std::vector<uint8_t> bytes;
  KernelTable kernels; ///< what its variants must hold
};

/// Describes a module of the phase `lower`: every op of its entry point becomes a command or part
/// of one. The same module gives the same bytes. Errors are diagnostics at the op.
mlir::FailureOr<Manifest> buildManifest(mlir::ModuleOp lowered,
                                        llvm::ArrayRef<Processor> processors);

/// "strata 0.1.0 (LLVM 22.1.8)"
std::string getProducer();

} // namespace strata

#endif // STRATA_LIB_TARGET_MANIFESTBUILDER_H
