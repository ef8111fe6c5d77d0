// Layers without numbers are told apart by what crosses between them, each with its role and costs.
// RUN: strata-compile %s --report=text --context 100 --cache=fp8 | FileCheck %s
// CHECK: test: 3 layers, 1 indexer; 1 layer with the rows of another
// CHECK: layers role group linear scan attention cache B weight B
// CHECK-NEXT: 0 leader 0 1.47 k 12.8 k 1.02 k 2.38 k 2.94 k
// CHECK-NEXT: 1 follower 0 128 0 1.02 k 384 256
// CHECK-NEXT: 2 full - 128 0 512 192 256
// CHECK-NEXT: embedding and logits 256 0 0 0 544

// With imported rows nobody leads, and nothing is scanned.
// RUN: strata-compile %s --report=text --context 100 --cache=fp8 --import-rows | FileCheck %s --check-prefix=IMPORTED
// IMPORTED: test: 3 layers, 0 indexers; 2 layers with the rows of another
// IMPORTED: caches 36 bytes a token
// IMPORTED: 0-1 follower 0 128 0 1.02 k 384 256

!keys = !strata.cache<key_value 8xf32, page = 64, rope = none>
!index = !strata.cache<key 16xf32, page = 64, rope = none>
module attributes {strata.model_type = "test", strata.max_positions = 256 : i64} {
  func.func @step(%batch: !strata.batch, %keys0: !keys, %index0: !index, %keys1: !keys, %keys2: !keys)
      -> (tensor<?x16xf32>, !keys, !index, !keys, !keys) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %table = strata.weight "table" stored f32 : tensor<16x8xf32>
    %x0 = strata.embedding %ids, %table : (tensor<?xi32>, tensor<16x8xf32>) -> tensor<?x8xf32>
    %tokens = arith.constant 0 : index
    %n = tensor.dim %x0, %tokens : tensor<?x8xf32>

    %wh = strata.weight "index.heads" stored f32 : tensor<4x8xf32>
    %wi = strata.weight "index.keys" stored f32 : tensor<16x8xf32>
    %wiq = strata.weight "index.queries" stored f32 : tensor<64x8xf32>
    %qi = strata.linear %x0, %wiq : (tensor<?x8xf32>, tensor<64x8xf32>) -> tensor<?x64xf32>
    %qh = tensor.expand_shape %qi [[0], [1, 2]] output_shape [%n, 4, 16] : tensor<?x64xf32> into tensor<?x4x16xf32>
    %hw = strata.linear %x0, %wh : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    %ki = strata.linear %x0, %wi : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
    %index1 = strata.append %index0[%batch], %ki : !index, tensor<?x16xf32>
    %rows = strata.select %qh, %hw, %index1[%batch] {k = 32, scale = 0.25} : (tensor<?x4x16xf32>, tensor<?x4xf32>, !index) -> tensor<?x32xi32>

    %w0 = strata.weight "0" stored f32 : tensor<8x8xf32>
    %y0 = strata.linear %x0, %w0 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    %next0 = strata.append %keys0[%batch], %y0 : !keys, tensor<?x8xf32>
    %q0 = tensor.expand_shape %y0 [[0], [1, 2]] output_shape [%n, 1, 8] : tensor<?x8xf32> into tensor<?x1x8xf32>
    %o0 = strata.attention %q0 over (%next0 rows %rows)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !keys, tensor<?x32xi32>) -> tensor<?x1x8xf32>
    %f0 = tensor.collapse_shape %o0 [[0], [1, 2]] : tensor<?x1x8xf32> into tensor<?x8xf32>
    %x1 = arith.addf %x0, %f0 : tensor<?x8xf32>

    %w1 = strata.weight "1" stored f32 : tensor<8x8xf32>
    %y1 = strata.linear %x1, %w1 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    %next1 = strata.append %keys1[%batch], %y1 : !keys, tensor<?x8xf32>
    %q1 = tensor.expand_shape %y1 [[0], [1, 2]] output_shape [%n, 1, 8] : tensor<?x8xf32> into tensor<?x1x8xf32>
    %o1 = strata.attention %q1 over (%next1 rows %rows)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !keys, tensor<?x32xi32>) -> tensor<?x1x8xf32>
    %f1 = tensor.collapse_shape %o1 [[0], [1, 2]] : tensor<?x1x8xf32> into tensor<?x8xf32>
    %x2 = arith.addf %x1, %f1 : tensor<?x8xf32>

    %w2 = strata.weight "2" stored f32 : tensor<8x8xf32>
    %y2 = strata.linear %x2, %w2 : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    %next2 = strata.append %keys2[%batch], %y2 : !keys, tensor<?x8xf32>
    %q2 = tensor.expand_shape %y2 [[0], [1, 2]] output_shape [%n, 1, 8] : tensor<?x8xf32> into tensor<?x1x8xf32>
    %o2 = strata.attention %q2 over (%next2 window 12, %next2 first 4)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !keys, !keys) -> tensor<?x1x8xf32>
    %f2 = tensor.collapse_shape %o2 [[0], [1, 2]] : tensor<?x1x8xf32> into tensor<?x8xf32>
    %x3 = arith.addf %x2, %f2 : tensor<?x8xf32>
    %logits = strata.logits %x3, %table[%batch] : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
    return %logits, %next0, %index1, %next1, %next2 : tensor<?x16xf32>, !keys, !index, !keys, !keys
  }
}
