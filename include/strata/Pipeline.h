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
  Place, ///< memory tiers in the types, transfers and waits
  Lower, ///< buffers, commands and kernels: what the runtime executes
  Emit,  ///< a package
};

/// All phases in order, and their names.
llvm::ArrayRef<Phase> getPhases();
llvm::StringRef getPhaseName(Phase phase);
std::optional<Phase> getPhaseByName(llvm::StringRef name);

/// A number format that products round their operands to, or that caches hold.
enum class NumberFormat { F32, BF16 };

/// What changes results, and so must be allowed by name.
enum class Approximation {
  Sharing,       ///< layers use rows that the model was not trained to share
  SplitRounding, ///< attention in two parts: sums in another order, by what lies in near memory
};

/// The machine that a program is placed for, and what the plan assumes.
struct PlacementOptions {
  std::string machine;    ///< a shipped one's name or a file; empty: everything in one memory
  uint64_t nearBytes = 0; ///< of the near tier; 0: what the machine has
  int64_t context = 0;    ///< positions of a sequence; 0: the model's
  int64_t batch = 1;      ///< sequences
  int64_t tokens = 0;     ///< the most tokens of a step; 0: 256, or `batch` if that is more
  std::string trace;      ///< rows of a run, which tell how often hot sets miss; empty: as published
  std::string readPlan;   ///< a plan.json to follow instead of planning
  std::string writePlan;  ///< where the plan goes as plan.json
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
  PlacementOptions placement = {};
  bool splitAttention = false; ///< hits and misses are attended to apart; needs SplitRounding
};

/// Adds the passes that take a module from the end of phase `from` to the end of phase `to` (Emit
/// adds none: it writes files).
void buildPipeline(mlir::OpPassManager &manager, const PipelineOptions &options, Phase from,
                   Phase to);

/// Adds the pass that writes the number formats and the page size into the module, and changes no
/// op. Phase place begins with it where there is a machine, otherwise phase lower. Lowering
/// afterwards is the same as without.
void buildFormats(mlir::OpPassManager &manager, const PipelineOptions &options);

/// The formats that a checkpoint's weights ask for when nothing is said: bf16 where any weight of
/// the module is stored as bf16 or narrower than 16 bits, f32 otherwise.
NumberFormat getDefaultFormat(mlir::ModuleOp module);

} // namespace strata

#endif // STRATA_PIPELINE_H
