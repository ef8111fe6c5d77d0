// RUN: strata-opt %s --split-input-file --allow-unregistered-dialect --strata-share-index | FileCheck %s
// RUN: strata-opt %s --split-input-file --allow-unregistered-dialect --strata-share-index --remarks-filter=strata-hoist --verify-diagnostics -o /dev/null

!keys = !strata.cache<key 8xf32, page = 4>

// What the indexer doesn't need comes after it, in the same order.
// CHECK-LABEL: func.func @step
// CHECK: %[[K:.*]] = arith.addf %{{.*}}, %{{.*}} : tensor<?x8xf32>
// CHECK-NEXT: %[[I:.*]] = strata.append %{{.*}}, %[[K]]
// CHECK-NEXT: strata.select %{{.*}}, %{{.*}}, %[[I]]
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: arith.addf %{{.*}}, %{{.*}} : tensor<?x2x8xf32>
func.func @step(%batch: !strata.batch, %keys: !keys, %q: tensor<?x2x8xf32>, %w: tensor<?x2xf32>, %k: tensor<?x8xf32>) -> (tensor<?x2x8xf32>, !keys, tensor<?x2xi32>) {
  %other = arith.mulf %q, %q : tensor<?x2x8xf32>
  %sum = arith.addf %k, %k : tensor<?x8xf32>
  %more = arith.addf %other, %q : tensor<?x2x8xf32>
  %i = strata.append %keys[%batch], %sum : !keys, tensor<?x8xf32>
  // expected-remark@+1 {{[Passed] HoistIndexer | Category:strata-hoist | Ops=2}}
  %rows = strata.select %q, %w, %i[%batch] {k = 2, scale = 1.0} : (tensor<?x2x8xf32>, tensor<?x2xf32>, !keys) -> tensor<?x2xi32>
  return %more, %i, %rows : tensor<?x2x8xf32>, !keys, tensor<?x2xi32>
}

// -----

// What uses a cache before its append stays before it: kernels write in place.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: func.func @step
// CHECK: strata.index_scores
// CHECK-NEXT: strata.append
// CHECK-NEXT: strata.select
// CHECK-NEXT: arith.mulf
func.func @step(%batch: !strata.batch, %keys: !keys, %q: tensor<?x2x8xf32>, %w: tensor<?x2xf32>, %k: tensor<?x8xf32>) -> (tensor<?x2x8xf32>, tensor<?x?xf32>, !keys, tensor<?x2xi32>) {
  %other = arith.mulf %q, %q : tensor<?x2x8xf32>
  %old = strata.index_scores %q, %w, %keys[%batch] {scale = 1.0} : (tensor<?x2x8xf32>, tensor<?x2xf32>, !keys) -> tensor<?x?xf32>
  %i = strata.append %keys[%batch], %k : !keys, tensor<?x8xf32>
  // expected-remark@+1 {{HoistIndexer}}
  %rows = strata.select %q, %w, %i[%batch] {k = 2, scale = 1.0} : (tensor<?x2x8xf32>, tensor<?x2xf32>, !keys) -> tensor<?x2xi32>
  return %other, %old, %i, %rows : tensor<?x2x8xf32>, tensor<?x?xf32>, !keys, tensor<?x2xi32>
}

// -----

// An op with effects that the indexer needs holds it where it is.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: func.func @step
// CHECK: arith.mulf
// CHECK-NEXT: model.effect
// CHECK-NEXT: strata.append
func.func @step(%batch: !strata.batch, %keys: !keys, %q: tensor<?x2x8xf32>, %w: tensor<?x2xf32>, %k: tensor<?x8xf32>) -> (tensor<?x2x8xf32>, !keys, tensor<?x2xi32>) {
  %other = arith.mulf %q, %q : tensor<?x2x8xf32>
  %made = "model.effect"(%k) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %i = strata.append %keys[%batch], %made : !keys, tensor<?x8xf32>
  %rows = strata.select %q, %w, %i[%batch] {k = 2, scale = 1.0} : (tensor<?x2x8xf32>, tensor<?x2xf32>, !keys) -> tensor<?x2xi32>
  return %other, %i, %rows : tensor<?x2x8xf32>, !keys, tensor<?x2xi32>
}
