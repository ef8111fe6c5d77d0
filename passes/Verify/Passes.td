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
    layers besides; phase `place` knows `tier`, `strata.records`, `strata.own_records` and attention in steps besides, and checks what `strata` and `tier`
    promise each other: resolved and written records are numbers in pages of the home's size, rows of a hot set are read by the slots of the plan that it
    is viewed by, parts of an attention list hits and misses of one plan, records in order go to stages. Phase `lower` knows the commands, `strata.weight`, and in the module of kernels `arith`, `func`, `math`, `memref`, `scf` and
    `vector`.
  }];
  let options = [Option<"phase", "phase", "std::string", "\"input\"", "The phase whose end is checked: input, share, fuse, place or lower">];
}

def TierVerify : Pass<"tier-verify", "::mlir::ModuleOp"> {
  let summary = "check that data move between tiers without races and fit";
  let description = [{
    Follows the values of the dialect `tier` along all paths of each function and reports the first fault at its op. It knows nothing of what is computed, so
    it serves any program that uses the dialect.

    Ready: a value is read after the wait for the transfer that brings it (`tier.present`: before, by the same plan); each transfer is waited for
    exactly once on every path, and nothing that is on its way leaves a function.
    Free: a hot set, table, slot or pending value is used up once; after that neither it nor anything that lies there is used. A slot is given back,
    a hot set gathered into and a home written only when no transfer reads or writes it. An op that takes a row store and gives one of the same
    type works in place.
    Current: a plan is used until its table is resolved again; a hot set goes through each plan of its table, is read by the last one, and is handed out
    together with the table at the same plan; the step's own rows are in the stage before they are read.
    Apart: a hot set has one home and one table, a home has one hot set. The argument attributes `tier.of` and `tier.table` of a hot set, the numbers of the
    arguments, say which; without them the first use does. Stages and reloaded values go home to where they are from.
    Fitting: with the module's attributes `tier.tiers` (names, the near one first) and `tier.capacity` (bytes by name), the sum over these is at most the near
    tier's capacity at each op:
    - always: slots × stride of each hot set that is an argument; the bytes of each `tier.slot`; of each `tier.stage` the stride × `tier.tokens` rounded up to pages;
      of each row store that is an argument and not in `!tier.at` its row's bytes × `tier.batch` × `tier.context` rounded up to pages; `tier.bytes` of ops without operands
      (weights); `tier.workspace` of the function;
    - from an op to its last use, or to the wait for the last transfer that reads it: its `tier.bytes`, unless it is a transfer.
    In a far tier: the row stores and tensors that arguments and `tier.home` say lie there. Sizes that the module doesn't have count as 0.
    Spaces must be far tiers of `tier.tiers`, engines those of `tier.engines` if there is such a list.

    Before and after: the same module.
    Requires: nothing.
    Does not: change anything; follow data of tiers through other control flow than branches, `scf.if`, `scf.for` and ops with one region that runs
    once: it refuses those.
  }];
}

#endif // STRATA_PASSES_VERIFY_PASSES_TD
