// RUN: strata-opt %s --split-input-file --strata-join-select | FileCheck %s
// RUN: strata-opt %s --split-input-file --strata-join-select --remarks-filter=strata-join --verify-diagnostics -o /dev/null

!keys = !strata.cache<key 8xf32, page = 4>

// CHECK-LABEL: @plain
// CHECK-NEXT: %[[ROWS:.*]] = strata.select %{{.*}}, %{{.*}}, %{{.*}} {k = 2 : i64, scale = 5.000000e-01 : f64, strata.layer = 3 : i64}
// CHECK-NEXT: return %[[ROWS]]
func.func @plain(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  // expected-remark@+1 {{[Passed] JoinSelect | Category:strata-join | BytesPerTokenAndKey=8, Reason="the scores never become a tensor"}}
  %r = strata.top_k %s[%batch] {k = 2, strata.layer = 3 : i64} : tensor<?x?xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}

// -----

// The select stands where the scores were: in between the cache may be appended to.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @append_between
// CHECK-NEXT: strata.select
// CHECK-NEXT: strata.append
func.func @append_between(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>, %k: tensor<?x8xf32>) -> (tensor<?x2xi32>, !keys) {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  %next = strata.append %keys[%batch], %k : !keys, tensor<?x8xf32>
  // expected-remark@+1 {{JoinSelect}}
  %r = strata.top_k %s[%batch] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
  return %r, %next : tensor<?x2xi32>, !keys
}

// -----

// Two choices of one matrix of scores.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @two_choices
// CHECK-DAG: strata.select {{.*}}k = 2
// CHECK-DAG: strata.select {{.*}}k = 3
// CHECK-NOT: strata.index_scores
func.func @two_choices(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> (tensor<?x2xi32>, tensor<?x3xi32>) {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  // expected-remark@+1 {{JoinSelect}}
  %r = strata.top_k %s[%batch] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
  // expected-remark@+1 {{JoinSelect}}
  %t = strata.top_k %s[%batch] {k = 3} : tensor<?x?xf32> -> tensor<?x3xi32>
  return %r, %t : tensor<?x2xi32>, tensor<?x3xi32>
}

// -----

// A mask of zeros hides nothing.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @zero_mask
// CHECK-NEXT: %[[ROWS:.*]] = strata.select
// CHECK-NEXT: return %[[ROWS]]
func.func @zero_mask(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %mask = arith.constant dense<0.0> : tensor<4x16xf32>
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<4x16xf32>
  %m = arith.addf %mask, %s : tensor<4x16xf32>
  // expected-remark@+1 {{JoinSelect}}
  %r = strata.top_k %m[%batch] {k = 2} : tensor<4x16xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}

// -----

// Blocks of positions.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @position_blocks
// CHECK-NEXT: %[[ROWS:.*]] = strata.select
// CHECK-NEXT: return %[[ROWS]]
func.func @position_blocks(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x16xf32>
  %zero = arith.constant 0 : index
  %n = tensor.dim %s, %zero : tensor<?x16xf32>
  %a = tensor.extract_slice %s[0, 0] [%n, 4] [1, 1] : tensor<?x16xf32> to tensor<?x4xf32>
  %b = tensor.extract_slice %s[0, 4] [%n, 12] [1, 1] : tensor<?x16xf32> to tensor<?x12xf32>
  %c = tensor.concat dim(1) %a, %b : (tensor<?x4xf32>, tensor<?x12xf32>) -> tensor<?x16xf32>
  %m = tensor.dim %c, %zero : tensor<?x16xf32>
  %all = tensor.extract_slice %c[0, 0] [%m, 16] [1, 1] : tensor<?x16xf32> to tensor<?x16xf32>
  // expected-remark@+1 {{JoinSelect}}
  %r = strata.top_k %all[%batch] {k = 2} : tensor<?x16xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}

// -----

// Blocks of heads, in any order.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @head_blocks
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x4x8xf32>, %[[W:[a-z0-9]+]]: tensor<?x4xf32>
// CHECK: strata.select %[[Q]], %[[W]],
// CHECK-NOT: strata.index_scores
func.func @head_blocks(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %q, %zero : tensor<?x4x8xf32>
  %m = tensor.dim %w, %zero : tensor<?x4xf32>
  %q0 = tensor.extract_slice %q[0, 0, 0] [%n, 1, 8] [1, 1, 1] : tensor<?x4x8xf32> to tensor<?x1x8xf32>
  %q1 = tensor.extract_slice %q[0, 1, 0] [%n, 3, 8] [1, 1, 1] : tensor<?x4x8xf32> to tensor<?x3x8xf32>
  %w0 = tensor.extract_slice %w[0, 0] [%m, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %w1 = tensor.extract_slice %w[0, 1] [%m, 3] [1, 1] : tensor<?x4xf32> to tensor<?x3xf32>
  %s1 = strata.index_scores %q1, %w1, %keys[%batch] {scale = 0.5} : (tensor<?x3x8xf32>, tensor<?x3xf32>, !keys) -> tensor<?x?xf32>
  %s0 = strata.index_scores %q0, %w0, %keys[%batch] {scale = 0.5} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x?xf32>
  %s = arith.addf %s1, %s0 : tensor<?x?xf32>
  // expected-remark@+1 {{JoinSelect}}
  %r = strata.top_k %s[%batch] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}
