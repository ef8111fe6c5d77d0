//===- Pipeline.h - The phases and the pipeline that runs them --*- C++ -*-===//
#ifndef STRATA_PIPELINE_H
#define STRATA_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace strata {

/// What a module has been through. `--from` and `--to`, the dumps and the documentation take their
/// names from here.
enum class Phase {
  Input, ///< strata ops on tensors: what the model means
  Fuse,  ///< strata.kernel regions: what runs together
  Lower, ///< buffers, commands and kernels: what the runtime executes
  Emit,  ///< a package
};

/// All phases in order, and their names.
llvm::ArrayRef<Phase> getPhases();
llvm::StringRef getPhaseName(Phase phase);
std::optional<Phase> getPhaseByName(llvm::StringRef name);

/// A number format that products round their operands to, or that caches hold.
enum class NumberFormat { F32, BF16 };

/// The choices of a compilation that don't belong to the model.
struct PipelineOptions {
  NumberFormat compute =
      NumberFormat::F32; ///< what products, scores and attention round their operands to
  NumberFormat cache = NumberFormat::F32; ///< element type of all caches
  int64_t pageSize = 64;                  ///< tokens in a page of every cache
};

/// Adds the passes that take a module from the end of phase `from` to the end of phase `to` (Emit
/// adds none: it writes files).
void buildPipeline(mlir::OpPassManager &manager, const PipelineOptions &options, Phase from,
                   Phase to);

/// The formats that a checkpoint's weights ask for when nothing is said: bf16 where any weight of
/// the module is stored as bf16 or narrower than 16 bits, f32 otherwise.
NumberFormat getDefaultFormat(mlir::ModuleOp module);

} // namespace strata

#endif // STRATA_PIPELINE_H
