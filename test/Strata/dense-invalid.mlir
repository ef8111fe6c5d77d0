// RUN: strata-opt %s --split-input-file --verify-diagnostics

func.func @embedding(%ids: tensor<?xi32>, %t: tensor<256x64xf32>) {
  // expected-error@+1 {{(embedding_c1) expected the result's features to be 64 but got 32}}
  %0 = strata.embedding %ids, %t : (tensor<?xi32>, tensor<256x64xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @linear_inputs(%x: tensor<?x64xf32>, %w: tensor<32x60xf32>) {
  // expected-error@+1 {{(linear_c1) expected the weight's inputs to be 64 but got 60}}
  %0 = strata.linear %x, %w : (tensor<?x64xf32>, tensor<32x60xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @linear_outputs(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) {
  // expected-error@+1 {{(linear_c2) expected the result's features to be 32 but got 31}}
  %0 = strata.linear %x, %w : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x31xf32>
  return
}

// -----

func.func @linear_bias(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<64xf32>) {
  // expected-error@+1 {{(linear_c3) expected the bias's size to be 32 but got 64}}
  %0 = strata.linear %x, %w bias %b : (tensor<?x64xf32>, tensor<32x64xf32>, tensor<64xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @head_linear_heads(%x: tensor<?x4x24xf32>, %w: tensor<3x24x32xf32>) {
  // expected-error@+1 {{(head_linear_c1) expected the weight's heads to be 4 but got 3}}
  %0 = strata.head_linear %x, %w transposed : (tensor<?x4x24xf32>, tensor<3x24x32xf32>) -> tensor<?x4x32xf32>
  return
}

// -----

func.func @head_linear_inputs(%x: tensor<?x4x24xf32>, %w: tensor<4x24x32xf32>) {
  // expected-error@+1 {{(head_linear_c2) expected the weight's inputs to be 24 but got 32}}
  %0 = strata.head_linear %x, %w : (tensor<?x4x24xf32>, tensor<4x24x32xf32>) -> tensor<?x4x24xf32>
  return
}

// -----

func.func @head_linear_outputs(%x: tensor<?x4x24xf32>, %w: tensor<4x24x32xf32>) {
  // expected-error@+1 {{(head_linear_c3) expected the result's features to be 32 but got 24}}
  %0 = strata.head_linear %x, %w transposed : (tensor<?x4x24xf32>, tensor<4x24x32xf32>) -> tensor<?x4x24xf32>
  return
}

// -----

func.func @rms_norm_weight(%x: tensor<?x64xf32>, %w: tensor<32xf32>) {
  // expected-error@+1 {{(rms_norm_c1) expected the weight's size to be 64 but got 32}}
  %0 = strata.rms_norm %x weight %w {epsilon = 1.0e-5} : tensor<?x64xf32>, tensor<32xf32>
  return
}

// -----

func.func @rms_norm_epsilon(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{(rms_norm_c2) expected epsilon to be at least 0}}
  %0 = strata.rms_norm %x {epsilon = -1.0} : tensor<?x64xf32>
  return
}

// -----

func.func @layer_norm_bias(%x: tensor<?x64xf32>, %w: tensor<64xf32>, %b: tensor<63xf32>) {
  // expected-error@+1 {{(layer_norm_c1) expected the bias's size to be 64 but got 63}}
  %0 = strata.layer_norm %x weight %w bias %b {epsilon = 1.0e-6} : tensor<?x64xf32>, tensor<64xf32>, tensor<63xf32>
  return
}

// -----

func.func @layer_norm_epsilon(%x: tensor<?x64xf32>, %w: tensor<64xf32>, %b: tensor<64xf32>) {
  // expected-error@+1 {{(layer_norm_c2) expected epsilon to be at least 0}}
  %0 = strata.layer_norm %x weight %w bias %b {epsilon = -1.0e-6} : tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>
  return
}

// -----

func.func @hadamard(%x: tensor<?x48xf32>) {
  // expected-error@+1 {{(hadamard_c1) expected the last dimension to be a power of two but got 48}}
  %0 = strata.hadamard %x : tensor<?x48xf32>
  return
}

// -----

func.func @gated_mlp(%x: tensor<?x64xf32>, %gate: tensor<96x64xf32>, %down: tensor<96x64xf32>) {
  // expected-error@+1 {{(gated_mlp_c1) expected down of shape [64, 96] but got [96, 64]}}
  %0 = strata.gated_mlp %x, %gate, %gate, %down activation = silu : (tensor<?x64xf32>, tensor<96x64xf32>, tensor<96x64xf32>, tensor<96x64xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @logits_inputs(%x: tensor<?x64xf32>, %w: tensor<256x32xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{(logits_c1) expected the weight's inputs to be 64 but got 32}}
  %0 = strata.logits %x, %w[%batch] : (tensor<?x64xf32>, tensor<256x32xf32>) -> tensor<?x256xf32>
  return
}

// -----

func.func @logits_outputs(%x: tensor<?x64xf32>, %w: tensor<256x64xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{(logits_c2) expected the result's columns to be 256 but got 128}}
  %0 = strata.logits %x, %w[%batch] : (tensor<?x64xf32>, tensor<256x64xf32>) -> tensor<?x128xf32>
  return
}
