// RUN: strata-opt %s --split-input-file --allow-unregistered-dialect --strata-print-layers -o /dev/null 2>&1 | FileCheck %s

!kv = !strata.cache<key_value 8xf32, page = 4>
!keys = !strata.cache<key 8xf32, page = 4>

// No names, no attributes. Between two layers over rows stand a linear attention, which the dialect doesn't know, and a layer that
// attends to all; a window beside rows is one more source of the same layer.
// CHECK-LABEL: @mixed: 4 attention layers, 2 attend to rows
// CHECK-NEXT: layer 0 above none: window 3 and rows 2 of its own, group {0, 3}, select 0 on argument 2, keys argument 1
// CHECK-NEXT: layer 1 above 0: all, keys argument 3
// CHECK-NEXT: layer 2 above 1: first 1 and window 5, keys argument 3
// CHECK-NEXT: layer 3 above 2: rows 2 of layer 0, group {0, 3}, select 0 on argument 2, keys argument 4
func.func @mixed(%batch: !strata.batch, %kv0: !kv, %keys0: !keys, %kv1: !kv, %kv2: !kv, %x0: tensor<?x2x8xf32>, %w: tensor<?x2xf32>,
                 %k: tensor<?x8xf32>) -> tensor<?x2x8xf32> {
  %keys = strata.append %keys0[%batch], %k : !keys, tensor<?x8xf32>
  %rows = strata.select %x0, %w, %keys[%batch] {k = 2, scale = 1.0} : (tensor<?x2x8xf32>, tensor<?x2xf32>, !keys) -> tensor<?x2xi32>
  %a0 = strata.attention %x0 over (%kv0 window 3, %kv0 rows %rows)[%batch] {scale = 1.0} : (tensor<?x2x8xf32>, !kv, !kv, tensor<?x2xi32>) -> tensor<?x2x8xf32>
  %x1 = arith.addf %x0, %a0 : tensor<?x2x8xf32>
  %linear = "model.linear_attention"(%x1) : (tensor<?x2x8xf32>) -> tensor<?x2x8xf32>
  %x2 = arith.addf %x1, %linear : tensor<?x2x8xf32>
  %a1 = strata.attention %x2 over (%kv1 all)[%batch] {scale = 1.0} : (tensor<?x2x8xf32>, !kv) -> tensor<?x2x8xf32>
  %x3 = arith.addf %x2, %a1 : tensor<?x2x8xf32>
  %a2 = strata.attention %x3 over (%kv1 first 1, %kv1 window 5)[%batch] {scale = 1.0} : (tensor<?x2x8xf32>, !kv, !kv) -> tensor<?x2x8xf32>
  %x4 = arith.addf %x3, %a2 : tensor<?x2x8xf32>
  %a3 = strata.attention %x4 over (%kv2 rows %rows)[%batch] {scale = 1.0} : (tensor<?x2x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x2x8xf32>
  %x5 = arith.addf %x4, %a3 : tensor<?x2x8xf32>
  return %x5 : tensor<?x2x8xf32>
}

// -----

// Two residual streams that meet at the end: in the text their layers alternate, and each has its own below. Two layers
// beside each other are both below the one that uses their sum.
!kv = !strata.cache<key_value 8xf32, page = 4>
// CHECK-LABEL: @streams: 5 attention layers, 0 attend to rows
// CHECK-NEXT: layer 0 above none: all
// CHECK-NEXT: layer 1 above none, stream 1: all
// CHECK-NEXT: layer 2 above 0: all
// CHECK-NEXT: layer 3 above 1, stream 1: all
// CHECK-NEXT: layer 4 above 2, 3: all
func.func @streams(%batch: !strata.batch, %kv: !kv, %x: tensor<?x2x8xf32>, %y: tensor<?x2x8xf32>) -> tensor<?x2x8xf32> {
  %a0 = strata.attention %x over (%kv all)[%batch] {scale = 1.0} : (tensor<?x2x8xf32>, !kv) -> tensor<?x2x8xf32>
  %b0 = strata.attention %y over (%kv all)[%batch] {scale = 1.0} : (tensor<?x2x8xf32>, !kv) -> tensor<?x2x8xf32>
  %x1 = arith.addf %x, %a0 : tensor<?x2x8xf32>
  %y1 = arith.addf %y, %b0 : tensor<?x2x8xf32>
  %a1 = strata.attention %x1 over (%kv all)[%batch] {scale = 1.0} : (tensor<?x2x8xf32>, !kv) -> tensor<?x2x8xf32>
  %b1 = strata.attention %y1 over (%kv all)[%batch] {scale = 1.0} : (tensor<?x2x8xf32>, !kv) -> tensor<?x2x8xf32>
  %sum = arith.addf %a1, %b1 : tensor<?x2x8xf32>
  %a2 = strata.attention %sum over (%kv all)[%batch] {scale = 1.0} : (tensor<?x2x8xf32>, !kv) -> tensor<?x2x8xf32>
  return %a2 : tensor<?x2x8xf32>
}

// -----

// Several streams that are mixed before and after each layer are one: each layer's output reaches the next.
!kv = !strata.cache<key_value 8xf32, page = 4>
// CHECK-LABEL: @mixed_streams: 2 attention layers, 0 attend to rows
// CHECK-NEXT: layer 0 above none: all
// CHECK-NEXT: layer 1 above 0: all
func.func @mixed_streams(%batch: !strata.batch, %kv: !kv, %s0: tensor<?x2x8xf32>, %s1: tensor<?x2x8xf32>) -> (tensor<?x2x8xf32>, tensor<?x2x8xf32>) {
  %in = arith.addf %s0, %s1 : tensor<?x2x8xf32>
  %a0 = strata.attention %in over (%kv all)[%batch] {scale = 1.0} : (tensor<?x2x8xf32>, !kv) -> tensor<?x2x8xf32>
  %t0 = arith.mulf %s0, %a0 : tensor<?x2x8xf32>
  %t1 = arith.addf %s1, %s0 : tensor<?x2x8xf32>
  %next = arith.addf %t0, %t1 : tensor<?x2x8xf32>
  %a1 = strata.attention %next over (%kv all)[%batch] {scale = 1.0} : (tensor<?x2x8xf32>, !kv) -> tensor<?x2x8xf32>
  %u0 = arith.addf %t0, %a1 : tensor<?x2x8xf32>
  return %u0, %t1 : tensor<?x2x8xf32>, tensor<?x2x8xf32>
}

// -----

// Rows may be an argument; the model's own number stands beside ours where it differs.
!kv = !strata.cache<key_value 8xf32, page = 4>
// CHECK-LABEL: @imported: 1 attention layers, 1 attend to rows
// CHECK-NEXT: layer 0 (layer 7 of the model) above none: rows 2 of its own, group {0}, rows from argument 2, keys "layer 7 keys"
func.func @imported(%batch: !strata.batch, %kv: !kv {strata.name = "layer 7 keys"}, %rows: tensor<?x2xi32>, %x: tensor<?x2x8xf32>) -> tensor<?x2x8xf32> {
  %a = strata.attention %x over (%kv rows %rows)[%batch] {scale = 1.0, strata.layer = 7 : i64} : (tensor<?x2x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x2x8xf32>
  return %a : tensor<?x2x8xf32>
}
