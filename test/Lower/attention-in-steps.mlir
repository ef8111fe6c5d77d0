// The scores of what is there are a command of their own, together with the absorption; the others are computed before the attention.
// RUN: strata-opt %s --strata-lower-to-commands --split-input-file | FileCheck %s

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>

// CHECK: func.func @attention_scores_4x40_scale0.125_kv32_k8_p64_records_8i32_4x8(
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[BATCH:.*]]: !strata.batch, %[[CACHE:.*]]: !strata.cache<
// CHECK: strata.launch_partial_scores absorb %{{.*}}, %{{.*}} into %[[ABSORBED:.*]] @kernels::@[[SCORES:attention_scores[a-z0-9_.]+]](%[[QUERY:.*]], %[[CACHE]], %[[HITS:.*]], %[[POSITIONS:.*]], %[[BEGIN:.*]], %[[PAGES:.*]], %[[KNOWN:.*]]) heads 4 operands f32
// CHECK: strata.launch_head_attention scores @kernels::@[[SCORES]](%[[QUERY]], %[[CACHE]], %[[MISSES:.*]], %[[POSITIONS]], %[[BEGIN]], %[[PAGES]], %[[KNOWN]]) @kernels::@{{attention_4x40_4x32.*}}(%[[QUERY]], %[[CACHE]], %[[SLOTS:.*]], %[[KNOWN]], %[[POSITIONS]], %[[BEGIN]], %[[PAGES]], %[[LATENT:.*]]) heads 4 expand %[[LATENT]]
func.func @step(%batch: !strata.batch, %kv: !kv, %hits: tensor<?x8xi32>, %misses: tensor<?x8xi32>, %slots: tensor<?x8xi32>) -> tensor<?x4x16xf32> {
  %ids = strata.token_ids %batch : tensor<?xi32>
  %table = strata.weight "table" stored f32 : tensor<16x96xf32>
  %up = strata.weight "up" stored f32 : tensor<4x16x32xf32>
  %down = strata.weight "down" stored f32 : tensor<4x16x32xf32>
  %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<16x96xf32>) -> tensor<?x96xf32>
  %zero = arith.constant 0 : index
  %tokens = tensor.dim %x, %zero : tensor<?x96xf32>
  %heads = tensor.expand_shape %x [[0], [1, 2]] output_shape [%tokens, 4, 24] : tensor<?x96xf32> into tensor<?x4x24xf32>
  %nope = tensor.extract_slice %heads[0, 0, 0] [%tokens, 4, 16] [1, 1, 1] : tensor<?x4x24xf32> to tensor<?x4x16xf32>
  %rope = tensor.extract_slice %heads[0, 0, 16] [%tokens, 4, 8] [1, 1, 1] : tensor<?x4x24xf32> to tensor<?x4x8xf32>
  %query, %s0 = strata.kernel heads {
    %absorbed = strata.head_linear %nope, %up transposed : (tensor<?x4x16xf32>, tensor<4x16x32xf32>) -> tensor<?x4x32xf32>
    %q = tensor.concat dim(2) %absorbed, %rope : (tensor<?x4x32xf32>, tensor<?x4x8xf32>) -> tensor<?x4x40xf32>
    %s = strata.attention_scores %q over (%kv records %hits)[%batch] {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>) -> tensor<?x4x8xf32>
    strata.yield %q, %s : tensor<?x4x40xf32>, tensor<?x4x8xf32>
  } : tensor<?x4x40xf32>, tensor<?x4x8xf32>
  %o = strata.kernel heads {
    %s = strata.attention_scores %query over (%kv records %misses)[%batch] into %s0 {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
    %latent = strata.attention %query over (%kv records %slots)[%batch] with scores %s {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, tensor<?x4x8xf32>) -> tensor<?x4x32xf32>
    %values = strata.head_linear %latent, %down : (tensor<?x4x32xf32>, tensor<4x16x32xf32>) -> tensor<?x4x16xf32>
    strata.yield %values : tensor<?x4x16xf32>
  } : tensor<?x4x16xf32>
  return %o : tensor<?x4x16xf32>
}

// -----

// In two parts: what the first leaves is an argument of the second, which has no sinks.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[BATCH:.*]]: !strata.batch, %[[CACHE:.*]]: !strata.cache<
// CHECK: %[[BEGUN:.*]] = strata.buffer rows <tokens = 1> : memref<?x4x34xf32>
// CHECK: strata.launch_partial_scores @kernels::@{{attention_first_4x40_4x34.*}}(%[[QUERY:.*]], %[[CACHE]], %[[HITS:.*]], %[[SINKS:.*]], %[[POSITIONS:.*]], %[[BEGIN:.*]], %[[PAGES:.*]], %[[BEGUN]]) heads 4 operands f32
// CHECK: strata.launch_head_attention @kernels::@{{attention_last_4x40_4x32.*}}(%[[QUERY]], %[[CACHE]], %[[MISSES:.*]], %[[BEGUN]], %[[POSITIONS]], %[[BEGIN]], %[[PAGES]], %{{.*}}) heads 4 operands f32
func.func @step(%batch: !strata.batch, %kv: !kv, %hits: tensor<?x8xi32>, %misses: tensor<?x8xi32>) -> tensor<?x4x32xf32> {
  %ids = strata.token_ids %batch : tensor<?xi32>
  %table = strata.weight "table" stored f32 : tensor<16x160xf32>
  %sinks = strata.weight "sinks" stored f32 : tensor<4xf32>
  %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<16x160xf32>) -> tensor<?x160xf32>
  %zero = arith.constant 0 : index
  %tokens = tensor.dim %x, %zero : tensor<?x160xf32>
  %query = tensor.expand_shape %x [[0], [1, 2]] output_shape [%tokens, 4, 40] : tensor<?x160xf32> into tensor<?x4x40xf32>
  %begun = strata.kernel heads {
    %p = strata.partial_attention %query over (%kv records %hits)[%batch] sinks %sinks {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, tensor<4xf32>) -> tensor<?x4x34xf32>
    strata.yield %p : tensor<?x4x34xf32>
  } : tensor<?x4x34xf32>
  %o = strata.kernel heads {
    %a = strata.attention %query over (%kv records %misses)[%batch] after %begun {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, tensor<?x4x34xf32>) -> tensor<?x4x32xf32>
    strata.yield %a : tensor<?x4x32xf32>
  } : tensor<?x4x32xf32>
  return %o : tensor<?x4x32xf32>
}
