// A cache that a window or all records of are read from comes page by page; so does one that is read by rows and by something else.
//
// RUN: strata-opt %s --strata-place="machine=cpu-two-tier near-bytes=98000 tokens=16" --tier-verify --remarks-filter=strata-place 2>&1 | FileCheck %s
// CHECK: Remark="layer 0 keys: home in ddr, its pages are copied before use"
// CHECK: Remark="layer 1 keys: home in ddr, its pages are copied before use"
// CHECK: module attributes {{.*}}tier.machine
// CHECK: func.func @step(%[[BATCH:.*]]: !strata.batch, %[[HOME0:.*]]: !tier.at<"ddr", {{.*}}> {strata.name = "layer 0 keys"}, %[[HOME1:.*]]: !tier.at<
// CHECK: %[[OWN:.*]] = strata.own_records[%[[BATCH]]]
// CHECK: %[[ROOM:.*]] = tier.slot : !tier.slot<bytes = 65536>
// CHECK: %[[COMING:.*]] = tier.reload %[[HOME0]] into %[[ROOM]] on "copy in"
// CHECK: %[[PAGES:.*]] = tier.wait %[[COMING]]
// CHECK: %[[NEXT:.*]] = strata.append %[[PAGES]][%[[BATCH]]]
// CHECK-NEXT: %[[HOMING:.*]] = tier.write_back %[[NEXT]] to %[[HOME0]] at %[[OWN]] on "copy out" {
// CHECK: strata.attention %{{.*}} over (%[[NEXT]] window 4, %[[NEXT]] first 2)
// CHECK-NEXT: %[[KEPT:.*]] = tier.wait %[[HOMING]]
// CHECK-NEXT: %[[FREE:.*]] = tier.release %[[NEXT]]
// CHECK: tier.reload %[[HOME1]] into %[[FREE]]
// CHECK: strata.attention %{{.*}} over (%{{.*}} rows %{{.*}}, %{{.*}} window 4)
// CHECK: return %{{.*}}, %[[KEPT]], %{{.*}}

!keys = !strata.cache<key 1x8xf32, value 1x8xf32, page = 16>
module attributes {strata.compute = f32, strata.max_positions = 1024 : i64, strata.model_type = "test"} {
  func.func @step(%batch: !strata.batch, %kv0: !keys {strata.name = "layer 0 keys"}, %kv1: !keys {strata.name = "layer 1 keys"},
                  %rows: tensor<?x4xi32> {strata.name = "rows 0"}) -> (tensor<?x64xf32>, !keys, !keys) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %ids, %zero : tensor<?xi32>
    %table = strata.weight "embed" stored f32 : tensor<64x8xf32>
    %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<64x8xf32>) -> tensor<?x8xf32>
    %q = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 1, 8] : tensor<?x8xf32> into tensor<?x1x8xf32>
    %kv0n = strata.append %kv0[%batch], %x, %x : !keys, tensor<?x8xf32>, tensor<?x8xf32>
    %a = strata.attention %q over (%kv0n window 4, %kv0n first 2)[%batch] {scale = 0.5} : (tensor<?x1x8xf32>, !keys, !keys) -> tensor<?x1x8xf32>
    %af = tensor.collapse_shape %a [[0], [1, 2]] : tensor<?x1x8xf32> into tensor<?x8xf32>
    %w = strata.weight "wide" stored f32 : tensor<256x8xf32>
    %wide = strata.linear %af, %w : (tensor<?x8xf32>, tensor<256x8xf32>) -> tensor<?x256xf32>
    %y = tensor.extract_slice %wide[0, 0] [%n, 8] [1, 1] : tensor<?x256xf32> to tensor<?x8xf32>
    %kv1n = strata.append %kv1[%batch], %y, %y : !keys, tensor<?x8xf32>, tensor<?x8xf32>
    %b = strata.attention %a over (%kv1n rows %rows, %kv1n window 4)[%batch] {scale = 0.5} : (tensor<?x1x8xf32>, !keys, tensor<?x4xi32>, !keys) -> tensor<?x1x8xf32>
    %bf = tensor.collapse_shape %b [[0], [1, 2]] : tensor<?x1x8xf32> into tensor<?x8xf32>
    %head = strata.weight "head" stored f32 : tensor<64x8xf32>
    %logits = strata.logits %bf, %head[%batch] : (tensor<?x8xf32>, tensor<64x8xf32>) -> tensor<?x64xf32>
    return %logits, %kv0n, %kv1n : tensor<?x64xf32>, !keys, !keys
  }
}
