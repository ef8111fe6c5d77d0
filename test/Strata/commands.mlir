// RUN: strata-opt %s | strata-opt | FileCheck %s

module {
  // What a kernel gets: one argument for each operand of the launch, then the range of items.
  module @kernels {
    func.func @double(%in: memref<?x64xf32>, %out: memref<?x64xf32>, %begin: index, %end: index) {
      %one = arith.constant 1 : index
      %zero = arith.constant 0 : index
      scf.for %item = %begin to %end step %one {
        %x = vector.load %in[%item, %zero] : memref<?x64xf32>, vector<64xf32>
        %y = arith.addf %x, %x : vector<64xf32>
        vector.store %y, %out[%item, %zero] : memref<?x64xf32>, vector<64xf32>
      }
      return
    }
    func.func @scale(%in: memref<?x2x8xf32, strided<[64, 8, 1]>>, %weight: memref<8xbf16>, %begin: index, %end: index) {
      return
    }
    func.func @score(%query: memref<4x8xf32>, %weights: memref<4xf32>, %cache: memref<?xf32>, %pages: memref<?xi32>,
                     %out: memref<?xf32>, %begin: index, %end: index) {
      return
    }
    func.func @gate(%gate: memref<?xf32>, %up: memref<?xf32>, %result: memref<?xf32>, %begin: index, %end: index) {
      return
    }
    func.func @attention(%query: memref<?x4x8xf32>, %latent: memref<?x4x8xf32>, %begin: index, %end: index) {
      return
    }
  }

  // CHECK-LABEL: func.func @launch
  func.func @launch() {
    %in = strata.buffer rows <tokens = 1> slot 0 : memref<?x64xf32>
    %out = strata.buffer rows <tokens = 1> slot 1 : memref<?x64xf32>
    // CHECK: strata.launch @kernels::@double(%[[IN:.*]], %[[OUT:.*]]) items <tokens = 1> grain 16 : memref<?x64xf32>, memref<?x64xf32>
    strata.launch @kernels::@double(%in, %out) items <tokens = 1> grain 16 : memref<?x64xf32>, memref<?x64xf32>
    return
  }

  // CHECK-LABEL: func.func @launch_on_a_view_and_a_weight
  func.func @launch_on_a_view_and_a_weight() {
    %buffer = strata.buffer rows <tokens = 1> slot 0 : memref<?x64xf32>
    %weight = strata.weight "norm" stored bf16 : tensor<8xf32>
    // The kernel's type has no offset: the command adds it to the pointer.
    %view = strata.view %buffer offset 16 : memref<?x64xf32> to memref<?x2x8xf32, strided<[64, 8, 1], offset: 16>>
    // CHECK: strata.launch @kernels::@scale({{.*}}) items <wanted = 1, fixed = 2> grain 1
    strata.launch @kernels::@scale(%view, %weight) items <wanted = 1, fixed = 2> grain 1 : memref<?x2x8xf32, strided<[64, 8, 1], offset: 16>>, tensor<8xf32>
    return
  }

  // CHECK-LABEL: func.func @select
  func.func @select(%keys: !strata.cache<key 8xf32, page = 64>) {
    %query = strata.buffer rows <tokens = 1> slot 0 : memref<?x4x8xf32>
    %weights = strata.buffer rows <tokens = 1> slot 1 : memref<?x4xf32>
    %rows = strata.buffer rows <tokens = 1> slot 2 : memref<?x16xi32>
    // CHECK: strata.launch_select @kernels::@score({{.*}}) into %{{.*}} {k = 16 : i64, ordinal = 0 : i64}
    strata.launch_select @kernels::@score(%query, %weights, %keys) into %rows {k = 16, ordinal = 0} : memref<?x4x8xf32>, memref<?x4xf32>, <key 8xf32, page = 64> into memref<?x16xi32>
    return
  }

  // CHECK-LABEL: func.func @products
  func.func @products() {
    %w = strata.weight "w" stored bf16 : tensor<32x64xf32>
    %v = strata.weight "v" stored bf16 : tensor<8x64xf32>
    %b = strata.weight "b" stored bf16 : tensor<32xf32>
    %c = strata.weight "c" stored bf16 : tensor<8xf32>
    %x = strata.buffer rows <tokens = 1> slot 0 : memref<?x64xf32>
    %y = strata.buffer rows <tokens = 1> slot 1 : memref<?x32xf32>
    %z = strata.buffer rows <tokens = 1> slot 2 : memref<?x8xf32>
    // CHECK: strata.launch_product %{{.*}}, (%{{.*}}, %{{.*}}) bias(%{{.*}}, %{{.*}}) into(%{{.*}}, %{{.*}}) rows <tokens = 1> operands bf16 : memref<?x64xf32>, (tensor<32x64xf32>, tensor<8x64xf32>) bias(tensor<32xf32>, tensor<8xf32>) into(memref<?x32xf32>, memref<?x8xf32>)
    strata.launch_product %x, (%w, %v) bias (%b, %c) into (%y, %z) rows <tokens = 1> operands bf16 : memref<?x64xf32>, (tensor<32x64xf32>, tensor<8x64xf32>) bias (tensor<32xf32>, tensor<8xf32>) into (memref<?x32xf32>, memref<?x8xf32>)
    // CHECK: strata.launch_product %{{.*}}, (%{{.*}}) bias(%{{.*}}) residual %[[Y:.*]] into(%[[Y]]) rows <tokens = 1> operands f32 : memref<?x64xf32>, (tensor<32x64xf32>) bias(tensor<32xf32>) residual memref<?x32xf32> into(memref<?x32xf32>)
    strata.launch_product %x, (%w) bias (%b) residual %y into (%y) rows <tokens = 1> operands f32 : memref<?x64xf32>, (tensor<32x64xf32>) bias (tensor<32xf32>) residual memref<?x32xf32> into (memref<?x32xf32>)
    // CHECK: strata.launch_product %{{.*}}, (%{{.*}}) residual %[[Y]] into(%[[Y]]) rows <tokens = 1> operands f32 : memref<?x64xf32>, (tensor<32x64xf32>) residual memref<?x32xf32> into(memref<?x32xf32>)
    strata.launch_product %x, (%w) residual %y into (%y) rows <tokens = 1> operands f32 : memref<?x64xf32>, (tensor<32x64xf32>) residual memref<?x32xf32> into (memref<?x32xf32>)
    // CHECK: strata.launch_gated_product %{{.*}}, %{{.*}}, %{{.*}} into %[[Y]] by @kernels::@gate rows <tokens = 1> operands bf16
    strata.launch_gated_product %x, %w, %w into %y by @kernels::@gate rows <tokens = 1> operands bf16 : memref<?x64xf32>, tensor<32x64xf32>, tensor<32x64xf32> into memref<?x32xf32>
    return
  }

  // CHECK-LABEL: func.func @gated_experts
  func.func @gated_experts() {
    %w = strata.weight "experts.{0..3}.gate" stored f32 : tensor<4x32x64xf32>
    %order = strata.buffer rows <tokens = 2> slot 1 : memref<?xi32>
    %offsets = strata.buffer rows <fixed = 5> slot 3 : memref<5xi32>
    %x = strata.buffer rows <tokens = 1> slot 0 : memref<?x64xf32>
    %y = strata.buffer rows <tokens = 2> slot 4 : memref<?x32xf32>
    // CHECK: strata.launch_grouped_product %{{.*}}, %[[W:.*]] up %[[W]] by %{{.*}}, %{{.*}} into %{{.*}} gate @kernels::@gate gather operands f32 {experts_per_token = 2 : i64} : memref<?x64xf32>, tensor<4x32x64xf32> up tensor<4x32x64xf32>, memref<?xi32>, memref<5xi32> into memref<?x32xf32>
    strata.launch_grouped_product %x, %w up %w by %order, %offsets into %y gate @kernels::@gate gather operands f32 {experts_per_token = 2} : memref<?x64xf32>, tensor<4x32x64xf32> up tensor<4x32x64xf32>, memref<?xi32>, memref<5xi32> into memref<?x32xf32>
    return
  }

  // CHECK-LABEL: func.func @head_attention
  func.func @head_attention() {
    %absorb = strata.weight "absorb" stored f32 : tensor<4x16x8xf32>
    %expand = strata.weight "expand" stored f32 : tensor<4x2x8xf32>
    %x = strata.buffer rows <tokens = 1> slot 0 : memref<?x4x16xf32>
    %query = strata.buffer rows <tokens = 1> slot 1 : memref<?x4x8xf32>
    %latent = strata.buffer rows <tokens = 1> slot 2 : memref<?x4x8xf32>
    %y = strata.buffer rows <tokens = 1> slot 3 : memref<?x4x2xf32>
    // CHECK: strata.launch_head_attention absorb %{{.*}}, %{{.*}} into %[[QUERY:.*]] @kernels::@attention(%[[QUERY]], %[[LATENT:.*]]) heads 4 expand %[[LATENT]], %{{.*}} into %{{.*}} operands f32
    strata.launch_head_attention absorb %x, %absorb into %query @kernels::@attention(%query, %latent) heads 4 expand %latent, %expand into %y operands f32 : absorb memref<?x4x16xf32>, tensor<4x16x8xf32> into memref<?x4x8xf32> (memref<?x4x8xf32>, memref<?x4x8xf32>) expand memref<?x4x8xf32>, tensor<4x2x8xf32> into memref<?x4x2xf32>
    // CHECK: strata.launch_head_attention @kernels::@attention(%[[QUERY]], %[[LATENT]]) heads 4 expand %[[LATENT]], %{{.*}} into %{{.*}} operands f32
    strata.launch_head_attention @kernels::@attention(%query, %latent) heads 4 expand %latent, %expand into %y operands f32 : (memref<?x4x8xf32>, memref<?x4x8xf32>) expand memref<?x4x8xf32>, tensor<4x2x8xf32> into memref<?x4x2xf32>
    // CHECK: strata.launch_head_attention absorb %{{.*}}, %{{.*}} into %[[QUERY]] @kernels::@attention(%[[QUERY]], %[[LATENT]]) heads 4 operands f32
    strata.launch_head_attention absorb %x, %absorb into %query @kernels::@attention(%query, %latent) heads 4 operands f32 : absorb memref<?x4x16xf32>, tensor<4x16x8xf32> into memref<?x4x8xf32> (memref<?x4x8xf32>, memref<?x4x8xf32>)
    // CHECK: strata.launch_partial_scores absorb %{{.*}}, %{{.*}} into %[[QUERY]] @kernels::@attention(%[[QUERY]], %[[LATENT]]) heads 4 operands f32
    strata.launch_partial_scores absorb %x, %absorb into %query @kernels::@attention(%query, %latent) heads 4 operands f32 : absorb memref<?x4x16xf32>, tensor<4x16x8xf32> into memref<?x4x8xf32> (memref<?x4x8xf32>, memref<?x4x8xf32>)
    // CHECK: strata.launch_partial_scores @kernels::@attention(%[[QUERY]], %[[LATENT]]) heads 4 operands f32
    strata.launch_partial_scores @kernels::@attention(%query, %latent) heads 4 operands f32 : (memref<?x4x8xf32>, memref<?x4x8xf32>)
    // CHECK: strata.launch_head_attention scores @kernels::@attention(%[[LATENT]], %[[QUERY]]) @kernels::@attention(%[[QUERY]], %[[LATENT]]) heads 4 operands f32
    strata.launch_head_attention scores @kernels::@attention(%latent, %query) @kernels::@attention(%query, %latent) heads 4 operands f32 : scores (memref<?x4x8xf32>, memref<?x4x8xf32>) (memref<?x4x8xf32>, memref<?x4x8xf32>)
    return
  }
}
