//===- Passes.td - The verifiers between phases ------------*- tablegen -*-===//
#ifndef STRATA_PASSES_VERIFY_PASSES_TD
#define STRATA_PASSES_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyPhase : Pass<"strata-verify-phase", "::mlir::ModuleOp"> {
  let summary = "check that a module is what a phase promises";
  let description = [{
    Reports, at the op: an op that the phase doesn't know; a module without its entry or attributes; a cache value with two
    appends, or used after its append; a tensor of tokens × length at the end of `share` or later; a buffer without a slot at the end of `lower`.

    Before and after: the same module.
    Requires: nothing.
    Does not: change anything.

    Phase `input` knows the model's ops of `strata`, and of the rest `func.func`, `func.return`, `arith.addf`, `arith.mulf`,
    `arith.constant`, `tensor.dim`, `tensor.extract_slice`, `tensor.expand_shape`, `tensor.collapse_shape` and `tensor.concat`.
    Phase `share` knows the same but `strata.index_scores` and `strata.top_k`; phase `fuse` knows `strata.kernel` and the parts of feed-forward
    layers besides. Phase `lower` knows the commands, `strata.weight`, and in the module of kernels `arith`, `func`, `math`, `memref`, `scf` and
    `vector`.
  }];
  let options = [Option<"phase", "phase", "std::string", "\"input\"", "The phase whose end is checked: input, share, fuse, place or lower">];
}

#endif // STRATA_PASSES_VERIFY_PASSES_TD
