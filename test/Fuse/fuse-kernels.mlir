// RUN: strata-opt %s --pass-pipeline='builtin.module(strata-fuse-kernels)' --split-input-file | FileCheck %s

!keys = !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>

// Products of one input read it once; the product of another input is not among them.
// CHECK-LABEL: func.func @products_of_one_input
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[Y:.*]]: tensor<?x64xf32>
func.func @products_of_one_input(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>, %a: tensor<32x64xf32>, %b: tensor<16x64xf32>) -> (tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>) {
  // CHECK: %[[BOTH:.*]]:2 = strata.kernel products {
  // CHECK-NEXT: strata.linear %[[X]]
  // CHECK-NEXT: strata.linear %[[X]]
  // CHECK-NEXT: strata.yield
  // CHECK: %[[OTHER:.*]] = strata.linear %[[Y]]
  // CHECK: return %[[BOTH]]#0, %[[OTHER]], %[[BOTH]]#1
  %0 = strata.linear %x, %a : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  %1 = strata.linear %y, %b : (tensor<?x64xf32>, tensor<16x64xf32>) -> tensor<?x16xf32>
  %2 = strata.linear %x, %b : (tensor<?x64xf32>, tensor<16x64xf32>) -> tensor<?x16xf32>
  return %0, %1, %2 : tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>
}

// -----

// The sum goes where it saves more: a product's result is neither written nor read, while the norm only reads the sum, which is used again.
// CHECK-LABEL: func.func @residual_and_product
func.func @residual_and_product(%x: tensor<?x64xf32>, %h: tensor<?x64xf32>, %w: tensor<64x64xf32>, %n: tensor<64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: %[[SUM:.*]] = strata.kernel products {
  // CHECK: strata.linear
  // CHECK: arith.addf
  // CHECK: strata.yield
  // CHECK: strata.rms_norm %[[SUM]]
  %0 = strata.linear %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %1 = arith.addf %h, %0 : tensor<?x64xf32>
  %2 = strata.rms_norm %1 weight %n {epsilon = 1.0e-5} : tensor<?x64xf32>, tensor<64xf32>
  return %1, %2 : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @residual_and_norm
func.func @residual_and_norm(%x: tensor<?x64xf32>, %h: tensor<?x64xf32>, %n: tensor<64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: %{{.*}}:2 = strata.kernel rows {
  // CHECK: arith.addf
  // CHECK: strata.rms_norm
  // CHECK: strata.yield
  %0 = arith.addf %h, %x : tensor<?x64xf32>
  %1 = strata.rms_norm %0 weight %n {epsilon = 1.0e-5} : tensor<?x64xf32>, tensor<64xf32>
  return %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

!keys = !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>

// Norm, rotation and append, through the slices between them.
// CHECK-LABEL: func.func @norm_rope_append
func.func @norm_rope_append(%batch: !strata.batch, %keys: !keys, %x: tensor<?x40xf32>, %n: tensor<32xf32>, %tokens: index) -> !keys {
  // CHECK: %[[NEXT:.*]] = strata.kernel rows {
  // CHECK-DAG: strata.rms_norm
  // CHECK-DAG: strata.rope
  // CHECK: %[[APPENDED:.*]] = strata.append
  // CHECK: strata.yield %[[APPENDED]]
  // CHECK: return %[[NEXT]]
  %latent = tensor.extract_slice %x[0, 0] [%tokens, 32] [1, 1] : tensor<?x40xf32> to tensor<?x32xf32>
  %normed = strata.rms_norm %latent weight %n {epsilon = 1.0e-6} : tensor<?x32xf32>, tensor<32xf32>
  %key = tensor.extract_slice %x[0, 32] [%tokens, 8] [1, 1] : tensor<?x40xf32> to tensor<?x8xf32>
  %turned = strata.rope %key[%batch] {table = #strata.rope<theta = 1.0e4, layout = interleaved>, offset = 0, width = 8} : tensor<?x8xf32>
  %next = strata.append %keys[%batch], %normed, %turned : !keys, tensor<?x32xf32>, tensor<?x8xf32>
  return %next : !keys
}

// -----

!keys = !strata.cache<key_value 32xf32, key 8xf32, page = 64, rope = interleaved>

// Absorption, attention and expansion: head by head.
// CHECK-LABEL: func.func @heads
func.func @heads(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x24xf32>, %turned: tensor<?x4x8xf32>, %up: tensor<4x24x32xf32>, %down: tensor<4x16x32xf32>) -> tensor<?x4x16xf32> {
  // CHECK: strata.kernel heads {
  // CHECK: strata.head_linear {{.*}} transposed
  // CHECK: tensor.concat
  // CHECK: strata.attention
  // CHECK: strata.head_linear
  // CHECK: strata.yield
  %absorbed = strata.head_linear %q, %up transposed : (tensor<?x4x24xf32>, tensor<4x24x32xf32>) -> tensor<?x4x32xf32>
  %query = tensor.concat dim(2) %absorbed, %turned : (tensor<?x4x32xf32>, tensor<?x4x8xf32>) -> tensor<?x4x40xf32>
  %o = strata.attention %query over (%keys all)[%batch] {scale = 0.125} : (tensor<?x4x40xf32>, !keys) -> tensor<?x4x32xf32>
  %v = strata.head_linear %o, %down : (tensor<?x4x32xf32>, tensor<4x16x32xf32>) -> tensor<?x4x16xf32>
  return %v : tensor<?x4x16xf32>
}

// -----

!keys = !strata.cache<key 16xf32, page = 64>

// What decides which keys are selected keeps a product of its own.
// CHECK-LABEL: func.func @head_weights_stay_alone
func.func @head_weights_stay_alone(%batch: !strata.batch, %keys: !keys, %x: tensor<?x64xf32>, %q: tensor<?x8x16xf32>, %a: tensor<8x64xf32>, %b: tensor<16x64xf32>) -> (tensor<?x4xi32>, tensor<?x16xf32>) {
  // CHECK-NOT: strata.kernel
  %w = strata.linear %x, %a : (tensor<?x64xf32>, tensor<8x64xf32>) -> tensor<?x8xf32>
  %rows = strata.select %q, %w, %keys[%batch] {k = 4, scale = 1.0} : (tensor<?x8x16xf32>, tensor<?x8xf32>, !keys) -> tensor<?x4xi32>
  %y = strata.linear %x, %b : (tensor<?x64xf32>, tensor<16x64xf32>) -> tensor<?x16xf32>
  return %rows, %y : tensor<?x4xi32>, tensor<?x16xf32>
}
