//===- Passes.td - The passes of the phase fuse ------------*- tablegen -*-===//
#ifndef STRATA_PASSES_FUSE_PASSES_TD
#define STRATA_PASSES_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitFeedForward : Pass<"strata-split-feed-forward", "::mlir::ModuleOp"> {
  let summary = "take gated MLPs and mixtures apart";
  let description = [{
    A gated MLP is two products that share an input, and one more; a mixture ends with a sum. Taken apart, the last product can take up
    a residual, and the sum can run with its neighbours.

    Before: `strata.gated_mlp`, `strata.mixture_of_experts`.
    After: `strata.gated_linear` and `strata.linear`; `strata.expert_outputs` and `strata.combine_experts`.
    Requires: nothing.
    Does not: fuse anything.
  }];
}

def FuseKernels : Pass<"strata-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "decide which ops run in one launch";
  let description = [{
    Puts ops of `@step` into `strata.kernel` regions, each one launch, where that saves traffic of activations. Candidates are
    products of one input; a product and the residual that it is added to; norms, rotations, sums and appends that feed each other;
    and attention with the absorption in front and the expansion behind. Each has the bytes that it saves in a step of `tokens`
    tokens; the greatest saving is taken first, and an op is in one kernel at most. A candidate is left when its kernel would keep more than
    `on-chip-bytes` of intermediate values for a row, or when a value would leave the kernel and come back.

    Before: ops one by one.
    After: `strata.kernel rows { … }`, `strata.kernel products { … }`, `strata.kernel heads { … }`.
    Requires: `strata-split-feed-forward` for the feed-forward parts to take part.
    Does not: change what is computed, bit for bit, when compiled for the same target.

    Remarks (category `strata-fuse`): one for each kernel with its ops and the bytes saved; one for each chance missed, with the reason.
  }];
  let options = [
    Option<"tokens", "tokens", "int64_t", "1", "Tokens of the step that bytes are counted for">,
    Option<"onChipBytes", "on-chip-bytes", "int64_t", "262144", "Intermediate values that a kernel may keep for a row">,
  ];
}

#endif // STRATA_PASSES_FUSE_PASSES_TD
