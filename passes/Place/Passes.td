//===- Passes.td - The passes of the phase place -----------*- tablegen -*-===//
#ifndef STRATA_PASSES_PLACE_PASSES_TD
#define STRATA_PASSES_PLACE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Place : Pass<"strata-place", "::mlir::ModuleOp"> {
  let summary = "decide where buffers lie and how they come";
  let description = [{
    Plans for a machine (lib/Machine; docs/machines.md) with `near-bytes` of near memory: what of weights and caches stays there, and how the rest
    comes when it is needed. The plan is made for steps of `batch` sequences with `context` positions each; `tokens` is the most tokens of a step.
    Where all fits, only attributes of the module change: nothing is looked up.

    - A cache that one attention reads by rows and nothing else keeps its home in the far tier and a hot set in the near one. The rows of a group are
      resolved once, by its first layer; the others replay the plan. The first layer computes the scores of the hits while the misses are on their way
      (`split-attention`: their whole attention, which changes rounding).
    - Index keys that one indexer scores stream through two blocks. Records of the step go to a stage and are written home.
    - Any other cache is copied to a staging pool and its new records are written back.
    - A weight is copied to a slot that others use before and after it.

    Before: `%kv1 = strata.append %kv0[%batch], %latent`, `strata.attention %q over (%kv1 rows %rows)[%batch]`.
    After: `tier.resolve`, `tier.gather`, `tier.wait` and `tier.view` around `strata.attention %q over (%hot records %slots)[%batch]`; caches of `@step`
    are `!tier.at<"ddr", …>`, followed by its tables and hot sets.
    Requires: a module of the phase fuse with its number formats (`strata-set-formats`).
    Does not: move transfers to where they are hidden; `strata-schedule-transfers` does.

    Remarks (category `strata-place`): one for each cache, group and kind of weights with what was decided; the plan's time; what more memory or a
    faster link would save; cuts between layers that a pipeline can be divided at.
  }];
  let options = [
    Option<"machineName", "machine", "std::string", "\"\"", "A shipped machine's name or a file">,
    Option<"nearBytes", "near-bytes", "uint64_t", "0", "Bytes of the near tier; 0: what the machine has">,
    Option<"context", "context", "int64_t", "0", "Positions of a sequence; 0: the model's">,
    Option<"batch", "batch", "int64_t", "1", "Sequences">,
    Option<"tokens", "tokens", "int64_t", "0", "The most tokens of a step; 0: 256, or the batch if that is more">,
    Option<"trace", "trace", "std::string", "\"\"", "Rows that strata-run --rows wrote: hot sets miss as often as they would have there">,
    Option<"readPlan", "read-plan", "std::string", "\"\"", "A plan.json to follow">,
    Option<"writePlan", "write-plan", "std::string", "\"\"", "Where the plan is written">,
    Option<"splitAttention", "split-attention", "bool", "false", "Attend to hits and misses apart, which changes rounding">,
    ListOption<"allowApproximate", "allow-approximate", "std::string", "What may change results: split-rounding">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::strata::tier::TierDialect"];
}

def ScheduleTransfers : Pass<"strata-schedule-transfers", "::mlir::ModuleOp"> {
  let summary = "start transfers early and wait late";
  let description = [{
    Walks through the step with the predicted times of its ops and of its engines. A transfer starts as soon as its operands are known and its engine
    is free; of several the one that is needed first goes first (earliest deadline). Waits move down to the first use. Slots bound how much is on its way, since
    a reload needs a released one.

    Before: each transfer followed by its wait, right before the use.
    After: transfers where their engine would begin them, waits right before the use.
    Requires: a module of the phase place.
    Does not: change what is transferred; move a transfer past a use of what it writes.

    Remarks (category `strata-place`): one for each engine with the time that its transfers take, and how much of it is hidden.
  }];
}

#endif // STRATA_PASSES_PLACE_PASSES_TD
