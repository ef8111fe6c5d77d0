// What a lowered module becomes: each kind of value, and each kind of command.
// RUN: strata-compile --from=lower %s --cpu=x86-64,x86-64-v3 -o %t.strata
// RUN: strata-run --print %t.strata | FileCheck %s

module attributes {strata.model_type = "test", strata.max_positions = 128 : i64, strata.eos_token_ids = array<i32: 1, 2>, strata.compute = bf16} {
  module @kernels {
    func.func @copy_8(%x: memref<?x8xf32, strided<[24, 1]>>, %y: memref<?x8xf32>, %begin: index, %end: index) {
      return
    }
    // The same code under another name is the same kernel.
    func.func @copy_again(%x: memref<?x8xf32, strided<[24, 1]>>, %y: memref<?x8xf32>, %begin: index, %end: index) {
      return
    }
    func.func @"norm_eps1e-05"(%ids: memref<?xi32>, %scale: memref<8xf32>, %table: memref<4x8xbf16>, %cache: memref<?xf32>, %begin: index, %end: index) {
      return
    }
    func.func @score_8(%query: memref<2x8xf32>, %weights: memref<2xf32>, %cache: memref<?xf32>, %pages: memref<?xi32>, %out: memref<?xf32>, %begin: index, %end: index) {
      return
    }
    func.func @silu(%gate: memref<?xf32>, %up: memref<?xf32>, %result: memref<?xf32>, %begin: index, %end: index) {
      return
    }
    func.func @attention_16(%query: memref<?x3x16xf32>, %norm: memref<8xf32>, %latent: memref<?x3x16xf32>, %begin: index, %end: index) {
      return
    }
    func.func @unused(%begin: index, %end: index) {
      return
    }
  }

  func.func @step(%batch: !strata.batch, %keys: !strata.cache<key_value 24xf32, key 8xf32, page = 32, rope = interleaved> {strata.name = "layer 0 keys"},
                  %index: !strata.cache<key 8xf32, page = 32, rope = half, hadamard>) -> memref<?x16xf32> {
    // CHECK: model test: vocabulary 16, 128 positions, 1 indexers, 1 mixtures
    // CHECK: end of sequence: 1 2
    // CHECK: products round to bf16
    // CHECK: object for x86-64:
    // CHECK: object for x86-64-v3:
    // CHECK: input module: 0 bytes
    // CHECK: kernels: copy_8 norm_eps1e_05 score_8 silu attention_16{{$}}
    // CHECK: cache 0: layer 0 keys, pages of 32, interleaved, rope Interleaved, KeyValue 1 x 24 f32, Key 1 x 8 f32
    // CHECK: cache 1: cache1, pages of 32, interleaved, rope Half, hadamard, Key 1 x 8 f32

    // CHECK: weight 0: norm [8] bf16, widened
    // CHECK: weight 1: table [4, 8] bf16{{$}}
    // CHECK: weight 2: up [3, 8, 16] bf16, rows 4 to 12 of every 12
    // CHECK: weight 3: bias [24] f16, widened
    // CHECK: weight 4: correction [4] f32, widened
    // CHECK: weight 5: experts.{0..3}.gate [4, 8, 8] f8E4M3FN, scales experts.{0..3}.scale by 128 x 64
    // CHECK: weight 6: layers.0.q_proj.weight [8, 8] bf16{{$}}
    // CHECK: weight 7: layers.0.k_proj.weight [4, 8] bf16{{$}}
    // CHECK: weight 8: experts.{0..3}.up [4, 8, 8] bf16{{$}}
    %norm = strata.weight "norm" stored bf16 : tensor<8xf32>
    %table = strata.weight "table" stored bf16 : tensor<4x8xf32>
    %up = strata.weight "up" stored bf16 part <groups = 3, stride = 12, offset = 4> : tensor<3x8x16xf32>
    %same_up = strata.weight "up" stored bf16 part <groups = 3, stride = 12, offset = 4> {strata.layer = 7} : tensor<3x8x16xf32>
    %bias = strata.weight "bias" stored f16 : tensor<24xf32>
    %gate = strata.weight "experts.{0..3}.gate" stored f8E4M3FN scales <name = "experts.{0..3}.scale", rows = 128, columns = 64> : tensor<4x8x8xf32>
    %up_stack = strata.weight "experts.{0..3}.up" stored bf16 : tensor<4x8x8xf32>
    %q = strata.weight "layers.0.q_proj.weight" stored bf16 : tensor<8x8xf32>
    %k = strata.weight "layers.0.k_proj.weight" stored bf16 : tensor<4x8xf32>
    %correction = strata.weight "correction" stored f32 : tensor<4xf32>

    // A slot is as large as its largest buffer, for every size of step.
    // CHECK: slot 0: 192 x tokens bytes
    // CHECK: slot 1: 64 x tokens + 20 bytes
    // CHECK: slot 2: 64 x wanted bytes
    %wide = strata.buffer rows <tokens = 1> slot 0 : memref<?x3x16xf32>
    %narrow = strata.buffer rows <tokens = 1> slot 0 : memref<?x3x8xf32>
    %small = strata.buffer rows <tokens = 2> slot 1 : memref<?x8xf32>
    %offsets = strata.buffer rows <fixed = 5> slot 1 : memref<5xi32>
    %logits = strata.buffer rows <wanted = 1> slot 2 : memref<?x16xf32>
    %chosen = strata.buffer rows <tokens = 1> slot 3 : memref<?x2xi32>
    %shares = strata.buffer rows <tokens = 1> slot 4 : memref<?x2xf32>
    %order = strata.buffer rows <tokens = 2> slot 5 : memref<?xi32>
    %rank = strata.buffer rows <tokens = 2> slot 6 : memref<?xi32>
    %scores = strata.buffer rows <tokens = 1> slot 7 : memref<?x4xf32>
    %rows = strata.buffer rows <tokens = 1> slot 8 : memref<?x16xi32>
    %first = strata.buffer rows <tokens = 1> slot 9 : memref<?x8xf32>
    %second = strata.buffer rows <tokens = 1> slot 10 : memref<?x4xf32>
    %latent = strata.buffer rows <tokens = 1> slot 11 : memref<?x3x16xf32>

    // Offsets of views add up, in bytes.
    %heads = strata.view %narrow offset 8 : memref<?x3x8xf32> to memref<?x2x8xf32, strided<[24, 8, 1], offset: 8>>
    %last = strata.view %heads offset 8 : memref<?x2x8xf32, strided<[24, 8, 1], offset: 8>> to memref<?x8xf32, strided<[24, 1], offset: 16>>
    // CHECK: command 0 (layer 3 copy): Launch copy_8(slot 0 + 64, slot 1) over 2 x tokens + wanted + 1, grain 4
    strata.launch @kernels::@copy_8(%last, %small) items <tokens = 2, wanted = 1, fixed = 1> grain 4 {strata.layer = 3 : i64} : memref<?x8xf32, strided<[24, 1], offset: 16>>, memref<?x8xf32>
    // CHECK: command 1 (copy_again): Launch copy_8(
    strata.launch @kernels::@copy_again(%last, %small) items <tokens = 1> grain 1 : memref<?x8xf32, strided<[24, 1], offset: 16>>, memref<?x8xf32>
    // CHECK: command 2 (norm): Launch norm_eps1e_05(TokenIds, weight 0, weight 1, cache 0)
    %ids = strata.step_array token_ids of %batch : memref<?xi32>
    strata.launch @kernels::@"norm_eps1e-05"(%ids, %norm, %table, %keys) items <tokens = 1> grain 1 : memref<?xi32>, tensor<8xf32>, tensor<4x8xf32>, !strata.cache<key_value 24xf32, key 8xf32, page = 32, rope = interleaved>
    // CHECK: command 3 (rope_table): RopeTable to (slot 1 by 8), factor 1, frequencies 1 0.1{{.*}} 0.01 0.001
    strata.launch_rope_table %small {table = #strata.rope<theta = 1.0e4, layout = half>, width = 8} : memref<?x8xf32>
    // CHECK: command 4 (layer 3 product up): Product (slot 0 by 48, 16) x weight 2 + weight 3 to (slot 0 by 24, 8), rows tokens, batch 3, 16 to 8, operands bf16
    strata.launch_product %wide, (%up) bias (%bias) into (%narrow) rows <tokens = 1> operands bf16 {strata.layer = 3 : i64} : memref<?x3x16xf32>, (tensor<3x8x16xf32>) bias (tensor<24xf32>) into (memref<?x3x8xf32>)
    // CHECK: command 5 (product up): Product (slot 0 by 24, 8) x weight 2 transposed to (slot 0 by 48, 16), rows tokens, batch 3, 8 to 16, operands f32
    strata.launch_product %narrow, (%same_up) into (%wide) rows <tokens = 1> transposed operands f32 : memref<?x3x8xf32>, (tensor<3x8x16xf32>) into (memref<?x3x16xf32>)
    // CHECK: command 6 (route): Route 0: (slot 7 by 4) + weight 4 to experts slot 3, weights slot 4, 2 of 4 experts by Softmax, 1 of 2 groups by Maximum, normalised, scale 2.5
    strata.launch_route %scores correction %correction into %chosen, %shares scoring = softmax groups = 2 top_groups = 1 group_score = maximum {normalise, scale = 2.5, ordinal = 0} : memref<?x4xf32>, tensor<4xf32> into memref<?x2xi32>, memref<?x2xf32>
    // CHECK: command 7 (group_by_expert): GroupByExpert slot 3 to order slot 5, rank slot 6, offsets slot 1, 2 of 4 experts
    strata.launch_group_by_expert %chosen into %order, %rank, %offsets {experts = 4} : memref<?x2xi32> into memref<?xi32>, memref<?xi32>, memref<5xi32>
    // CHECK: command 8 (product gate): GroupedProduct (slot 1 by 8) x weight 5 to (slot 1 by 8), order slot 5, offsets slot 1, 2 of 4 experts, 8 to 8, operands bf16
    strata.launch_grouped_product %small, %gate by %order, %offsets into %small operands bf16 {experts_per_token = 2} : memref<?x8xf32>, tensor<4x8x8xf32>, memref<?xi32>, memref<5xi32> into memref<?x8xf32>
    // CHECK: command 9 (select): Select 0: score_8 of query (slot 0 + 32 by 24, 8), head weights (slot 4 by 2), cache 1 to slot 8, k 16
    strata.launch_select @kernels::@score_8(%heads, %shares, %index) into %rows {k = 16, ordinal = 0} : memref<?x2x8xf32, strided<[24, 8, 1], offset: 8>>, memref<?x2xf32>, <key 8xf32, page = 32, rope = half, hadamard> into memref<?x16xi32>
    // CHECK: command 10 (product q_proj + k_proj): Product (slot 1 by 8) x weight 6 to (slot 9 by 8), x weight 7 to (slot 10 by 4), rows tokens, batch 1, 8 to 8 and 4, operands bf16
    strata.launch_product %small, (%q, %k) into (%first, %second) rows <tokens = 1> operands bf16 : memref<?x8xf32>, (tensor<8x8xf32>, tensor<4x8xf32>) into (memref<?x8xf32>, memref<?x4xf32>)
    // CHECK: command 11 (product q_proj): Product (slot 1 by 8) x weight 6 + (slot 9 by 8) to (slot 9 by 8), rows tokens, batch 1, 8 to 8, operands f32
    strata.launch_product %small, (%q) residual %first into (%first) rows <tokens = 1> operands f32 : memref<?x8xf32>, (tensor<8x8xf32>) residual memref<?x8xf32> into (memref<?x8xf32>)
    // CHECK: command 12 (product q_proj + q_proj): GatedProduct (slot 1 by 8) x weight 6 gates weight 6 by silu to (slot 9 by 8), rows tokens, 8 to 8, operands bf16
    strata.launch_gated_product %small, %q, %q into %first by @kernels::@silu rows <tokens = 1> operands bf16 : memref<?x8xf32>, tensor<8x8xf32>, tensor<8x8xf32> into memref<?x8xf32>
    // CHECK: command 13 (product gate + up): GroupedProduct (slot 9 by 8 gathered) x weight 5 gates weight 8 by silu to (slot 1 by 8), order slot 5, offsets slot 1, 2 of 4 experts, 8 to 8, operands bf16
    strata.launch_grouped_product %first, %gate up %up_stack by %order, %offsets into %small gate @kernels::@silu gather operands bf16 {experts_per_token = 2} : memref<?x8xf32>, tensor<4x8x8xf32> up tensor<4x8x8xf32>, memref<?xi32>, memref<5xi32> into memref<?x8xf32>
    // CHECK: command 14 (layer 3 attention): HeadAttention 3 heads: (slot 0 by 24, 8) x weight 2 transposed to (slot 0 by 48, 16), rows tokens, batch 3, 8 to 16, operands f32; then attention_16(slot 0, weight 0, slot 11) over 3 x tokens, grain 1; then (slot 11 by 48, 16) x weight 2 to (slot 0 by 24, 8), rows tokens, batch 3, 16 to 8, operands f32
    strata.launch_head_attention absorb %narrow, %up into %wide @kernels::@attention_16(%wide, %norm, %latent) heads 3 expand %latent, %up into %narrow operands f32 {strata.layer = 3 : i64} : absorb memref<?x3x8xf32>, tensor<3x8x16xf32> into memref<?x3x16xf32> (memref<?x3x16xf32>, tensor<8xf32>, memref<?x3x16xf32>) expand memref<?x3x16xf32>, tensor<3x8x16xf32> into memref<?x3x8xf32>
    // CHECK: command 15 (attention): HeadAttention 3 heads: attention_16(slot 0, weight 0, slot 11) over 3 x tokens, grain 1; then (slot 11 by 48, 16) x weight 2 to (slot 0 by 24, 8)
    strata.launch_head_attention @kernels::@attention_16(%wide, %norm, %latent) heads 3 expand %latent, %up into %narrow operands f32 : (memref<?x3x16xf32>, tensor<8xf32>, memref<?x3x16xf32>) expand memref<?x3x16xf32>, tensor<3x8x16xf32> into memref<?x3x8xf32>
    // CHECK: command 16 (attention): PartialScores 3 heads: (slot 0 by 24, 8) x weight 2 transposed to (slot 0 by 48, 16), rows tokens, batch 3, 8 to 16, operands f32; then attention_16(slot 0, weight 0, slot 11) over 3 x tokens, grain 1
    strata.launch_partial_scores absorb %narrow, %up into %wide @kernels::@attention_16(%wide, %norm, %latent) heads 3 operands f32 : absorb memref<?x3x8xf32>, tensor<3x8x16xf32> into memref<?x3x16xf32> (memref<?x3x16xf32>, tensor<8xf32>, memref<?x3x16xf32>)
    // CHECK: command 17 (attention): HeadAttention 3 heads: attention_16(slot 11, weight 0, slot 0) over 3 x tokens, grain 1; then attention_16(slot 0, weight 0, slot 11) over 3 x tokens, grain 1
    strata.launch_head_attention scores @kernels::@attention_16(%latent, %norm, %wide) @kernels::@attention_16(%wide, %norm, %latent) heads 3 operands f32 : scores (memref<?x3x16xf32>, tensor<8xf32>, memref<?x3x16xf32>) (memref<?x3x16xf32>, tensor<8xf32>, memref<?x3x16xf32>)
    // CHECK: logits: slot 2 by 16
    return %logits : memref<?x16xf32>
  }
}
