// What can't be joined stays, with a remark, and is an error at the end of the phase share.
// RUN: strata-opt %s --split-input-file --strata-join-select --remarks-filter=strata-join --verify-diagnostics | FileCheck %s

!keys = !strata.cache<key 8xf32, page = 4>

// CHECK-LABEL: @unknown_mask
// CHECK: strata.top_k
func.func @unknown_mask(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>, %mask: tensor<?x?xf32>) -> tensor<?x2xi32> {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  %m = arith.addf %s, %mask : tensor<?x?xf32>
  // expected-remark@+1 {{[Missed] JoinSelect | Category:strata-join | Reason="the scores are not made by strata.index_scores, or have a mask that may hide what a token sees"}}
  %r = strata.top_k %m[%batch] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}

// -----

!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @constant_mask
// CHECK: strata.top_k
func.func @constant_mask(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %mask = arith.constant dense<[[0.0, 0xFF800000]]> : tensor<1x2xf32>
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<1x2xf32>
  %m = arith.addf %s, %mask : tensor<1x2xf32>
  // expected-remark@+1 {{a constant other than 0 is added to the scores}}
  %r = strata.top_k %m[%batch] {k = 2} : tensor<1x2xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}

// -----

!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @other_batch
// CHECK: strata.top_k
func.func @other_batch(%batch: !strata.batch, %other: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  // expected-remark@+1 {{the scores are those of another batch}}
  %r = strata.top_k %s[%other] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}

// -----

// The blocks leave out a column.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @gap
// CHECK: strata.top_k
func.func @gap(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x16xf32>
  %zero = arith.constant 0 : index
  %n = tensor.dim %s, %zero : tensor<?x16xf32>
  %a = tensor.extract_slice %s[0, 0] [%n, 4] [1, 1] : tensor<?x16xf32> to tensor<?x4xf32>
  %b = tensor.extract_slice %s[0, 5] [%n, 11] [1, 1] : tensor<?x16xf32> to tensor<?x11xf32>
  %c = tensor.concat dim(1) %a, %b : (tensor<?x4xf32>, tensor<?x11xf32>) -> tensor<?x15xf32>
  // expected-remark@+1 {{the scores are not made by strata.index_scores}}
  %r = strata.top_k %c[%batch] {k = 2} : tensor<?x15xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}

// -----

!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @two_caches
// CHECK: strata.top_k
func.func @two_caches(%batch: !strata.batch, %keys: !keys, %more: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  %t = strata.index_scores %q, %w, %more[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  %sum = arith.addf %s, %t : tensor<?x?xf32>
  // expected-remark@+1 {{scores of several caches, batches or scales are added}}
  %r = strata.top_k %sum[%batch] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}

// -----

!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @same_heads_twice
// CHECK: strata.top_k
func.func @same_heads_twice(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  %sum = arith.addf %s, %s : tensor<?x?xf32>
  // expected-remark@+1 {{the added scores are not blocks of all heads of one query}}
  %r = strata.top_k %sum[%batch] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}

// -----

// CHECK-LABEL: @constant
// CHECK: strata.top_k
func.func @constant(%batch: !strata.batch) -> tensor<?x2xi32> {
  %s = arith.constant dense<0.0> : tensor<1x4xf32>
  // expected-remark@+1 {{the scores are constant}}
  %r = strata.top_k %s[%batch] {k = 2} : tensor<1x4xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}
