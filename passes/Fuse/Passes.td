//===- Passes.td - Passes that join ops --------------------*- tablegen -*-===//
#ifndef STRATA_PASSES_FUSE_PASSES_TD
#define STRATA_PASSES_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def JoinSelect : Pass<"strata-join-select", "::mlir::ModuleOp"> {
  let summary = "join scores and the choice among them";
  let description = [{
    `strata.top_k` of `strata.index_scores` becomes one `strata.select`, so that scores never become a tensor of tokens × length. Between
    the two may stand what leaves the choice as it is:

    - a mask added to the scores (`arith.addf`) that is a constant of zeros. A mask of −∞ needs no other form: `index_scores` gives −∞
      already for what a token doesn't see, and `top_k` looks at what it sees alone;
    - blocks of heads: the sum of several `index_scores` of one cache with one scale, whose queries and head weights are slices that together are all heads of
      one tensor each. Sums are rounded in another order then, as with any fusion;
    - blocks of positions: `tensor.concat` of neighbouring `tensor.extract_slice`s that together are all columns of the scores, of static
      width, since the ops of the phase `input` can't compute another; and a slice of all rows and columns.

    Any other mask, such as an argument, may hide what a token sees. Such a `top_k` stays, with a remark, and `strata-verify-phase` reports
    it at the end of the phase `share`.

    Before: `%s = strata.index_scores %q, %w, %keys[%batch] …`, `%rows = strata.top_k %s[%batch] {k = 8} …`.
    After: `%rows = strata.select %q, %w, %keys[%batch] {k = 8, scale = 0.25} …`.
    Requires: nothing.
    Does not: raise scores that are not written as `strata.index_scores`.

    Remarks of category `strata-join`: each join with the bytes of scores that it saves for each token and visible key (written and read
    once), each `top_k` that stays with the reason.
  }];
}

#endif // STRATA_PASSES_FUSE_PASSES_TD
