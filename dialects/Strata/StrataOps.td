//===- StrataOps.td - What a model computes ----------------*- tablegen -*-===//
#ifndef STRATA_DIALECTS_STRATA_STRATAOPS_TD
#define STRATA_DIALECTS_STRATA_STRATAOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "strata/dialects/Interfaces/CostInterface.td"
include "strata/dialects/Strata/StrataTypes.td"

//===----------------------------------------------------------------------===//
// Shared constraints
//===----------------------------------------------------------------------===//

// Activations are f32 in the meaning; --compute and --cache choose other types when a model is compiled.
def Strata_Matrix : TypeAlias<2DTensorOf<[F32]>, "f32 tensor [tokens, features]">;
def Strata_HeadMatrix : TypeAlias<3DTensorOf<[F32]>, "f32 tensor [tokens, heads, features]">;
def Strata_Activation2Or3D : TypeAlias<TensorRankOf<[F32], [2, 3]>, "f32 tensor [tokens, features] or [tokens, heads, features]">;
def Strata_Vector : TypeAlias<1DTensorOf<[F32]>, "f32 tensor [features]">;
def Strata_WeightMatrix : TypeAlias<2DTensorOf<[F32]>, "f32 weight [outputs, inputs]">;
def Strata_WeightStack : TypeAlias<3DTensorOf<[F32]>, "f32 stack of weights">;
def Strata_Rows : TypeAlias<2DTensorOf<[I32]>, "i32 tensor [tokens, k] of positions, ascending, -1 at the tail">;
def Strata_TokenInts : TypeAlias<1DTensorOf<[I32]>, "i32 tensor [tokens]">;

class Strata_Op<string name, list<Trait> traits = []> : Op<Strata_Dialect, name, traits>;

/// An op that computes values from values: no effects, and it says what it costs.
class Strata_ComputeOp<string name, list<Trait> traits = []>
    : Strata_Op<name, traits # [Pure, DeclareOpInterfaceMethods<CostOpInterface>]>;

/// One whose work is something other than products with weights: it says what (CostKind).
class Strata_CacheComputeOp<string name, list<Trait> traits = []>
    : Strata_Op<name, traits # [Pure, DeclareOpInterfaceMethods<CostOpInterface, ["getCostKind"]>]>;

//===----------------------------------------------------------------------===//
// Batch and weights
//===----------------------------------------------------------------------===//

def Strata_TokenIdsOp : Strata_Op<"token_ids", [Pure]> {
  let summary = "take the token ids of a batch";
  let description = [{
    The ids of the step's tokens, in the batch's order.

    ```mlir
    func.func @ids(%batch: !strata.batch) -> tensor<?xi32> {
      %ids = strata.token_ids %batch : tensor<?xi32>
      return %ids : tensor<?xi32>
    }
    ```
  }];
  let arguments = (ins Strata_Batch:$batch);
  let results = (outs Strata_TokenInts:$ids);
  let assemblyFormat = "$batch attr-dict `:` type($ids)";
}

def Strata_PositionsOp : Strata_Op<"positions", [Pure]> {
  let summary = "take the positions of a batch";
  let description = [{
    The position of each token within its sequence, counted from 0.

    ```mlir
    func.func @positions(%batch: !strata.batch) -> tensor<?xi32> {
      %positions = strata.positions %batch : tensor<?xi32>
      return %positions : tensor<?xi32>
    }
    ```
  }];
  let arguments = (ins Strata_Batch:$batch);
  let results = (outs Strata_TokenInts:$positions);
  let assemblyFormat = "$batch attr-dict `:` type($positions)";
}

def Strata_WeightOp : Strata_Op<"weight", [Pure]> {
  let summary = "name a weight of the checkpoint";
  let description = [{
    The values of a tensor of the checkpoint, widened to f32 (exactly; block-scaled values are multiplied by their scale).
    `stored` is the type that the checkpoint holds. A name with one pattern `{first..last}` is a stack: the first dimension
    counts the tensors. `part` takes some rows of each of several equal groups: the value is [groups, rows, columns].

    Constraints:
    - (weight_c1) `stored` is f32, bf16, f16 or f8E4M3FN; f8E4M3FN needs `scales`, the others have none.
    - (weight_c2) a pattern names at least one tensor, has `first` ≤ `last`, and the first dimension is their number.
    - (weight_c3) `part` needs a value [groups, rows, columns] with the part's groups, and offset + rows ≤ stride.
    - (weight_c4) `part` and a pattern exclude each other.
    - (weight_c5) the shape is static and no dimension is 0.

    ```mlir
    func.func @weights() {
      %norm = strata.weight "model.norm.weight" stored f32 : tensor<64xf32>
      %gate = strata.weight "model.layers.3.mlp.experts.{0..3}.gate_proj.weight" stored bf16 : tensor<4x32x64xf32>
      %key = strata.weight "model.layers.0.self_attn.kv_b_proj.weight" stored bf16 part <groups = 4, stride = 56, offset = 0> : tensor<4x24x32xf32>
      %up = strata.weight "model.layers.0.mlp.up_proj.weight" stored f8E4M3FN scales <name = "model.layers.0.mlp.up_proj.weight_scale_inv", rows = 128, columns = 128> : tensor<256x128xf32>
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, TypeAttr:$stored, OptionalAttr<Strata_PartAttr>:$part,
                       OptionalAttr<Strata_BlockScalesAttr>:$scales);
  let results = (outs RankedTensorOf<[F32]>:$value);
  let assemblyFormat = [{
    $name `stored` $stored (`part` $part^)? (`scales` $scales^)? attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Bytes of the value as the checkpoint stores it, scales included.
    double getStoredBytes();
    /// Bits of one stored element.
    unsigned getStoredBits() { return getStored().getIntOrFloatBitWidth(); }
  }];
}

//===----------------------------------------------------------------------===//
// Dense layers
//===----------------------------------------------------------------------===//

def Strata_EmbeddingOp : Strata_ComputeOp<"embedding"> {
  let summary = "look up the rows of a table";
  let description = [{
    Row n of the result is row `ids[n]` of the table [vocabulary, features].

    Constraints:
    - (embedding_c1) the result has as many features as the table.

    ```mlir
    func.func @embed(%ids: tensor<?xi32>, %table: tensor<256x64xf32>) -> tensor<?x64xf32> {
      %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<256x64xf32>) -> tensor<?x64xf32>
      return %x : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins Strata_TokenInts:$ids, Strata_WeightMatrix:$table);
  let results = (outs Strata_Matrix:$result);
  let assemblyFormat = "$ids `,` $table attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Strata_LinearOp : Strata_ComputeOp<"linear"> {
  let summary = "multiply by a weight matrix";
  let description = [{
    `result[n, m] = bias[m] + Σ_k input[n, k] · weight[m, k]`, without the bias when there is none.

    Constraints:
    - (linear_c1) the weight has as many inputs as the input has features.
    - (linear_c2) the result has as many features as the weight has outputs.
    - (linear_c3) the bias has one element for each output.

    ```mlir
    func.func @project(%x: tensor<?x64xf32>, %w: tensor<96x64xf32>, %b: tensor<96xf32>) -> tensor<?x96xf32> {
      %y = strata.linear %x, %w bias %b : (tensor<?x64xf32>, tensor<96x64xf32>, tensor<96xf32>) -> tensor<?x96xf32>
      return %y : tensor<?x96xf32>
    }
    ```
  }];
  let arguments = (ins Strata_Matrix:$input, Strata_WeightMatrix:$weight, Optional<Strata_Vector>:$bias);
  let results = (outs Strata_Matrix:$result);
  let assemblyFormat = "$input `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Strata_HeadLinearOp : Strata_ComputeOp<"head_linear"> {
  let summary = "multiply each head by its own weight matrix";
  let description = [{
    `result[n, h, m] = Σ_k input[n, h, k] · weight[h, m, k]`; with `transposed` the weight is [heads, k, m]. MLA absorbs the
    key projection into the query with the transposed form and expands values with the plain one.

    Constraints:
    - (head_linear_c1) input, weight and result have the same number of heads.
    - (head_linear_c2) the weight has as many inputs as the input has features.
    - (head_linear_c3) the result has as many features as the weight has outputs.

    ```mlir
    func.func @absorb(%q: tensor<?x4x24xf32>, %w: tensor<4x24x32xf32>) -> tensor<?x4x32xf32> {
      %y = strata.head_linear %q, %w transposed : (tensor<?x4x24xf32>, tensor<4x24x32xf32>) -> tensor<?x4x32xf32>
      return %y : tensor<?x4x32xf32>
    }
    ```
  }];
  let arguments = (ins Strata_HeadMatrix:$input, Strata_WeightStack:$weight, UnitAttr:$transposed);
  let results = (outs Strata_HeadMatrix:$result);
  let assemblyFormat = "$input `,` $weight (`transposed` $transposed^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Strata_RmsNormOp : Strata_ComputeOp<"rms_norm", [AllTypesMatch<["input", "result"]>]> {
  let summary = "normalise by the root mean square";
  let description = [{
    `result[…, i] = input[…, i] · weight[i] / √(mean over i of input² + epsilon)`, over the last dimension; without the weight
    when there is none.

    Constraints:
    - (rms_norm_c1) the weight has one element for each feature.
    - (rms_norm_c2) epsilon is not negative.

    ```mlir
    func.func @norm(%x: tensor<?x64xf32>, %w: tensor<64xf32>) -> tensor<?x64xf32> {
      %y = strata.rms_norm %x weight %w {epsilon = 1.0e-5} : tensor<?x64xf32>, tensor<64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins Strata_Activation2Or3D:$input, Optional<Strata_Vector>:$weight, F64Attr:$epsilon);
  let results = (outs Strata_Activation2Or3D:$result);
  let assemblyFormat = "$input (`weight` $weight^)? attr-dict `:` type($input) (`,` type($weight)^)?";
  let hasVerifier = 1;
}

def Strata_LayerNormOp : Strata_ComputeOp<"layer_norm", [AllTypesMatch<["input", "result"]>]> {
  let summary = "normalise by mean and standard deviation";
  let description = [{
    `result[…, i] = (input[…, i] − mean) · weight[i] / √(variance + epsilon) + bias[i]`, over the last dimension; the variance is
    the mean of the squared differences.

    Constraints:
    - (layer_norm_c1) weight and bias have one element for each feature.
    - (layer_norm_c2) epsilon is not negative.

    ```mlir
    func.func @norm(%x: tensor<?x16xf32>, %w: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<?x16xf32> {
      %y = strata.layer_norm %x weight %w bias %b {epsilon = 1.0e-6} : tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>
      return %y : tensor<?x16xf32>
    }
    ```
  }];
  let arguments = (ins Strata_Activation2Or3D:$input, Strata_Vector:$weight, Strata_Vector:$bias, F64Attr:$epsilon);
  let results = (outs Strata_Activation2Or3D:$result);
  let assemblyFormat = "$input `weight` $weight `bias` $bias attr-dict `:` type($input) `,` type($weight) `,` type($bias)";
  let hasVerifier = 1;
}

def Strata_RopeOp : Strata_ComputeOp<"rope", [AllTypesMatch<["input", "result"]>]> {
  let summary = "rotate by position";
  let description = [{
    Turns the pairs of elements [offset, offset + width) of the last dimension by position × frequency (`table`); the other
    elements stay. With layout `interleaved` pair i is (2i, 2i + 1), with `half` it is (i, i + width / 2). A pair (a, b) becomes
    (a·cos − b·sin, b·cos + a·sin), each times the table's attention factor; `inverse` turns the other way. Folds away when
    `width` is 0.

    Constraints:
    - (rope_c1) width is even and not negative.
    - (rope_c2) the rotated elements lie within the last dimension.
    - (rope_c3) the table's layout is interleaved or half.

    ```mlir
    func.func @rotate(%q: tensor<?x4x32xf32>, %batch: !strata.batch) -> tensor<?x4x32xf32> {
      %r = strata.rope %q[%batch] {table = #strata.rope<theta = 8.0e6, layout = interleaved>, offset = 24, width = 8} : tensor<?x4x32xf32>
      return %r : tensor<?x4x32xf32>
    }
    ```
  }];
  let arguments = (ins Strata_Activation2Or3D:$input, Strata_Batch:$batch, Strata_RopeAttr:$table, I64Attr:$offset,
                       I64Attr:$width, UnitAttr:$inverse);
  let results = (outs Strata_Activation2Or3D:$result);
  let assemblyFormat = "$input `[` $batch `]` (`inverse` $inverse^)? attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Strata_HadamardOp : Strata_ComputeOp<"hadamard", [AllTypesMatch<["input", "result"]>]> {
  let summary = "multiply by the normalised Hadamard matrix";
  let description = [{
    The last dimension, W elements, times H_W / √W in Sylvester's order. Spreads outliers before quantisation; queries and keys
    must both have it or neither, which the cache's type says. Folds away when W is 1.

    Constraints:
    - (hadamard_c1) the last dimension is a power of two.

    ```mlir
    func.func @spread(%k: tensor<?x128xf32>) -> tensor<?x128xf32> {
      %h = strata.hadamard %k : tensor<?x128xf32>
      return %h : tensor<?x128xf32>
    }
    ```
  }];
  let arguments = (ins Strata_Activation2Or3D:$input);
  let results = (outs Strata_Activation2Or3D:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Strata_GatedMlpOp : Strata_ComputeOp<"gated_mlp"> {
  let summary = "apply a gated MLP";
  let description = [{
    `down · (activation(gate · x) ⊙ (up · x))` for each token; silu(x) = x / (1 + e^−x).

    Constraints:
    - (gated_mlp_c1) gate and up are [width, features], down is [features, width].

    ```mlir
    func.func @mlp(%x: tensor<?x64xf32>, %gate: tensor<96x64xf32>, %up: tensor<96x64xf32>, %down: tensor<64x96xf32>) -> tensor<?x64xf32> {
      %y = strata.gated_mlp %x, %gate, %up, %down activation = silu : (tensor<?x64xf32>, tensor<96x64xf32>, tensor<96x64xf32>, tensor<64x96xf32>) -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins Strata_Matrix:$input, Strata_WeightMatrix:$gate, Strata_WeightMatrix:$up, Strata_WeightMatrix:$down,
                       Strata_ActivationAttr:$activation);
  let results = (outs Strata_Matrix:$result);
  let assemblyFormat = [{
    $input `,` $gate `,` $up `,` $down `activation` `=` $activation attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Mixture of experts
//===----------------------------------------------------------------------===//

def Strata_RouteOp : Strata_ComputeOp<"route"> {
  let summary = "choose the experts of each token";
  let description = [{
    Scores are the sigmoid, or the softmax over all experts, of `router · x`, in f32 whatever the compute type. A choice is a
    score plus the correction (if given). With several groups a group's score is the sum of its two best choices or its best
    one; the `top_groups` best groups stay. Of their experts the k best choices are taken: greater first, then smaller number;
    ±0 are equal, NaN counts as −∞. An expert's weight is its score without the correction; with `normalise` it is divided by
    the sum of the chosen (plus 1e-20), and then it is multiplied by `scale`. Experts come in ascending order.

    Constraints:
    - (route_c1) the router is [experts, features], the correction has one element for each expert.
    - (route_c2) experts and weights have the same shape [tokens, k], 1 ≤ k.
    - (route_c3) groups divides the number of experts, 1 ≤ top_groups ≤ groups, and k ≤ experts in top_groups groups.
    - (route_c4) `top_two_sum` needs at least two experts in a group when there are several groups.

    ```mlir
    func.func @route(%x: tensor<?x64xf32>, %router: tensor<8x64xf32>, %bias: tensor<8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>) {
      %experts, %weights = strata.route %x, %router correction %bias scoring = sigmoid groups = 4 top_groups = 2 group_score = top_two_sum
          {normalise, scale = 2.5} : (tensor<?x64xf32>, tensor<8x64xf32>, tensor<8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
      return %experts, %weights : tensor<?x2xi32>, tensor<?x2xf32>
    }
    ```
  }];
  let arguments = (ins Strata_Matrix:$input, Strata_WeightMatrix:$router, Optional<Strata_Vector>:$correction,
                       Strata_ScoringAttr:$scoring, I64Attr:$groups, I64Attr:$top_groups, Strata_GroupScoreAttr:$group_score,
                       UnitAttr:$normalise, F64Attr:$scale);
  let results = (outs Strata_Rows:$experts, Strata_Matrix:$weights);
  let assemblyFormat = [{
    $input `,` $router (`correction` $correction^)? `scoring` `=` $scoring `groups` `=` $groups `top_groups` `=` $top_groups
    `group_score` `=` $group_score attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Strata_MixtureOfExpertsOp : Strata_ComputeOp<"mixture_of_experts"> {
  let summary = "apply the chosen experts";
  let description = [{
    `Σ_j weights[n, j] · mlp_e(x[n])` with e = experts[n, j], where mlp_e is the gated MLP of row e of the three stacks. Shared
    experts are a `gated_mlp` of their own, added by `arith.addf`.

    Constraints:
    - (mixture_c1) gate and up are [experts, width, features], down is [experts, features, width].
    - (mixture_c2) experts and weights have the same shape [tokens, k].

    ```mlir
    func.func @experts(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>, %gate: tensor<4x32x64xf32>,
                       %up: tensor<4x32x64xf32>, %down: tensor<4x64x32xf32>) -> tensor<?x64xf32> {
      %y = strata.mixture_of_experts %x, %e, %w, %gate, %up, %down activation = silu
          : (tensor<?x64xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<4x32x64xf32>, tensor<4x32x64xf32>, tensor<4x64x32xf32>) -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins Strata_Matrix:$input, Strata_Rows:$experts, Strata_Matrix:$weights, Strata_WeightStack:$gate,
                       Strata_WeightStack:$up, Strata_WeightStack:$down, Strata_ActivationAttr:$activation);
  let results = (outs Strata_Matrix:$result);
  let assemblyFormat = [{
    $input `,` $experts `,` $weights `,` $gate `,` $up `,` $down `activation` `=` $activation attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Caches, indexer and attention
//===----------------------------------------------------------------------===//

def Strata_AppendOp : Strata_ComputeOp<"append", [AllTypesMatch<["cache", "result"]>]> {
  let summary = "write the tokens' records into a cache";
  let description = [{
    The cache with the record of each of the step's tokens written at its sequence and position. One operand for each field,
    in order, rounded to the field's type: [tokens, width], or [tokens, heads, width] when the field has several heads. A cache
    value has at most one append, and is not used after it: kernels write in place. With `in_order` the record of token n is record n.

    Constraints:
    - (append_c1) there is one operand for each field of the cache.
    - (append_c2) each operand has its field's shape.

    ```mlir
    func.func @store(%cache: !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>, %batch: !strata.batch,
                     %latent: tensor<?x32xf32>, %key: tensor<?x8xf32>) -> !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved> {
      %next = strata.append %cache[%batch], %latent, %key : !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>, tensor<?x32xf32>, tensor<?x8xf32>
      return %next : !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>
    }
    ```
  }];
  let arguments = (ins Strata_Cache:$cache, Strata_Batch:$batch, Variadic<Strata_Activation2Or3D>:$values, UnitAttr:$in_order);
  let results = (outs Strata_Cache:$result);
  let assemblyFormat = "$cache `[` $batch `]` `,` $values (`in_order` $in_order^)? attr-dict `:` type($cache) `,` type($values)";
  let hasVerifier = 1;
}

def Strata_RecordsOp : Strata_Op<"records", [Pure, AllTypesMatch<["rows", "records"]>]> {
  let summary = "look up the records of positions";
  let description = [{
    The number of the record that holds each position of each token's sequence: page × page_size + offset within the page; −1 stays. The same in all
    caches with pages of this size.

    Constraints:
    - (records_c1) page_size is positive.

    ```mlir
    func.func @look_up(%rows: tensor<?x8xi32>, %batch: !strata.batch) -> tensor<?x8xi32> {
      %records = strata.records %rows[%batch] {page_size = 64} : tensor<?x8xi32>
      return %records : tensor<?x8xi32>
    }
    ```
  }];
  let arguments = (ins Strata_Rows:$rows, Strata_Batch:$batch, I64Attr:$page_size);
  let results = (outs Strata_Rows:$records);
  let assemblyFormat = "$rows `[` $batch `]` attr-dict `:` type($rows)";
  let hasVerifier = 1;
}

def Strata_OwnRecordsOp : Strata_Op<"own_records", [Pure]> {
  let summary = "look up the records that the step writes";
  let description = [{
    The number of the record of each token of the step, as in `strata.records`.

    Constraints:
    - (own_records_c1) page_size is positive.

    ```mlir
    func.func @own(%batch: !strata.batch) -> tensor<?xi32> {
      %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
      return %own : tensor<?xi32>
    }
    ```
  }];
  let arguments = (ins Strata_Batch:$batch, I64Attr:$page_size);
  let results = (outs Strata_TokenInts:$records);
  let assemblyFormat = "`[` $batch `]` attr-dict `:` type($records)";
  let hasVerifier = 1;
}

def Strata_IndexScoresOp : Strata_CacheComputeOp<"index_scores"> {
  let summary = "score all cached keys";
  let description = [{
    `scores[n, s] = scale · Σ_h head_weights[n, h] · max(0, query[n, h] · key[s])` for every position s that token n sees, −∞
    elsewhere. The result is as wide as the longest sequence. The whole matrix is tokens × length: `strata.select` computes
    the rows without it.

    Constraints:
    - (index_scores_c1) query is [tokens, heads, width] and head weights are [tokens, heads].
    - (index_scores_c2) the cache has one field: one key of `width` elements.

    ```mlir
    func.func @scores(%q: tensor<?x8x16xf32>, %w: tensor<?x8xf32>, %keys: !strata.cache<key 16xf32, page = 64>, %batch: !strata.batch) -> tensor<?x?xf32> {
      %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.25} : (tensor<?x8x16xf32>, tensor<?x8xf32>, !strata.cache<key 16xf32, page = 64>) -> tensor<?x?xf32>
      return %s : tensor<?x?xf32>
    }
    ```
  }];
  let arguments = (ins Strata_HeadMatrix:$query, Strata_Matrix:$head_weights, Strata_Cache:$cache, Strata_Batch:$batch,
                       F64Attr:$scale);
  let results = (outs Strata_Matrix:$scores);
  let assemblyFormat = [{
    $query `,` $head_weights `,` $cache `[` $batch `]` attr-dict `:`
    `(` type($query) `,` type($head_weights) `,` type($cache) `)` `->` type($scores)
  }];
  let hasVerifier = 1;
}

def Strata_TopKOp : Strata_CacheComputeOp<"top_k"> {
  let summary = "select the positions with the greatest scores";
  let description = [{
    For each token the k best positions that it sees: greater score first, then smaller position; ±0 are equal; NaN counts as
    −∞. A token that sees at most k positions gets them all. Ascending, −1 at the tail.

    Constraints:
    - (top_k_c1) k is positive and the result has k columns.

    ```mlir
    func.func @best(%scores: tensor<?x?xf32>, %batch: !strata.batch) -> tensor<?x8xi32> {
      %rows = strata.top_k %scores[%batch] {k = 8} : tensor<?x?xf32> -> tensor<?x8xi32>
      return %rows : tensor<?x8xi32>
    }
    ```
  }];
  let arguments = (ins Strata_Matrix:$scores, Strata_Batch:$batch, I64Attr:$k);
  let results = (outs Strata_Rows:$rows);
  let assemblyFormat = "$scores `[` $batch `]` attr-dict `:` type($scores) `->` type($rows)";
  let hasVerifier = 1;
}

def Strata_SelectOp : Strata_CacheComputeOp<"select"> {
  let summary = "select the cached positions that tokens attend to";
  let description = [{
    `top_k(index_scores(query, head_weights, cache))` without the matrix of scores: the indexer of DeepSeek Sparse Attention.
    The result may be used by the attention of any number of layers.

    Constraints:
    - (select_c1) query is [tokens, heads, width] and head weights are [tokens, heads].
    - (select_c2) the cache has one field: one key of `width` elements.
    - (select_c3) k is positive and the result has k columns.

    ```mlir
    func.func @index(%q: tensor<?x8x16xf32>, %w: tensor<?x8xf32>, %keys: !strata.cache<key 16xf32, page = 64>, %batch: !strata.batch) -> tensor<?x8xi32> {
      %rows = strata.select %q, %w, %keys[%batch] {k = 8, scale = 0.25} : (tensor<?x8x16xf32>, tensor<?x8xf32>, !strata.cache<key 16xf32, page = 64>) -> tensor<?x8xi32>
      return %rows : tensor<?x8xi32>
    }
    ```
  }];
  let arguments = (ins Strata_HeadMatrix:$query, Strata_Matrix:$head_weights, Strata_Cache:$cache, Strata_Batch:$batch, I64Attr:$k,
                       F64Attr:$scale);
  let results = (outs Strata_Rows:$rows);
  let assemblyFormat = [{
    $query `,` $head_weights `,` $cache `[` $batch `]` attr-dict `:`
    `(` type($query) `,` type($head_weights) `,` type($cache) `)` `->` type($rows)
  }];
  let hasVerifier = 1;
}

def Strata_AttentionOp : Strata_CacheComputeOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "attend to the union of several key sources";
  let description = [{
    One softmax over the keys of all sources. A source is a cache and a selector: `all`, `window(n)`, `first(n)`, or `rows(%r)`,
    of the records that the token sees; or `records(%r)`, of the cache itself by number, in the order listed. A record chosen by several sources of
    the same cache counts once. For each head the
    score of a record is `scale · query · key`, the key being the record's key fields in order; head h uses key head
    h div (heads / key heads), values likewise. With `sinks` the denominator has one more term, e^sink of the head, without a value.
    A token without any key gets 0. Rows and records of −1 are no keys.

    What attention_scores and partial_attention computed before need not be computed again: `with scores` gives the scores of the listed keys,
    `after` the state of an attention to other keys, from which this one goes on. Scores change no bit of the result; another order of keys does.

    Constraints:
    - (attention_c1) there is at least one source, and one selector for each.
    - (attention_c2) a `rows` or `records` selector has an index tensor of its own; `window` and `first` count at least 1.
    - (attention_c3) each cache's key is as wide as the query, its value as wide as the result.
    - (attention_c4) the key heads divide the query's heads; fields have the same number of heads.
    - (attention_c5) sinks has one element for each head.
    - (attention_c6) no cache has two sources of listed rows or records.
    - (attention_c7) query and result have the same number of heads.
    - (attention_c8) scores are [tokens, heads, k] of the one listed source.
    - (attention_c9) what it goes on from is [tokens, heads, value width + 2], and then it has neither scores nor sinks (they count once).

    ```mlir
    func.func @attend(%q: tensor<?x4x40xf32>, %kv: !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>,
                      %rows: tensor<?x8xi32>, %batch: !strata.batch) -> tensor<?x4x32xf32> {
      %o = strata.attention %q over (%kv rows %rows)[%batch] {scale = 0.125}
          : (tensor<?x4x40xf32>, !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>, tensor<?x8xi32>) -> tensor<?x4x32xf32>
      %p = strata.attention %q over (%kv window 12, %kv first 4)[%batch] {scale = 0.125}
          : (tensor<?x4x40xf32>, !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>, !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>) -> tensor<?x4x32xf32>
      %sum = arith.addf %o, %p : tensor<?x4x32xf32>
      return %sum : tensor<?x4x32xf32>
    }
    ```
  }];
  let arguments = (ins Strata_HeadMatrix:$query, Variadic<Strata_Cache>:$caches, Variadic<Strata_Rows>:$rows,
                       Optional<Strata_Vector>:$sinks, Strata_Batch:$batch, ArrayAttr:$selectors, F64Attr:$scale,
                       Optional<Strata_HeadMatrix>:$scores, Optional<Strata_HeadMatrix>:$partial);
  let results = (outs Strata_HeadMatrix:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$query, "::mlir::ValueRange":$caches, "::mlir::ValueRange":$rows,
                   "::mlir::Value":$sinks, "::mlir::Value":$batch, "::mlir::ArrayAttr":$selectors, "::mlir::FloatAttr":$scale), [{
      build($_builder, $_state, result, query, caches, rows, sinks, batch, selectors, scale, /*scores=*/{}, /*partial=*/{});
    }]>,
  ];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// One key source: a cache, which of its records, and the index tensor of a listed one.
    struct Source {
      ::mlir::Value cache;
      SelectorAttr selector;
      ::mlir::Value rows;
    };
    ::llvm::SmallVector<Source> getSources();
    /// Whether it has a form that only placement makes: records by number, or parts computed before.
    bool isPlaced();
    /// Checks what was computed before: attention_c8 and attention_c9.
    ::llvm::LogicalResult verifyKnown();
  }];
}

def Strata_AttentionScoresOp : Strata_CacheComputeOp<"attention_scores"> {
  let summary = "score some of the keys that attention will attend to";
  let description = [{
    `result[n, h, j] = scale · query[n, h] · key[records[n, j]]`, as `strata.attention` scores a record; where a record is −1 the element is that of
    `into`, or anything. A score does not depend on where a record lies and on what else is scored: so records that are near can be scored while others
    are on their way. The result takes the place of `into`, which has no other use.

    Constraints:
    - (attention_scores_c1) the cache's key is as wide as the query, and its key heads divide the query's heads.
    - (attention_scores_c2) the result is [tokens, heads, k], and so is `into`.

    ```mlir
    func.func @score(%q: tensor<?x4x40xf32>, %kv: !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>,
                     %hits: tensor<?x8xi32>, %misses: tensor<?x8xi32>, %batch: !strata.batch) -> tensor<?x4x8xf32> {
      %s0 = strata.attention_scores %q over (%kv records %hits)[%batch] {scale = 0.125}
          : (tensor<?x4x40xf32>, !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>, tensor<?x8xi32>) -> tensor<?x4x8xf32>
      %s1 = strata.attention_scores %q over (%kv records %misses)[%batch] into %s0 {scale = 0.125}
          : (tensor<?x4x40xf32>, !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>, tensor<?x8xi32>, tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
      return %s1 : tensor<?x4x8xf32>
    }
    ```
  }];
  let arguments = (ins Strata_HeadMatrix:$query, Strata_Cache:$cache, Strata_Rows:$records, Strata_Batch:$batch,
                       Optional<Strata_HeadMatrix>:$into, F64Attr:$scale);
  let results = (outs Strata_HeadMatrix:$result);
  let assemblyFormat = [{
    $query `over` ` ` `(` $cache `records` $records `)` `` `[` $batch `]` (`into` $into^)? attr-dict `:`
    `(` type($query) `,` qualified(type($cache)) `,` type($records) (`,` type($into)^)? `)` `->` type($result)
  }];
  let hasVerifier = 1;
}

def Strata_PartialAttentionOp : Strata_CacheComputeOp<"partial_attention"> {
  let summary = "begin an attention that another goes on with";
  let description = [{
    The state of `strata.attention` after these records (and the sinks): for each token and head the values' sum, not divided, the greatest score and
    Σ e^(score − greatest). `strata.attention … after` goes on from it. Both together are the attention to all keys but for rounding, since
    keys are added up in another order; when they are parted by what is near, results depend on that in their last bits. Only done where allowed:
    `allow-approximate=split-rounding`.

    Constraints:
    - (partial_attention_c1) the cache's key is as wide as the query, and its key heads divide the query's heads.
    - (partial_attention_c2) the result is [tokens, heads, value width + 2].
    - (partial_attention_c3) sinks has one element for each head.

    ```mlir
    func.func @begin(%q: tensor<?x4x40xf32>, %kv: !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>,
                     %hits: tensor<?x8xi32>, %misses: tensor<?x8xi32>, %batch: !strata.batch) -> tensor<?x4x32xf32> {
      %begun = strata.partial_attention %q over (%kv records %hits)[%batch] {scale = 0.125}
          : (tensor<?x4x40xf32>, !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>, tensor<?x8xi32>) -> tensor<?x4x34xf32>
      %o = strata.attention %q over (%kv records %misses)[%batch] after %begun {scale = 0.125}
          : (tensor<?x4x40xf32>, !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>, tensor<?x8xi32>, tensor<?x4x34xf32>) -> tensor<?x4x32xf32>
      return %o : tensor<?x4x32xf32>
    }
    ```
  }];
  let arguments = (ins Strata_HeadMatrix:$query, Strata_Cache:$cache, Strata_Rows:$records, Optional<Strata_Vector>:$sinks,
                       Strata_Batch:$batch, F64Attr:$scale);
  let results = (outs Strata_HeadMatrix:$result);
  let assemblyFormat = [{
    $query `over` ` ` `(` $cache `records` $records `)` `` `[` $batch `]` (`sinks` $sinks^)? attr-dict `:`
    `(` type($query) `,` qualified(type($cache)) `,` type($records) (`,` type($sinks)^)? `)` `->` type($result)
  }];
  let hasVerifier = 1;
}

def Strata_LogitsOp : Strata_ComputeOp<"logits"> {
  let summary = "compute the logits of the wanted tokens";
  let description = [{
    `result[i, v] = Σ_k input[n_i, k] · weight[v, k]`, where n_i is the i-th token whose logits the batch wants.

    Constraints:
    - (logits_c1) the weight has as many inputs as the input has features.
    - (logits_c2) the result has as many columns as the weight has outputs.

    ```mlir
    func.func @head(%x: tensor<?x64xf32>, %w: tensor<256x64xf32>, %batch: !strata.batch) -> tensor<?x256xf32> {
      %y = strata.logits %x, %w[%batch] : (tensor<?x64xf32>, tensor<256x64xf32>) -> tensor<?x256xf32>
      return %y : tensor<?x256xf32>
    }
    ```
  }];
  let arguments = (ins Strata_Matrix:$input, Strata_WeightMatrix:$weight, Strata_Batch:$batch);
  let results = (outs Strata_Matrix:$result);
  let assemblyFormat = [{
    $input `,` $weight `[` $batch `]` attr-dict `:` `(` type($input) `,` type($weight) `)` `->` type($result)
  }];
  let hasVerifier = 1;
}

include "strata/dialects/Strata/StrataFusion.td"
include "strata/dialects/Strata/StrataCommands.td"
include "strata/dialects/Strata/StrataTierCommands.td"

#endif // STRATA_DIALECTS_STRATA_STRATAOPS_TD
