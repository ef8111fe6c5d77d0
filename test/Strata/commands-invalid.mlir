// RUN: strata-opt %s --split-input-file --verify-diagnostics

func.func @buffer_with_rows_of_no_size() {
  // expected-error @+1 {{(buffer_c1) expected a dense buffer whose first dimension is}}
  %x = strata.buffer rows <fixed = 4> : memref<?x8xf32>
  return
}

// -----

func.func @buffer_with_another_number_of_rows() {
  // expected-error @+1 {{(buffer_c1) expected a dense buffer whose first dimension is}}
  %x = strata.buffer rows <fixed = 4> : memref<5x8xf32>
  return
}

// -----

func.func @view_of_another_type(%x: memref<?x8xf32>) {
  // expected-error @+1 {{(view_c1) expected static strides and the element type of 'memref<?x8xf32>' but got 'memref<?x8xi32>'}}
  %y = strata.view %x offset 0 : memref<?x8xf32> to memref<?x8xi32>
  return
}

// -----

func.func @view_across_rows(%x: memref<?x8xf32>) {
  // expected-error @+1 {{(view_c2) expected rows with the stride of 'memref<?x8xf32>' but got 'memref<?x4xf32>'}}
  %y = strata.view %x offset 0 : memref<?x8xf32> to memref<?x4xf32>
  return
}

// -----

func.func @launch_without_a_kernel(%x: memref<?x8xf32>) {
  // expected-error @+1 {{(launch_c1) expected a kernel called @kernels::@absent but there is none}}
  strata.launch @kernels::@absent(%x) items <tokens = 1> grain 1 : memref<?x8xf32>
  return
}

// -----

module {
  module @kernels {
    func.func @double(%in: memref<?x8xf32>, %out: memref<?x8xf32>, %begin: index, %end: index) {
      return
    }
  }

  func.func @launch_with_too_few_arguments(%x: memref<?x8xf32>) {
    // expected-error @+1 {{(launch_c1) expected 2 arguments for @kernels::@double but got 1}}
    strata.launch @kernels::@double(%x) items <tokens = 1> grain 1 : memref<?x8xf32>
    return
  }
}

// -----

module {
  module @kernels {
    func.func @double(%in: memref<?x8xf32>, %out: memref<?x8xf32>, %begin: index, %end: index) {
      return
    }
  }

  func.func @launch_with_another_stride(%x: memref<?x8xf32>, %y: memref<?x8xf32, strided<[16, 1]>>) {
    // expected-error @+1 {{(launch_c2) expected argument 1 to be 'memref<?x8xf32>' but got 'memref<?x8xf32, strided<[16, 1]>>'}}
    strata.launch @kernels::@double(%x, %y) items <tokens = 1> grain 1 : memref<?x8xf32>, memref<?x8xf32, strided<[16, 1]>>
    return
  }
}

// -----

func.func @product_with_too_few_outputs(%x: memref<?x8xf32>, %w: tensor<4x8xf32>, %y: memref<?x4xf32>) {
  // expected-error @+1 {{(launch_product_c1) expected an output for each weight, and a bias for each or none, but got 2 weights, 1 outputs and 0 biases}}
  strata.launch_product %x, (%w, %w) into (%y) rows <tokens = 1> operands f32 : memref<?x8xf32>, (tensor<4x8xf32>, tensor<4x8xf32>) into (memref<?x4xf32>)
  return
}

// -----

func.func @product_with_a_residual_of_another_shape(%x: memref<?x8xf32>, %w: tensor<4x8xf32>, %y: memref<?x4xf32>) {
  // expected-error @+1 {{(launch_product_c2) expected a residual of the shape of the only output but got 'memref<?x8xf32>'}}
  strata.launch_product %x, (%w) residual %x into (%y) rows <tokens = 1> operands f32 : memref<?x8xf32>, (tensor<4x8xf32>) residual memref<?x8xf32> into (memref<?x4xf32>)
  return
}

// -----

func.func @residual_of_two_outputs(%x: memref<?x8xf32>, %w: tensor<4x8xf32>, %y: memref<?x4xf32>, %z: memref<?x4xf32>) {
  // expected-error @+1 {{(launch_product_c2) expected a residual of the shape of the only output but got 'memref<?x4xf32>'}}
  strata.launch_product %x, (%w, %w) residual %y into (%y, %z) rows <tokens = 1> operands f32 : memref<?x8xf32>, (tensor<4x8xf32>, tensor<4x8xf32>) residual memref<?x4xf32> into (memref<?x4xf32>, memref<?x4xf32>)
  return
}

// -----

func.func @gated_product_without_a_kernel(%x: memref<?x8xf32>, %w: tensor<4x8xf32>, %y: memref<?x4xf32>) {
  // expected-error @+1 {{(launch_c1) expected a kernel called @kernels::@absent but there is none}}
  strata.launch_gated_product %x, %w, %w into %y by @kernels::@absent rows <tokens = 1> operands f32 : memref<?x8xf32>, tensor<4x8xf32>, tensor<4x8xf32> into memref<?x4xf32>
  return
}

// -----

func.func @head_attention_without_a_kernel(%x: memref<?x2x8xf32>) {
  // expected-error @+1 {{(launch_c1) expected a kernel called @kernels::@absent but there is none}}
  strata.launch_head_attention @kernels::@absent(%x) heads 2 operands f32 : (memref<?x2x8xf32>)
  return
}

// -----

func.func @partial_scores_without_a_kernel(%x: memref<?x2x8xf32>) {
  // expected-error @+1 {{(launch_c1) expected a kernel called @kernels::@absent but there is none}}
  strata.launch_partial_scores @kernels::@absent(%x) heads 2 operands f32 : (memref<?x2x8xf32>)
  return
}

// -----

module {
  module @kernels {
    func.func @attention(%query: memref<?x2x8xf32>, %begin: index, %end: index) {
      return
    }
  }
  func.func @scores_without_a_kernel(%x: memref<?x2x8xf32>) {
    // expected-error @+1 {{(launch_c1) expected a kernel called @kernels::@absent but there is none}}
    strata.launch_head_attention scores @kernels::@absent(%x) @kernels::@attention(%x) heads 2 operands f32 : scores (memref<?x2x8xf32>) (memref<?x2x8xf32>)
    return
  }
}

// -----

func.func @scores_without_arguments(%x: memref<?x2x8xf32>) {
  // expected-error @+1 {{(launch_head_attention_c2) expected kernel and arguments of scores together}}
  "strata.launch_head_attention"(%x) {kernel = @kernels::@attention, scores_kernel = @kernels::@scores, heads = 2 : i64, operands = f32, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (memref<?x2x8xf32>) -> ()
  return
}

// -----

func.func @partial_scores_with_half_a_product(%x: memref<?x2x8xf32>) {
  // expected-error @+1 {{(launch_partial_scores_c1) expected input, weight and output of a product together}}
  "strata.launch_partial_scores"(%x, %x) {kernel = @kernels::@scores, heads = 2 : i64, operands = f32, operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (memref<?x2x8xf32>, memref<?x2x8xf32>) -> ()
  return
}

// -----

func.func @experts_with_up_and_no_kernel(%x: memref<?x64xf32>, %w: tensor<4x32x64xf32>, %order: memref<?xi32>, %offsets: memref<5xi32>, %y: memref<?x32xf32>) {
  // expected-error @+1 {{(launch_grouped_product_c1) expected up and a kernel together}}
  strata.launch_grouped_product %x, %w up %w by %order, %offsets into %y gather operands f32 {experts_per_token = 2} : memref<?x64xf32>, tensor<4x32x64xf32> up tensor<4x32x64xf32>, memref<?xi32>, memref<5xi32> into memref<?x32xf32>
  return
}

// -----

func.func @resolve_without_misses(%x: memref<?x8xi32>) {
  // expected-error @+1 {{(launch_resolve_c1) expected slots, hits and misses, or a limit instead of them}}
  "strata.launch_resolve"(%x, %x, %x) {table = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<?x8xi32>, memref<?x8xi32>, memref<?x8xi32>) -> ()
  return
}

// -----

func.func @resolve_with_slots_and_a_limit(%x: memref<?x8xi32>) {
  // expected-error @+1 {{(launch_resolve_c1) expected slots, hits and misses, or a limit instead of them}}
  strata.launch_resolve %x into %x, %x, %x {limit = 2, table = 0} : memref<?x8xi32> into memref<?x8xi32>, memref<?x8xi32>, memref<?x8xi32>
  return
}

// -----

func.func @reload_of_nothing() {
  // expected-error @+1 {{(launch_reload_c1) expected either a weight or a cache}}
  strata.launch_reload engine 0 transfer 0
  return
}

// -----

func.func @reload_of_two_things() {
  %w = strata.weight "w" stored f32 : tensor<8xf32>
  // expected-error @+1 {{(launch_reload_c1) expected either a weight or a cache}}
  strata.launch_reload (%w) engine 0 transfer 0 {cache = 0 : i64} : tensor<8xf32>
  return
}
