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

/// Of the module, in the phase `lower`. Dictionary of i64 arrays, pairs but for the last:
/// `slot_tables` (slots, k), `hot_sets` (cache, slot table), `staging_pools` (bytes of a record,
/// records of a page), `block_buffers` (records of a block, bytes of a record), `weight_slots`
/// (bytes).
constexpr llvm::StringLiteral kTiersAttr = "strata.tiers";
/// Of a weight, in the phase `lower`. I64: the weight slot that it is copied to before use.
constexpr llvm::StringLiteral kWeightSlotAttr = "strata.weight_slot";
/// Of a cache argument of the entry point, in the phase `lower`. I64, as Residence in
/// strata-rt/package.fbs; left out for whole ones. And the number of its staging pool or of its
/// block buffers.
constexpr llvm::StringLiteral kResidenceAttr = "strata.residence";
constexpr llvm::StringLiteral kStagingAttr = "strata.staging";

/// Of an argument of the entry point that is a cache or rows. String: its name in messages and
/// traces.
constexpr llvm::StringLiteral kCacheNameAttr = "strata.name";

} // namespace strata

#endif // STRATA_DIALECTS_STRATA_MODELATTRIBUTES_H
