// RUN: strata-opt %s --split-input-file --strata-share-index="schedule=pattern:FSF allow-approximate=sharing" | FileCheck %s
// RUN: strata-opt %s --split-input-file --strata-share-index="schedule=pattern:FSF allow-approximate=sharing" --remarks-filter=strata-share --verify-diagnostics -o /dev/null
// RUN: strata-opt %s --split-input-file --strata-share-index="schedule=groups:0-1;2 allow-approximate=sharing" | FileCheck %s
// RUN: strata-opt %s --split-input-file --strata-share-index="schedule=every:2,offset:1 allow-approximate=sharing" | FileCheck %s
// RUN: strata-opt %s --split-input-file --strata-share-index | FileCheck %s --check-prefix=DECLARED
// RUN: strata-opt %s --split-input-file --strata-share-index="schedule=pattern:FFF" | FileCheck %s --check-prefix=DECLARED

!kv = !strata.cache<key_value 8xf32, page = 4>
!keys = !strata.cache<key 8xf32, page = 4>

// The follower's projection, weight, append, and its cache among arguments and results disappear; what else uses the hidden state
// stays, and so does a weight that another layer uses too.
// CHECK: module attributes {strata.approximate = ["sharing"]}
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[BATCH:[a-z0-9]+]]: !strata.batch, %[[KV0:[a-z0-9]+]]: {{[^,]+}}, page = 4> {strata.name = "kv0"}, %[[KEYS0:[a-z0-9]+]]: {{[^,]+}}, page = 4> {strata.name = "keys0"},
// CHECK-SAME: %[[KV1:[a-z0-9]+]]: {{[^,]+}}, page = 4> {strata.name = "kv1"}, %[[KV2:[a-z0-9]+]]: {{[^,]+}}, page = 4> {strata.name = "kv2"}, %[[KEYS2:[a-z0-9]+]]: {{[^,]+}}, page = 4> {strata.name = "keys2"})
// CHECK-SAME: -> (tensor<?x8xf32>, !strata.cache<key_value 8xf32, page = 4>, !strata.cache<key 8xf32, page = 4>, !strata.cache<key_value 8xf32, page = 4>, !strata.cache<key_value 8xf32, page = 4>, !strata.cache<key 8xf32, page = 4>)
// The leader's indexer comes before what it doesn't need.
// CHECK: %[[I0:.*]] = strata.append %[[KEYS0]]
// CHECK: %[[R0:.*]] = strata.select %{{.*}}, %{{.*}}, %[[I0]]
// CHECK: %[[C0:.*]] = strata.append %[[KV0]]
// CHECK: strata.attention %{{.*}} over (%[[C0]] rows %[[R0]])
// CHECK-NOT: strata.weight "index1"
// CHECK-NOT: strata.select
// CHECK: %[[C1:.*]] = strata.append %[[KV1]]
// CHECK: strata.attention %{{.*}} over (%[[C1]] rows %[[R0]])
// CHECK: strata.weight "index2"
// CHECK: %[[I2:.*]] = strata.append %[[KEYS2]]
// CHECK: %[[R2:.*]] = strata.select %{{.*}}, %{{.*}}, %[[I2]]
// CHECK: %[[C2:.*]] = strata.append %[[KV2]]
// CHECK: strata.attention %{{.*}} over (%[[C2]] rows %[[R2]])
// CHECK: return %{{.*}}, %[[C0]], %[[I0]], %[[C1]], %[[C2]], %[[I2]]

// DECLARED-NOT: strata.approximate
// DECLARED-COUNT-3: strata.select
// DECLARED-NOT: strata.select
module {
  func.func @step(%batch: !strata.batch, %kv0: !kv {strata.name = "kv0"}, %keys0: !keys {strata.name = "keys0"}, %kv1: !kv {strata.name = "kv1"},
                  %keys1: !keys {strata.name = "keys1"}, %kv2: !kv {strata.name = "kv2"}, %keys2: !keys {strata.name = "keys2"})
      -> (tensor<?x8xf32>, !kv, !keys, !kv, !keys, !kv, !keys) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %zero = arith.constant 0 : index
    %tokens = tensor.dim %ids, %zero : tensor<?xi32>
    %table = strata.weight "table" stored f32 : tensor<16x8xf32>
    %x0 = strata.embedding %ids, %table : (tensor<?xi32>, tensor<16x8xf32>) -> tensor<?x8xf32>
    %heads = strata.weight "heads" stored f32 : tensor<1x8xf32>

    %c0 = strata.append %kv0[%batch], %x0 : !kv, tensor<?x8xf32>
    %p0 = strata.weight "index0" stored f32 : tensor<8x8xf32>
    %k0 = strata.linear %x0, %p0 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    %i0 = strata.append %keys0[%batch], %k0 : !keys, tensor<?x8xf32>
    %q0 = tensor.expand_shape %k0 [[0], [1, 2]] output_shape [%tokens, 1, 8] : tensor<?x8xf32> into tensor<?x1x8xf32>
    %w0 = strata.linear %x0, %heads : (tensor<?x8xf32>, tensor<1x8xf32>) -> tensor<?x1xf32>
    %r0 = strata.select %q0, %w0, %i0[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
    %h0 = tensor.expand_shape %x0 [[0], [1, 2]] output_shape [%tokens, 1, 8] : tensor<?x8xf32> into tensor<?x1x8xf32>
    %o0 = strata.attention %h0 over (%c0 rows %r0)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
    %a0 = tensor.collapse_shape %o0 [[0], [1, 2]] : tensor<?x1x8xf32> into tensor<?x8xf32>
    %x1 = arith.addf %x0, %a0 : tensor<?x8xf32>

    %c1 = strata.append %kv1[%batch], %x1 : !kv, tensor<?x8xf32>
    %p1 = strata.weight "index1" stored f32 : tensor<8x8xf32>
    %k1 = strata.linear %x1, %p1 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    %i1 = strata.append %keys1[%batch], %k1 : !keys, tensor<?x8xf32>
    %q1 = tensor.expand_shape %k1 [[0], [1, 2]] output_shape [%tokens, 1, 8] : tensor<?x8xf32> into tensor<?x1x8xf32>
    %w1 = strata.linear %x1, %heads : (tensor<?x8xf32>, tensor<1x8xf32>) -> tensor<?x1xf32>
    %r1 = strata.select %q1, %w1, %i1[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
    %h1 = tensor.expand_shape %x1 [[0], [1, 2]] output_shape [%tokens, 1, 8] : tensor<?x8xf32> into tensor<?x1x8xf32>
    // Saved: 2·8·8 + 2·8·1 operations of the projections, 2·8 for each key, of one head; the heads' weight is counted as read where it is used.
    // expected-remark@+1 {{[Passed] ShareIndex | Category:strata-share | BytesPerTokenAndKey=32, CacheBytesPerToken=32, FlopsPerToken=144, FlopsPerTokenAndKey=16, Reason="layer 1 uses the rows of layer 0", WeightBytes=288}}
    %o1 = strata.attention %h1 over (%c1 rows %r1)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
    %a1 = tensor.collapse_shape %o1 [[0], [1, 2]] : tensor<?x1x8xf32> into tensor<?x8xf32>
    %x2 = arith.addf %x1, %a1 : tensor<?x8xf32>

    %c2 = strata.append %kv2[%batch], %x2 : !kv, tensor<?x8xf32>
    %p2 = strata.weight "index2" stored f32 : tensor<8x8xf32>
    %k2 = strata.linear %x2, %p2 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    %i2 = strata.append %keys2[%batch], %k2 : !keys, tensor<?x8xf32>
    %q2 = tensor.expand_shape %k2 [[0], [1, 2]] output_shape [%tokens, 1, 8] : tensor<?x8xf32> into tensor<?x1x8xf32>
    %w2 = strata.linear %x2, %heads : (tensor<?x8xf32>, tensor<1x8xf32>) -> tensor<?x1xf32>
    %r2 = strata.select %q2, %w2, %i2[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
    %h2 = tensor.expand_shape %x2 [[0], [1, 2]] output_shape [%tokens, 1, 8] : tensor<?x8xf32> into tensor<?x1x8xf32>
    %o2 = strata.attention %h2 over (%c2 rows %r2)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
    %a2 = tensor.collapse_shape %o2 [[0], [1, 2]] : tensor<?x1x8xf32> into tensor<?x8xf32>
    %x3 = arith.addf %x2, %a2 : tensor<?x8xf32>
    return %x3, %c0, %i0, %c1, %i1, %c2, %i2 : tensor<?x8xf32>, !kv, !keys, !kv, !keys, !kv, !keys
  }
}
