//===- StrataCommands.td - What the phase lower leaves -----*- tablegen -*-===//
//
// The host program: one op for each command of a package (strata-rt/package.fbs has the same list, and the exact meaning of each
// field). Activations are buffers of one arena; weights are still `strata.weight`, caches still the entry's arguments.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_DIALECTS_STRATA_STRATACOMMANDS_TD
#define STRATA_DIALECTS_STRATA_STRATACOMMANDS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "strata/dialects/Strata/StrataTypes.td"

def Strata_F32View : TypeAlias<MemRefRankOf<[F32], [2, 3]>, "f32 buffer [rows, features] or [rows, heads, features]">;
def Strata_I32View : TypeAlias<MemRefRankOf<[I32], [1, 2]>, "i32 buffer">;
def Strata_WeightValue : TypeAlias<RankedTensorOf<[F32]>, "weight">;
def Strata_LaunchArgument : AnyTypeOf<[AnyMemRef, Strata_WeightValue, Strata_Cache]>;

/// A command: reads and writes its buffers and caches, so the order of commands is the program's.
class Strata_CommandOp<string name, list<Trait> traits = []> : Op<Strata_Dialect, name, traits>;

def Strata_BufferOp : Op<Strata_Dialect, "buffer", [Pure]> {
  let summary = "name a buffer of the arena";
  let description = [{
    A dense buffer with `rows` rows. Buffers in the same slot never live at the same time; `strata-plan-arena` assigns slots.

    Constraints:
    - (buffer_c1) the first dimension is dynamic, or `rows` is fixed and equal to it; the other dimensions are static, and the layout is the identity.

    ```mlir
    func.func @buffers() {
      %x = strata.buffer rows <tokens = 1> slot 2 : memref<?x4x16xf32>
      return
    }
    ```
  }];
  let arguments = (ins Strata_SizeAttr:$rows, OptionalAttr<I64Attr>:$slot);
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "`rows` $rows (`slot` $slot^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Strata_ViewOp : Op<Strata_Dialect, "view", [Pure]> {
  let summary = "look at a buffer in another shape";
  let description = [{
    The elements of `source` from `offset` elements on, with the shape and strides of the result's type.

    Constraints:
    - (view_c1) source and result have the same element type; the result's strides are static.
    - (view_c2) a row of the view lies within a row of the source: the strides of the first dimension are equal.

    ```mlir
    func.func @slices() {
      %x = strata.buffer rows <tokens = 1> slot 0 : memref<?x64xf32>
      %y = strata.view %x offset 16 : memref<?x64xf32> to memref<?x2x8xf32, strided<[64, 8, 1], offset: 16>>
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, I64Attr:$offset);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$source `offset` $offset attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Strata_StepArrayOp : Op<Strata_Dialect, "step_array", [Pure]> {
  let summary = "name an array that the runtime fills in for each step";
  let description = [{
    See `StepArray` in strata-rt/package.fbs for the arrays and their sizes.

    ```mlir
    func.func @arrays(%batch: !strata.batch) {
      %p = strata.step_array positions of %batch : memref<?xi32>
      return
    }
    ```
  }];
  let arguments = (ins Strata_StepArrayAttr:$kind, Strata_Batch:$batch);
  let results = (outs MemRefRankOf<[I32], [1]>:$array);
  let assemblyFormat = "$kind `of` $batch attr-dict `:` type($array)";
}

def Strata_LaunchOp : Strata_CommandOp<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a generated kernel over a range of items";
  let description = [{
    The kernel is a function `(arguments…, begin: index, end: index)` of the nested module of kernels; the runtime splits
    [0, items) among threads in pieces of at least `grain` items. A buffer is passed as a memref of the view's type; a weight
    as a memref of the stored elements, or with `widen` in the weight's attributes as f32; a cache as a 1-D memref of its elements.

    Constraints:
    - (launch_c1) the kernel exists and takes one argument for each operand, then two indices.
    - (launch_c2) a buffer's type, offset aside, is the kernel argument's type.

    The test test/Strata/commands.mlir shows a module with kernels.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<Strata_LaunchArgument>:$arguments, Strata_SizeAttr:$items, I64Attr:$grain);
  let assemblyFormat = [{
    $kernel `(` $arguments `)` `items` $items `grain` $grain attr-dict `:` type($arguments)
  }];
}

def Strata_LaunchRopeTableOp : Strata_CommandOp<"launch_rope_table"> {
  let summary = "compute cosines and sines of the step's positions";
  let description = [{
    Row n is cos(position n × f(i)) for all i, then the sines, times the table's attention factor; `width` elements.

    ```mlir
    func.func @table(%batch: !strata.batch) {
      %t = strata.buffer rows <tokens = 1> slot 0 : memref<?x8xf32>
      strata.launch_rope_table %t {table = #strata.rope<theta = 1.0e4, layout = half>, width = 8} : memref<?x8xf32>
      return
    }
    ```
  }];
  let arguments = (ins Strata_F32View:$output, Strata_RopeAttr:$table, I64Attr:$width);
  let assemblyFormat = "$output attr-dict `:` type($output)";
}

def Strata_LaunchProductOp : Strata_CommandOp<"launch_product", [AttrSizedOperandSegments]> {
  let summary = "multiply by weights through the library";
  let description = [{
    `linear` (2-D buffers) or `head_linear` (3-D buffers), on buffers, with one or several weights that share the input; see
    `Product` in strata-rt/package.fbs. Operands are rounded to `operands` first. With `residual` the output is the residual plus the
    product.

    Constraints:
    - (launch_product_c1) there is one output for each weight, and a bias for each weight or none.
    - (launch_product_c2) a residual has one weight, and the output's type but for strides.

    ```mlir
    func.func @product() {
      %w = strata.weight "w" stored f32 : tensor<32x64xf32>
      %x = strata.buffer rows <tokens = 1> slot 0 : memref<?x64xf32>
      %y = strata.buffer rows <tokens = 1> slot 1 : memref<?x32xf32>
      %z = strata.buffer rows <tokens = 1> slot 2 : memref<?x32xf32>
      strata.launch_product %x, (%w) into (%y) rows <tokens = 1> operands f32 : memref<?x64xf32>, (tensor<32x64xf32>) into (memref<?x32xf32>)
      strata.launch_product %x, (%w, %w) into (%y, %z) rows <tokens = 1> operands bf16 : memref<?x64xf32>, (tensor<32x64xf32>, tensor<32x64xf32>) into (memref<?x32xf32>, memref<?x32xf32>)
      strata.launch_product %x, (%w) residual %y into (%z) rows <tokens = 1> operands f32 : memref<?x64xf32>, (tensor<32x64xf32>) residual memref<?x32xf32> into (memref<?x32xf32>)
      return
    }
    ```
  }];
  let arguments = (ins Strata_F32View:$input, Variadic<Strata_WeightValue>:$weights, Variadic<Strata_WeightValue>:$biases,
                       Optional<Strata_F32View>:$residual, Variadic<Strata_F32View>:$outputs, Strata_SizeAttr:$rows,
                       UnitAttr:$transposed, TypeAttr:$operands);
  let assemblyFormat = [{
    $input `,` `(` $weights `)` (`bias` `(` $biases^ `)`)? (`residual` $residual^)? `into` `(` $outputs `)` `rows` $rows
    (`transposed` $transposed^)? `operands` $operands attr-dict
    `:` type($input) `,` `(` type($weights) `)` (`bias` `(` type($biases)^ `)`)? (`residual` type($residual)^)? `into` `(` type($outputs) `)`
  }];
  let hasVerifier = 1;
}

def Strata_LaunchGatedProductOp : Strata_CommandOp<"launch_gated_product", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "multiply by gate and up, and combine them";
  let description = [{
    `gated_linear` on buffers: both products and the activation in one command. The kernel combines blocks of elements: its arguments are
    gate, up and result, dense f32; items are elements. See `GatedProduct` in strata-rt/package.fbs. The test
    test/Strata/commands.mlir shows a module with kernels.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Strata_F32View:$input, Strata_WeightValue:$gate, Strata_WeightValue:$up,
                       Strata_F32View:$output, Strata_SizeAttr:$rows, TypeAttr:$operands);
  let assemblyFormat = [{
    $input `,` $gate `,` $up `into` $output `by` $kernel `rows` $rows `operands` $operands attr-dict `:`
    type($input) `,` type($gate) `,` type($up) `into` type($output)
  }];
}

def Strata_LaunchHeadAttentionOp : Strata_CommandOp<"launch_head_attention",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "absorb, attend and expand, head by head";
  let description = [{
    For each block of tokens and each head: the product with the head's part of `absorb_weight` (transposed) into `query`, an attention kernel
    (items are token × heads + head), and the product of what it wrote, `latent`, with the head's part of `expand_weight` into `output`.
    The first or the last product may be missing. With `scores` that kernel, of the same items, runs before the attention: it scores the keys that
    `launch_partial_scores` could not score yet. See `HeadAttention` in strata-rt/package.fbs. The test test/Strata/commands.mlir
    shows a module with kernels.

    Constraints:
    - (launch_head_attention_c1) absorb_input, absorb_weight and query come together, and so do latent, expand_weight and output.
    - (launch_head_attention_c2) scores have a kernel and arguments.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<Strata_LaunchArgument>:$arguments, I64Attr:$heads,
                       Optional<Strata_F32View>:$absorb_input, Optional<Strata_WeightValue>:$absorb_weight,
                       Optional<Strata_F32View>:$query, Optional<Strata_F32View>:$latent,
                       Optional<Strata_WeightValue>:$expand_weight, Optional<Strata_F32View>:$output, TypeAttr:$operands,
                       OptionalAttr<SymbolRefAttr>:$scores_kernel, Variadic<Strata_LaunchArgument>:$scores_arguments);
  let assemblyFormat = [{
    (`absorb` $absorb_input^ `,` $absorb_weight `into` $query)? (`scores` $scores_kernel^ `(` $scores_arguments `)`)?
    $kernel `(` $arguments `)` `heads` $heads
    (`expand` $latent^ `,` $expand_weight `into` $output)? `operands` $operands attr-dict `:`
    (`absorb` type($absorb_input)^ `,` type($absorb_weight) `into` type($query))?
    (`scores` `(` type($scores_arguments)^ `)`)? `(` type($arguments) `)`
    (`expand` type($latent)^ `,` type($expand_weight) `into` type($output))?
  }];
  let hasVerifier = 1;
}

def Strata_LaunchPartialScoresOp : Strata_CommandOp<"launch_partial_scores",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "absorb, and score the keys that are there";
  let description = [{
    The front of a `launch_head_attention`, for what need not wait: the absorbing product, and a kernel (items are token × heads + head) that
    writes the scores of some keys, or the state of an attention to them. The product may be missing. See `PartialScores` in
    strata-rt/package.fbs. The test test/Strata/commands.mlir shows a module with kernels.

    Constraints:
    - (launch_partial_scores_c1) absorb_input, absorb_weight and query come together.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<Strata_LaunchArgument>:$arguments, I64Attr:$heads,
                       Optional<Strata_F32View>:$absorb_input, Optional<Strata_WeightValue>:$absorb_weight,
                       Optional<Strata_F32View>:$query, TypeAttr:$operands);
  let assemblyFormat = [{
    (`absorb` $absorb_input^ `,` $absorb_weight `into` $query)? $kernel `(` $arguments `)` `heads` $heads `operands` $operands
    attr-dict `:` (`absorb` type($absorb_input)^ `,` type($absorb_weight) `into` type($query))? `(` type($arguments) `)`
  }];
  let hasVerifier = 1;
}

def Strata_LaunchGroupByExpertOp : Strata_CommandOp<"launch_group_by_expert"> {
  let summary = "sort the tokens' entries by expert";
  let description = [{
    See `GroupByExpert` in strata-rt/package.fbs.

    ```mlir
    func.func @group() {
      %e = strata.buffer rows <tokens = 1> slot 0 : memref<?x2xi32>
      %order = strata.buffer rows <tokens = 2> slot 1 : memref<?xi32>
      %rank = strata.buffer rows <tokens = 2> slot 2 : memref<?xi32>
      %offsets = strata.buffer rows <fixed = 5> slot 3 : memref<5xi32>
      strata.launch_group_by_expert %e into %order, %rank, %offsets {experts = 4} : memref<?x2xi32> into memref<?xi32>, memref<?xi32>, memref<5xi32>
      return
    }
    ```
  }];
  let arguments = (ins Strata_I32View:$chosen, Strata_I32View:$order, Strata_I32View:$rank, Strata_I32View:$offsets, I64Attr:$experts);
  let assemblyFormat = [{
    $chosen `into` $order `,` $rank `,` $offsets attr-dict `:` type($chosen) `into` type($order) `,` type($rank) `,` type($offsets)
  }];
}

def Strata_LaunchGroupedProductOp : Strata_CommandOp<"launch_grouped_product",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "multiply each expert's rows by its weight";
  let description = [{
    See `GroupedProduct` in strata-rt/package.fbs. With `up` and a kernel it is a gated product, as in `launch_gated_product`.

    Constraints:
    - (launch_grouped_product_c1) up and the kernel come together.

    ```mlir
    func.func @experts() {
      %w = strata.weight "experts.{0..3}.gate" stored f32 : tensor<4x32x64xf32>
      %order = strata.buffer rows <tokens = 2> slot 1 : memref<?xi32>
      %offsets = strata.buffer rows <fixed = 5> slot 3 : memref<5xi32>
      %x = strata.buffer rows <tokens = 1> slot 0 : memref<?x64xf32>
      %y = strata.buffer rows <tokens = 2> slot 4 : memref<?x32xf32>
      strata.launch_grouped_product %x, %w by %order, %offsets into %y gather operands f32 {experts_per_token = 2}
          : memref<?x64xf32>, tensor<4x32x64xf32>, memref<?xi32>, memref<5xi32> into memref<?x32xf32>
      return
    }
    ```
  }];
  let arguments = (ins Strata_F32View:$input, Strata_WeightValue:$weight, Optional<Strata_WeightValue>:$up,
                       Strata_I32View:$order, Strata_I32View:$offsets, Strata_F32View:$output,
                       OptionalAttr<SymbolRefAttr>:$kernel, UnitAttr:$gather, TypeAttr:$operands, I64Attr:$experts_per_token);
  let assemblyFormat = [{
    $input `,` $weight (`up` $up^)? `by` $order `,` $offsets `into` $output (`gate` $kernel^)? (`gather` $gather^)? `operands` $operands
    attr-dict `:` type($input) `,` type($weight) (`up` type($up)^)? `,` type($order) `,` type($offsets) `into` type($output)
  }];
  let hasVerifier = 1;
}

def Strata_LaunchRouteOp : Strata_CommandOp<"launch_route"> {
  let summary = "choose experts from router logits";
  let description = [{
    `route` from its logits on.

    ```mlir
    func.func @route() {
      %logits = strata.buffer rows <tokens = 1> slot 0 : memref<?x4xf32>
      %e = strata.buffer rows <tokens = 1> slot 1 : memref<?x2xi32>
      %w = strata.buffer rows <tokens = 1> slot 2 : memref<?x2xf32>
      strata.launch_route %logits into %e, %w scoring = sigmoid groups = 1 top_groups = 1 group_score = top_two_sum
          {normalise, scale = 2.5, ordinal = 0} : memref<?x4xf32> into memref<?x2xi32>, memref<?x2xf32>
      return
    }
    ```
  }];
  let arguments = (ins Strata_F32View:$logits, Optional<Strata_WeightValue>:$correction, Strata_I32View:$experts,
                       Strata_F32View:$weights, Strata_ScoringAttr:$scoring, I64Attr:$groups, I64Attr:$top_groups,
                       Strata_GroupScoreAttr:$group_score, UnitAttr:$normalise, F64Attr:$scale, I64Attr:$ordinal);
  let assemblyFormat = [{
    $logits (`correction` $correction^)? `into` $experts `,` $weights `scoring` `=` $scoring `groups` `=` $groups
    `top_groups` `=` $top_groups `group_score` `=` $group_score attr-dict `:`
    type($logits) (`,` type($correction)^)? `into` type($experts) `,` type($weights)
  }];
}

def Strata_LaunchSelectOp : Strata_CommandOp<"launch_select", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "select rows with a scoring kernel";
  let description = [{
    `select` on buffers; the kernel scores a range of one token's positions. `exported` rows are a result of the program. See `Select` in strata-rt/package.fbs for its
    arguments. Of a cache that streams through block buffers `engine` copies the blocks. The test test/Strata/commands.mlir shows a module with kernels.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Strata_F32View:$query, Strata_F32View:$head_weights, Strata_Cache:$cache,
                       Strata_I32View:$output, I64Attr:$k, I64Attr:$ordinal, UnitAttr:$exported, OptionalAttr<I64Attr>:$engine);
  let assemblyFormat = [{
    $kernel `(` $query `,` $head_weights `,` $cache `)` `into` $output (`exported` $exported^)? attr-dict `:`
    type($query) `,` type($head_weights) `,` type($cache) `into` type($output)
  }];
}

def Strata_LaunchImportRowsOp : Strata_CommandOp<"launch_import_rows"> {
  let summary = "take the rows that the caller gives";
  let description = [{
    Rows from outside where an indexer's would be; see `ImportRows` in strata-rt/package.fbs.

    ```mlir
    func.func @rows() {
      %rows = strata.buffer rows <tokens = 1> slot 0 : memref<?x8xi32>
      strata.launch_import_rows into %rows {ordinal = 0} : memref<?x8xi32>
      return
    }
    ```
  }];
  let arguments = (ins Strata_I32View:$output, I64Attr:$ordinal);
  let assemblyFormat = "`into` $output attr-dict `:` type($output)";
}

#endif // STRATA_DIALECTS_STRATA_STRATACOMMANDS_TD
