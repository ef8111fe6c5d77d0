// RUN: strata-opt %s | strata-opt | FileCheck %s

// CHECK-LABEL: func.func @records(
// CHECK-SAME: %[[ROWS:.*]]: tensor<?x8xi32>, %[[BATCH:.*]]: !strata.batch)
func.func @records(%rows: tensor<?x8xi32>, %batch: !strata.batch) -> (tensor<?x8xi32>, tensor<?xi32>) {
  // CHECK: strata.records %[[ROWS]][%[[BATCH]]] {page_size = 64 : i64} : tensor<?x8xi32>
  %records = strata.records %rows[%batch] {page_size = 64} : tensor<?x8xi32>
  // CHECK: strata.own_records[%[[BATCH]]] {page_size = 64 : i64} : tensor<?xi32>
  %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
  return %records, %own : tensor<?x8xi32>, tensor<?xi32>
}

// CHECK-LABEL: func.func @in_order(
// CHECK-SAME: %[[CACHE:.*]]: !strata.cache<{{.*}}>, %[[BATCH:.*]]: !strata.batch, %[[KEY:.*]]: tensor<?x4xf32>)
func.func @in_order(%cache: !strata.cache<key 4xf32, page = 8>, %batch: !strata.batch, %key: tensor<?x4xf32>) -> !strata.cache<key 4xf32, page = 8> {
  // CHECK: strata.append %[[CACHE]][%[[BATCH]]], %[[KEY]] in_order : <key 4xf32, page = 8>, tensor<?x4xf32>
  %next = strata.append %cache[%batch], %key in_order : !strata.cache<key 4xf32, page = 8>, tensor<?x4xf32>
  return %next : !strata.cache<key 4xf32, page = 8>
}
