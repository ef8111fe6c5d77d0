//===- Pipeline.h - The phases and the pipeline that runs them --*- C++ -*-===//
#ifndef STRATA_PIPELINE_H
#define STRATA_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace strata {

/// What a module has been through. `--from` and `--to`, the dumps and the documentation take their
/// names from here.
enum class Phase {
  Input, ///< strata ops on tensors: what the model means
  Share, ///< one strata.select for each group of layers that use its rows
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

/// What changes results beyond rounding, and so must be allowed by name.
enum class Approximation {
  Sharing, ///< layers use rows that the model was not trained to share
};

/// The choices of a compilation that don't belong to the model.
struct PipelineOptions {
  NumberFormat compute =
      NumberFormat::F32; ///< what products, scores and attention round their operands to
  NumberFormat cache = NumberFormat::F32; ///< element type of all caches
  bool fuse = true;      ///< false: each op is a launch of its own, to compare with
  int64_t pageSize = 64; ///< tokens in a page of every cache
  std::string schedule =
      "declared"; ///< which layers use whose rows, as strata-share-index takes it
  std::vector<Approximation> allowed = {}; ///< by --allow-approximate
  bool importRows = false;                 ///< rows are an input of the program: it has no indexer
  bool exportRows = false;                 ///< rows are a result of the program
};

/// Adds the passes that take a module from the end of phase `from` to the end of phase `to` (Emit
/// adds none: it writes files).
void buildPipeline(mlir::OpPassManager &manager, const PipelineOptions &options, Phase from,
                   Phase to);

/// Adds the pass with which phase lower begins: it writes the number formats and the page size into
/// the module, and changes no op. Lowering afterwards is the same as without.
void buildFormats(mlir::OpPassManager &manager, const PipelineOptions &options);

/// The formats that a checkpoint's weights ask for when nothing is said: bf16 where any weight of
/// the module is stored as bf16 or narrower than 16 bits, f32 otherwise.
NumberFormat getDefaultFormat(mlir::ModuleOp module);

} // namespace strata

#endif // STRATA_PIPELINE_H
