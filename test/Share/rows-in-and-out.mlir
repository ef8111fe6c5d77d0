// RUN: strata-opt %s --strata-export-rows --strata-verify-phase=phase=share | FileCheck %s --check-prefix=EXPORT
// RUN: strata-opt %s --strata-import-rows --strata-verify-phase=phase=share | FileCheck %s --check-prefix=IMPORT
// RUN: strata-opt %s --strata-import-rows --strata-set-formats --strata-lower-to-commands | FileCheck %s --check-prefix=LOWER-IMPORT
// RUN: strata-opt %s --strata-export-rows --strata-set-formats --strata-lower-to-commands | FileCheck %s --check-prefix=LOWER-EXPORT
// RUN: strata-opt %s --strata-import-rows -o %t.imported.mlir
// RUN: not strata-opt %t.imported.mlir --strata-import-rows 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not strata-opt %t.imported.mlir --strata-export-rows 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: expected an indexer, whose rows could go in or out, but the module has none
// RUN: echo 'module {}' | not strata-opt --strata-import-rows 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: error: expected a function @step with one block but there is none

// EXPORT: func.func @step({{.*}}) -> (tensor<?x16xf32>, !strata.cache<key_value 8xf32, page = 4>, !strata.cache<key 8xf32, page = 4>, !strata.cache<key 8xf32, page = 4>, tensor<?x2xi32>, tensor<?x3xi32>)
// EXPORT: %[[R0:.*]] = strata.select {{.*}}k = 2
// EXPORT: %[[R1:.*]] = strata.select {{.*}}k = 3
// EXPORT: return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[R0]], %[[R1]]

// The indexers go, with caches, appends and weights.
// IMPORT: func.func @step(%[[BATCH:.*]]: !strata.batch, %[[KV:[a-z0-9]+]]: !strata.cache<key_value 8xf32, page = 4>, %[[R0:[a-z0-9]+]]: tensor<?x2xi32> {strata.name = "rows 0"}, %[[R1:[a-z0-9]+]]: tensor<?x3xi32> {strata.name = "rows 1"})
// IMPORT-SAME: -> (tensor<?x16xf32>, !strata.cache<key_value 8xf32, page = 4>)
// IMPORT-NOT: "index"
// IMPORT-NOT: strata.select
// IMPORT: strata.attention %{{.*}} over (%[[NEXT:.*]] rows %[[R0]])
// IMPORT: strata.attention %{{.*}} over (%[[NEXT]] rows %[[R1]])
// IMPORT: return %{{.*}}, %[[NEXT]]

// LOWER-IMPORT: func.func @step(%{{.*}}: !strata.batch, %{{[a-z0-9]+}}: !strata.cache<key_value 8xf32, page = 64>) -> memref<?x16xf32>
// LOWER-IMPORT: %[[B0:.*]] = strata.buffer rows <tokens = 1> : memref<?x2xi32>
// LOWER-IMPORT: strata.launch_import_rows into %[[B0]] {ordinal = 0 : i64}
// LOWER-IMPORT: %[[B1:.*]] = strata.buffer rows <tokens = 1> : memref<?x3xi32>
// LOWER-IMPORT: strata.launch_import_rows into %[[B1]] {ordinal = 1 : i64}
// LOWER-EXPORT-COUNT-2: strata.launch_select {{.*}} exported
!kv = !strata.cache<key_value 8xf32, page = 4>
!keys = !strata.cache<key 8xf32, page = 4>
module attributes {strata.model_type = "test", strata.max_positions = 64 : i64} {
  func.func @step(%batch: !strata.batch, %kv: !kv, %keys0: !keys, %keys1: !keys) -> (tensor<?x16xf32>, !kv, !keys, !keys) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %table = strata.weight "table" stored f32 : tensor<16x8xf32>
    %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<16x8xf32>) -> tensor<?x8xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %ids, %zero : tensor<?xi32>
    %q = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 1, 8] : tensor<?x8xf32> into tensor<?x1x8xf32>
    %heads = strata.weight "index" stored f32 : tensor<1x8xf32>
    %w = strata.linear %x, %heads : (tensor<?x8xf32>, tensor<1x8xf32>) -> tensor<?x1xf32>
    %i0 = strata.append %keys0[%batch], %x : !keys, tensor<?x8xf32>
    %r0 = strata.select %q, %w, %i0[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
    %next = strata.append %kv[%batch], %x : !kv, tensor<?x8xf32>
    %o0 = strata.attention %q over (%next rows %r0)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
    %y = tensor.collapse_shape %o0 [[0], [1, 2]] : tensor<?x1x8xf32> into tensor<?x8xf32>
    %i1 = strata.append %keys1[%batch], %y : !keys, tensor<?x8xf32>
    %v = strata.linear %y, %heads : (tensor<?x8xf32>, tensor<1x8xf32>) -> tensor<?x1xf32>
    %r1 = strata.select %o0, %v, %i1[%batch] {k = 3, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x3xi32>
    %o1 = strata.attention %o0 over (%next rows %r1)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x3xi32>) -> tensor<?x1x8xf32>
    %z = tensor.collapse_shape %o1 [[0], [1, 2]] : tensor<?x1x8xf32> into tensor<?x8xf32>
    %logits = strata.logits %z, %table[%batch] : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
    return %logits, %next, %i0, %i1 : tensor<?x16xf32>, !kv, !keys, !keys
  }
}
