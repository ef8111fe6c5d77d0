//===- Passes.td - The passes of the phase lower -----------*- tablegen -*-===//
#ifndef STRATA_PASSES_LOWER_PASSES_TD
#define STRATA_PASSES_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def SetFormats : Pass<"strata-set-formats", "::mlir::ModuleOp"> {
  let summary = "choose the number formats and the page size";
  let description = [{
    Import writes what a model means: f32 everywhere. This pass writes the choices of a compilation: all fields of all caches get
    the element type `cache`, all caches pages of `page-size` tokens, and the module the attribute `strata.compute`.

    Before: `!strata.cache<key 128xf32, page = 64>`.
    After (`cache=bf16 page-size=32`): `!strata.cache<key 128xbf16, page = 32>`.
    Requires: a module of the phase share.
    Does not: change ops; what bf16 rounds is written by `strata-lower-to-commands`. A module that is placed on a machine keeps what it has.
  }];
  let options = [
    Option<"compute", "compute", "std::string", "\"f32\"", "What products, scores and attention round their operands to: f32 or bf16">,
    Option<"cache", "cache", "std::string", "\"f32\"", "The element type of all caches: f32 or bf16">,
    Option<"pageSize", "page-size", "int64_t", "64", "Tokens in a page of every cache">,
  ];
}

def LowerToCommands : Pass<"strata-lower-to-commands", "::mlir::ModuleOp"> {
  let summary = "turn the step into commands on buffers, and kernels";
  let description = [{
    Each op of `@step` becomes commands (`strata.launch` and its kin) on buffers; the code of a `strata.launch` is a function of the
    nested module `@kernels`, made once for all ops that need the same. Slices, reshapes and concatenations become views where
    strides allow it: what only feeds a concatenation is written in place. Rows among the arguments are what `strata.launch_import_rows` takes;
    rows among the results make their `strata.launch_select` `exported`.

    Before: `%y = strata.rms_norm %x weight %w {epsilon = 1.0e-5} : tensor<?x64xf32>, tensor<64xf32>`.
    After: `strata.launch @kernels::@rms_norm_64_…(%x, %w, %y) items <tokens = 1> grain 64 : …`.
    Requires: a module of the phase fuse; `strata.compute` (f32 where it is missing).
    Does not: assign memory (`strata-plan-arena` does), move or fuse anything.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def PlanArena : Pass<"strata-plan-arena", "::mlir::ModuleOp"> {
  let summary = "give each buffer a slot of the arena";
  let description = [{
    Two buffers share a slot when one is dead before the other is first written. A buffer takes the free slot that grows the least
    (best fit, in program order); a slot is as large as its largest buffer, for every size of step.

    Before: `%x = strata.buffer rows <tokens = 1> : memref<?x64xf32>`.
    After: `%x = strata.buffer rows <tokens = 1> slot 3 : memref<?x64xf32>`.
    Requires: the output of `strata-lower-to-commands`.
    Does not: reorder commands.
  }];
}

#endif // STRATA_PASSES_LOWER_PASSES_TD
