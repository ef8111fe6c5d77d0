// RUN: strata-opt %s --split-input-file --verify-diagnostics

func.func @results(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{(kernel_c1) expected strata.yield with the types of the results}}
  %0 = strata.kernel rows {
    %1 = strata.hadamard %x : tensor<?x64xf32>
    strata.yield %1 : tensor<?x64xf32>
  } : tensor<?x32xf32>
  return
}

// -----

func.func @other_kind(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) {
  // expected-error@+1 {{(kernel_c2) expected ops of a kernel of rows}}
  %0 = strata.kernel rows {
    // expected-note@+1 {{but got strata.linear}}
    %1 = strata.linear %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
    strata.yield %1 : tensor<?x64xf32>
  } : tensor<?x64xf32>
  return
}

// -----

func.func @gated(%x: tensor<?x64xf32>, %gate: tensor<96x64xf32>, %up: tensor<96x32xf32>) {
  // expected-error@+1 {{(gated_linear_c1) expected up of shape [96, 64] but got [96, 32]}}
  %0 = strata.gated_linear %x, %gate, %up activation = silu : (tensor<?x64xf32>, tensor<96x64xf32>, tensor<96x32xf32>) -> tensor<?x96xf32>
  return
}

// -----

func.func @outputs(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %gate: tensor<4x32x64xf32>, %down: tensor<4x64x16xf32>) {
  // expected-error@+1 {{(expert_outputs_c1) expected down of shape [4, 64, 32] but got [4, 64, 16]}}
  %0 = strata.expert_outputs %x, %e, %gate, %gate, %down activation = silu : (tensor<?x64xf32>, tensor<?x2xi32>, tensor<4x32x64xf32>, tensor<4x32x64xf32>, tensor<4x64x16xf32>) -> tensor<?x2x64xf32>
  return
}

// -----

func.func @outputs_result(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %gate: tensor<4x32x64xf32>, %down: tensor<4x64x32xf32>) {
  // expected-error@+1 {{(expert_outputs_c2) expected a result of shape [?, 2, 64] but got [?, 3, 64]}}
  %0 = strata.expert_outputs %x, %e, %gate, %gate, %down activation = silu : (tensor<?x64xf32>, tensor<?x2xi32>, tensor<4x32x64xf32>, tensor<4x32x64xf32>, tensor<4x64x32xf32>) -> tensor<?x3x64xf32>
  return
}

// -----

func.func @combine(%y: tensor<?x2x64xf32>, %w: tensor<?x3xf32>) {
  // expected-error@+1 {{(combine_experts_c1) expected weights of shape [?, 2] but got [?, 3]}}
  %0 = strata.combine_experts %y, %w : (tensor<?x2x64xf32>, tensor<?x3xf32>) -> tensor<?x64xf32>
  return
}
