// RUN: strata-opt %s | strata-opt | FileCheck %s
// RUN: strata-opt %s --canonicalize | FileCheck %s

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>

// CHECK-LABEL: func.func @scores(
// CHECK-SAME: %[[QUERY:.*]]: tensor<?x4x40xf32>, %[[CACHE:.*]]: !strata.cache<{{.*}}>, %[[HITS:.*]]: tensor<?x8xi32>, %[[MISSES:.*]]: tensor<?x8xi32>, %[[SLOTS:.*]]: tensor<?x8xi32>, %[[SINKS:.*]]: tensor<4xf32>, %[[BATCH:.*]]: !strata.batch)
func.func @scores(%q: tensor<?x4x40xf32>, %kv: !kv, %hits: tensor<?x8xi32>, %misses: tensor<?x8xi32>, %slots: tensor<?x8xi32>,
                  %sinks: tensor<4xf32>, %batch: !strata.batch) -> tensor<?x4x32xf32> {
  // CHECK: %[[FIRST:.*]] = strata.attention_scores %[[QUERY]] over (%[[CACHE]] records %[[HITS]])[%[[BATCH]]] {scale = 1.250000e-01 : f64} : (tensor<?x4x40xf32>, !strata.cache<{{.*}}>, tensor<?x8xi32>) -> tensor<?x4x8xf32>
  %s0 = strata.attention_scores %q over (%kv records %hits)[%batch] {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>) -> tensor<?x4x8xf32>
  // CHECK: %[[ALL:.*]] = strata.attention_scores %[[QUERY]] over (%[[CACHE]] records %[[MISSES]])[%[[BATCH]]] into %[[FIRST]]
  %s1 = strata.attention_scores %q over (%kv records %misses)[%batch] into %s0 {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
  // CHECK: strata.attention %[[QUERY]] over (%[[CACHE]] records %[[SLOTS]])[%[[BATCH]]] sinks %[[SINKS]] with scores %[[ALL]] {scale = 1.250000e-01 : f64} : (tensor<?x4x40xf32>, !strata.cache<{{.*}}>, tensor<?x8xi32>, tensor<4xf32>, tensor<?x4x8xf32>) -> tensor<?x4x32xf32>
  %o = strata.attention %q over (%kv records %slots)[%batch] sinks %sinks with scores %s1 {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, tensor<4xf32>, tensor<?x4x8xf32>) -> tensor<?x4x32xf32>
  return %o : tensor<?x4x32xf32>
}

// CHECK-LABEL: func.func @parts(
// CHECK-SAME: %[[QUERY:.*]]: tensor<?x4x40xf32>, %[[CACHE:.*]]: !strata.cache<{{.*}}>, %[[HITS:.*]]: tensor<?x8xi32>, %[[MISSES:.*]]: tensor<?x8xi32>, %[[SINKS:.*]]: tensor<4xf32>, %[[BATCH:.*]]: !strata.batch)
func.func @parts(%q: tensor<?x4x40xf32>, %kv: !kv, %hits: tensor<?x8xi32>, %misses: tensor<?x8xi32>, %sinks: tensor<4xf32>,
                 %batch: !strata.batch) -> tensor<?x4x32xf32> {
  // CHECK: %[[BEGUN:.*]] = strata.partial_attention %[[QUERY]] over (%[[CACHE]] records %[[HITS]])[%[[BATCH]]] sinks %[[SINKS]] {scale = 1.250000e-01 : f64}
  %begun = strata.partial_attention %q over (%kv records %hits)[%batch] sinks %sinks {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, tensor<4xf32>) -> tensor<?x4x34xf32>
  // CHECK: strata.attention %[[QUERY]] over (%[[CACHE]] records %[[MISSES]])[%[[BATCH]]] after %[[BEGUN]] {scale = 1.250000e-01 : f64}
  %o = strata.attention %q over (%kv records %misses)[%batch] after %begun {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, tensor<?x4x34xf32>) -> tensor<?x4x32xf32>
  return %o : tensor<?x4x32xf32>
}
