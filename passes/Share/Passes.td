//===- Passes.td - The passes of the phase share -----------*- tablegen -*-===//
#ifndef STRATA_PASSES_SHARE_PASSES_TD
#define STRATA_PASSES_SHARE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrintLayers : Pass<"strata-print-layers", "::mlir::ModuleOp"> {
  let summary = "print the attention layers of each function";
  let description = [{
    One line on standard error for each `strata.attention`: its number, the layers right below it (found from use–def chains, so names and
    attributes play no part), which residual stream it is in when there are several, what it attends to, whose rows it uses, its group and
    its caches.

    Before and after: the same module.
    Requires: nothing.
    Does not: change anything; see through calls.
  }];
}

def PrintCuts : Pass<"strata-print-cuts", "::mlir::ModuleOp"> {
  let summary = "print what crosses a cut between two layers";
  let description = [{
    One line on standard error for each attention layer of `@step` that has one below: the bytes for each token of activations and of rows
    that a pipeline stage starting with the layer would need from the stage below. Then the layers where no rows cross, and
    for `stages` above 1 a division that prefers them: the nearest to an even one.

    Before and after: the same module.
    Requires: a function `@step`.
    Does not: divide the step.
  }];
  let options = [Option<"stages", "stages", "unsigned", "1", "Stages of the pipeline to propose a division for">];
}

def ShareIndex : Pass<"strata-share-index", "::mlir::ModuleOp"> {
  let summary = "let layers use the rows of a layer below";
  let description = [{
    Gives each layer that attends to rows the rows of its group's first layer. The groups come from `schedule`; it counts the layers that
    attend to rows, from 0, in the order that `strata-print-layers` prints:

    - `declared`: as the module has it, which is what the model was trained for;
    - `pattern:FSSSF`: one letter for each layer, F leads a group, S uses the rows of the nearest F below;
    - `every:4,offset:3`: layer i leads if max(i − offset + 1, 0) is a multiple of 4, as in published configs;
    - `groups:0;1;2-5;6-9`: the groups themselves, all layers in order; the first of each leads.

    Any schedule but the declared one changes what the model computes and needs `allow-approximate=sharing`; the module then gets the
    attribute `strata.approximate = ["sharing"]`. A layer can lead only if its indexer is in the module. Both are errors.

    A layer keeps its own rows, with a remark, where sharing would be wrong: rows of another batch or another k, a cache in which other keys are visible
    (appended with another batch or not at all in this step, or with other pages), a leader that is not below it in the residual stream or doesn't dominate it, or rows
    of several indexers. An indexer without users disappears with all that only it used: projections, the append, weights, and its cache among the arguments
    and results of `@step`. Then every indexer moves up to where its operands allow it (all schedules; changes no value).

    Before: `%r1 = strata.select %q1, %w1, %i1[%batch] …`, `strata.attention %a over (%kv1 rows %r1)[%batch] …`.
    After (`schedule=pattern:FS`): `strata.attention %a over (%kv1 rows %r0)[%batch] …`.
    Requires: `@step` with one block. `strata.top_k` is not known here: run `strata-join-select` first.
    Does not: judge what an approximation costs in quality; touch layers without rows.

    Remarks of category `strata-share`: each sharing with FLOPs and bytes saved (for each token; for each token and visible key), each refusal with its
    reason. Of category `strata-hoist`: each indexer that moved.
  }];
  let options = [
    Option<"schedule", "schedule", "std::string", "\"declared\"", "Which layers use whose rows: declared, pattern:…, every:…,offset:… or groups:…">,
    ListOption<"allowApproximate", "allow-approximate", "std::string", "What may change results: sharing">,
  ];
}

def ExportRows : Pass<"strata-export-rows", "::mlir::ModuleOp"> {
  let summary = "make rows a result of the program";
  let description = [{
    Appends the rows of each indexer, in program order, to the results of `@step`, so that no pass drops or merges them and a caller gets them.

    Before: `@step(batch, caches…) -> (logits, caches…)`.
    After: `@step(batch, caches…) -> (logits, caches…, rows…)`.
    Requires: `@step` with one block, and an indexer.
    Does not: export rows that are an argument.
  }];
}

def ImportRows : Pass<"strata-import-rows", "::mlir::ModuleOp"> {
  let summary = "make rows an input of the program";
  let description = [{
    Replaces each indexer, in program order, by an argument of `@step` with rows; the indexers disappear with their projections, caches and weights.
    Rows that another run exported give the same results bit for bit.

    Before: `@step(batch, caches…) -> (logits, caches…)`.
    After: `@step(batch, caches less index caches…, rows…) -> (logits, caches…)`.
    Requires: `@step` with one block, and an indexer.
    Does not: check what the rows hold; who runs the program does.
  }];
}

#endif // STRATA_PASSES_SHARE_PASSES_TD
