//===- StrataDialect.td - The strata dialect ---------------*- tablegen -*-===//
#ifndef STRATA_DIALECTS_STRATA_STRATADIALECT_TD
#define STRATA_DIALECTS_STRATA_STRATADIALECT_TD

include "mlir/IR/DialectBase.td"

def Strata_Dialect : Dialect {
  let name = "strata";
  let cppNamespace = "::strata";
  let summary = "language models with sparse attention";
  let description = [{
    `strata` says what a language model with sparse attention computes; it knows nothing of memory tiers. The ops of the
    first part work on tensors, tokens first; those of the second part (buffers and launches) are what the phase `lower`
    leaves for the runtime. `dialects/Strata/README.md` gives the reasons.

    A step works on N tokens, each with a sequence and a position; `!strata.batch` holds them. A token at position p of its
    sequence sees the cached records of positions 0 … p of the same sequence, its own included. N is a run-time value.

    A module of the phase `input` has one public function `@step(!strata.batch, caches…) -> (logits, caches…)` and these
    attributes: `strata.model_type` (string), `strata.max_positions` (i64), and `strata.eos_token_ids` (array<i32>, left out
    when there are none). Ops may carry `strata.layer` (i64), the number of the model's layer: it labels traces and messages
    and means nothing.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif // STRATA_DIALECTS_STRATA_STRATADIALECT_TD
