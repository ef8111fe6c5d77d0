//===- Passes.td - Passes that join ops --------------------*- tablegen -*-===//
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
    Does not: fuse these parts with others; `strata-fuse-kernels` does.

    Remarks (category `strata-fuse`): one for each, since gate, up and activation stay one launch, with the bytes of a token that this saves.
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

def JoinSelect : Pass<"strata-join-select", "::mlir::ModuleOp"> {
  let summary = "join scores and the choice among them";
  let description = [{
    `strata.top_k` of `strata.index_scores` becomes one `strata.select`, so that scores never become a tensor of tokens × length. Between
    the two may stand what leaves the choice as it is:

    - a mask, added (`arith.addf`) or chosen by (`arith.select`), that provably leaves each score that a token sees. That is a constant of zeros, or
      what compares columns with the batch's own `strata.positions`, written with `arith` on tensors, `linalg.generic`, `linalg.broadcast` or
      `tensor.generate`. What a mask does to the rest doesn't matter: `top_k` looks at what a token sees alone;
    - blocks of heads: the sum of several `index_scores` of one cache with one scale, whose queries and head weights are slices that together are all heads of
      one tensor each. Sums are rounded in another order then, as with any fusion;
    - blocks of positions or of tokens: `tensor.concat` of neighbouring `tensor.extract_slice`s that together are all of the scores, of static
      size; and a slice of all rows and columns.

    Any other mask, such as an argument, a constant or one that leaves out a token's own position, may hide what a token sees. Such a `top_k` stays, with a
    remark, and `strata-verify-phase` reports it at the end of the phase `share`. Masks that are computed are not part of the phase
    `input`: run this pass before `strata-compile`.

    Before: `%s = strata.index_scores %q, %w, %keys[%batch] …`, `%rows = strata.top_k %s[%batch] {k = 8} …`.
    After: `%rows = strata.select %q, %w, %keys[%batch] {k = 8, scale = 0.25} …`.
    Requires: nothing.
    Does not: raise scores that are not written as `strata.index_scores`.

    Remarks of category `strata-join`: each join with the bytes of scores that it saves for each token and visible key (written and read
    once), each `top_k` that stays with the reason.
  }];
}

#endif // STRATA_PASSES_FUSE_PASSES_TD
