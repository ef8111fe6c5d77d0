//===- ModelAttributes.h - What a module says of its model ------*- C++ -*-===//
//
// A module in the phases from `input` on carries these attributes; they are what a session must
// know besides the program.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_DIALECTS_STRATA_MODELATTRIBUTES_H
#define STRATA_DIALECTS_STRATA_MODELATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace strata {

/// The entry point: `func.func @step(batch, caches…, rows…) -> (logits, caches…, rows…)`; most have
/// no rows in their signature.
constexpr llvm::StringLiteral kEntryPoint = "step";

/// Of the module. String: `model_type` of config.json.
constexpr llvm::StringLiteral kModelTypeAttr = "strata.model_type";
/// Of the module. I64: positions are below this.
constexpr llvm::StringLiteral kMaxPositionsAttr = "strata.max_positions";
/// Of the module. DenseI32Array: tokens after which generation stops; left out when there are none.
constexpr llvm::StringLiteral kEosTokenIdsAttr = "strata.eos_token_ids";

/// Of the module, from the phase `lower` on. Type, f32 or bf16: what products, scores and attention
/// round their operands to.
constexpr llvm::StringLiteral kComputeAttr = "strata.compute";

/// Of the module. Array of strings: what made its results differ from the model's, such as
/// "sharing"; left out when nothing did.
constexpr llvm::StringLiteral kApproximateAttr = "strata.approximate";

/// Of any op. I64: the number of the model's layer that it belongs to; labels traces and messages.
constexpr llvm::StringLiteral kLayerAttr = "strata.layer";

/// Of a command, in the phase `lower`. Dictionary of dictionaries of f64: for `flops`,
/// `elementwise_flops`, `cache_bytes_read`, `cache_bytes_written` and `activation_bytes` the
/// factors of `fixed`, `tokens`, `wanted`, `visible` and `visible up to N` (CommandCost in
/// strata-rt/package.fbs). What is zero is left out.
constexpr llvm::StringLiteral kCostAttr = "strata.cost";

/// Of an argument of the entry point that is a cache or rows. String: its name in messages and
/// traces.
constexpr llvm::StringLiteral kCacheNameAttr = "strata.name";

} // namespace strata

#endif // STRATA_DIALECTS_STRATA_MODELATTRIBUTES_H
