// A layer that can't use the leader's rows keeps its own, with the reason.
// RUN: strata-opt %s --split-input-file --strata-share-index="schedule=pattern:FS allow-approximate=sharing" --remarks-filter=strata-share --verify-diagnostics | FileCheck %s

!kv = !strata.cache<key_value 8xf32, page = 4>
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: func.func @step
// CHECK-COUNT-2: strata.select
func.func @step(%batch: !strata.batch, %other: !strata.batch, %kv: !kv, %keys0: !keys, %keys1: !keys, %q: tensor<?x1x8xf32>, %w: tensor<?x1xf32>) -> tensor<?x1x8xf32> {
  %r0 = strata.select %q, %w, %keys0[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  %o0 = strata.attention %q over (%kv rows %r0)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  %r1 = strata.select %o0, %w, %keys1[%other] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  // expected-remark@+1 {{[Missed] ShareIndex | Category:strata-share | Reason="layer 1 keeps its rows instead of those of layer 0: they work on different batches"}}
  %o1 = strata.attention %o0 over (%kv rows %r1)[%other] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  return %o1 : tensor<?x1x8xf32>
}

// -----

!kv = !strata.cache<key_value 8xf32, page = 4>
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: func.func @step
// CHECK-COUNT-2: strata.select
func.func @step(%batch: !strata.batch, %kv: !kv, %keys0: !keys, %keys1: !keys, %q: tensor<?x1x8xf32>, %w: tensor<?x1xf32>) -> tensor<?x1x8xf32> {
  %r0 = strata.select %q, %w, %keys0[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  %o0 = strata.attention %q over (%kv rows %r0)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  %r1 = strata.select %o0, %w, %keys1[%batch] {k = 3, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x3xi32>
  // expected-remark@+1 {{layer 1 keeps its rows instead of those of layer 0: it selects 3 rows, the leader 2}}
  %o1 = strata.attention %o0 over (%kv rows %r1)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x3xi32>) -> tensor<?x1x8xf32>
  return %o1 : tensor<?x1x8xf32>
}

// -----

// The follower's cache holds nothing of this step, the leader's does.
!kv = !strata.cache<key_value 8xf32, page = 4>
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: func.func @step
// CHECK-COUNT-2: strata.select
func.func @step(%batch: !strata.batch, %kv0: !kv, %kv1: !kv, %keys0: !keys, %keys1: !keys, %q: tensor<?x1x8xf32>, %w: tensor<?x1xf32>, %k: tensor<?x8xf32>) -> tensor<?x1x8xf32> {
  %i0 = strata.append %keys0[%batch], %k : !keys, tensor<?x8xf32>
  %c0 = strata.append %kv0[%batch], %k : !kv, tensor<?x8xf32>
  %r0 = strata.select %q, %w, %i0[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  %o0 = strata.attention %q over (%c0 rows %r0)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  %r1 = strata.select %o0, %w, %keys1[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  // expected-remark@+1 {{its tokens see other keys than the leader's indexer: the caches were not appended to with the same batch}}
  %o1 = strata.attention %o0 over (%kv1 rows %r1)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  return %o1 : tensor<?x1x8xf32>
}

// -----

!kv = !strata.cache<key_value 8xf32, page = 4>
!kv8 = !strata.cache<key_value 8xf32, page = 8>
!keys = !strata.cache<key 8xf32, page = 4>
!keys8 = !strata.cache<key 8xf32, page = 8>
// CHECK-LABEL: func.func @step
// CHECK-COUNT-2: strata.select
func.func @step(%batch: !strata.batch, %kv0: !kv, %kv1: !kv8, %keys0: !keys, %keys1: !keys8, %q: tensor<?x1x8xf32>, %w: tensor<?x1xf32>) -> tensor<?x1x8xf32> {
  %r0 = strata.select %q, %w, %keys0[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  %o0 = strata.attention %q over (%kv0 rows %r0)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  %r1 = strata.select %o0, %w, %keys1[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys8) -> tensor<?x2xi32>
  // expected-remark@+1 {{its cache has pages of 8 tokens, the leader's of 4}}
  %o1 = strata.attention %o0 over (%kv1 rows %r1)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv8, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  return %o1 : tensor<?x1x8xf32>
}

// -----

// Two residual streams that don't meet.
!kv = !strata.cache<key_value 8xf32, page = 4>
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: func.func @step
// CHECK-COUNT-2: strata.select
func.func @step(%batch: !strata.batch, %kv: !kv, %keys0: !keys, %keys1: !keys, %x: tensor<?x1x8xf32>, %y: tensor<?x1x8xf32>, %w: tensor<?x1xf32>) -> (tensor<?x1x8xf32>, tensor<?x1x8xf32>) {
  %r0 = strata.select %x, %w, %keys0[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  %o0 = strata.attention %x over (%kv rows %r0)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  %r1 = strata.select %y, %w, %keys1[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  // expected-remark@+1 {{the leader is not below it in the residual stream}}
  %o1 = strata.attention %y over (%kv rows %r1)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  return %o0, %o1 : tensor<?x1x8xf32>, tensor<?x1x8xf32>
}

// -----

// The leader is in a branch that may not be taken.
!kv = !strata.cache<key_value 8xf32, page = 4>
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: func.func @step
// CHECK-COUNT-2: strata.select
func.func @step(%batch: !strata.batch, %kv: !kv, %keys0: !keys, %keys1: !keys, %x: tensor<?x1x8xf32>, %w: tensor<?x1xf32>, %taken: i1) -> tensor<?x1x8xf32> {
  %o0 = scf.if %taken -> tensor<?x1x8xf32> {
    %r0 = strata.select %x, %w, %keys0[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
    %a = strata.attention %x over (%kv rows %r0)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
    scf.yield %a : tensor<?x1x8xf32>
  } else {
    scf.yield %x : tensor<?x1x8xf32>
  }
  %r1 = strata.select %o0, %w, %keys1[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  // expected-remark@+1 {{the leader's indexer does not dominate it}}
  %o1 = strata.attention %o0 over (%kv rows %r1)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  return %o1 : tensor<?x1x8xf32>
}

// -----

!kv = !strata.cache<key_value 8xf32, page = 4>
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: func.func @step
// CHECK-COUNT-2: strata.select
func.func @step(%batch: !strata.batch, %kv: !kv, %near: !kv, %keys0: !keys, %keys1: !keys, %q: tensor<?x1x8xf32>, %w: tensor<?x1xf32>) -> tensor<?x1x8xf32> {
  %r0 = strata.select %q, %w, %keys0[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  %o0 = strata.attention %q over (%kv rows %r0)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  %r1 = strata.select %o0, %w, %keys1[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  // expected-remark@+1 {{it attends to the rows of several indexers}}
  %o1 = strata.attention %o0 over (%kv rows %r1, %near rows %r0)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  return %o1 : tensor<?x1x8xf32>
}
