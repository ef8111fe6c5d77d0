// What the phase share promises: no tensor of tokens × length, and a signature with rows.
// RUN: strata-opt %s --split-input-file --strata-verify-phase=phase=share --verify-diagnostics

!kv = !strata.cache<key_value 8xf32, page = 4>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %kv: !kv, %rows: tensor<?x2xi32>) -> (tensor<?x4xf32>, !kv, tensor<?x2xi32>) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %table = strata.weight "table" stored f32 : tensor<4x8xf32>
    %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<4x8xf32>) -> tensor<?x8xf32>
    %y = strata.logits %x, %table[%batch] : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    return %y, %kv, %rows : tensor<?x4xf32>, !kv, tensor<?x2xi32>
  }
}

// -----

!keys = !strata.cache<key 8xf32, page = 4>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %keys: !keys) -> (tensor<?x4xf32>, !keys, tensor<?x2xi32>) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %table = strata.weight "table" stored f32 : tensor<4x8xf32>
    %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<4x8xf32>) -> tensor<?x8xf32>
    %w = strata.weight "w" stored f32 : tensor<1x8xf32>
    %h = strata.linear %x, %w : (tensor<?x8xf32>, tensor<1x8xf32>) -> tensor<?x1xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %x, %zero : tensor<?x8xf32>
    %q = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 1, 8] : tensor<?x8xf32> into tensor<?x1x8xf32>
    // expected-error@+1 {{makes a tensor of tokens × length, 'tensor<?x?xf32>', which the phase share and those behind it have none of}}
    %s = strata.index_scores %q, %h, %keys[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x?xf32>
    %rows = strata.top_k %s[%batch] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
    %y = strata.logits %x, %table[%batch] : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    return %y, %keys, %rows : tensor<?x4xf32>, !keys, tensor<?x2xi32>
  }
}

// -----

module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch) -> (tensor<?x4xf32>, tensor<?x2xi32>) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %table = strata.weight "table" stored f32 : tensor<4x8xf32>
    %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<4x8xf32>) -> tensor<?x8xf32>
    // expected-error@+1 {{is not part of the phases from share on: its scores are a tensor of tokens × length}}
    %rows = strata.top_k %x[%batch] {k = 2} : tensor<?x8xf32> -> tensor<?x2xi32>
    %y = strata.logits %x, %table[%batch] : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    return %y, %rows : tensor<?x4xf32>, tensor<?x2xi32>
  }
}

// -----

module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  // expected-error@+1 {{expected @step to take a batch, then caches, then rows, but got}}
  func.func @step(%batch: !strata.batch, %rows: tensor<?x2xi32>, %kv: !strata.cache<key_value 8xf32, page = 4>) {
    return
  }
}

// -----

!kv = !strata.cache<key_value 8xf32, page = 4>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  // expected-error@+1 {{expected @step to return its caches in order after the logits, then rows, but got}}
  func.func @step(%batch: !strata.batch, %kv: !kv, %x: tensor<?x2xi32>) -> (tensor<?x4xf32>, tensor<?x2xi32>, !kv) {
    %table = strata.weight "table" stored f32 : tensor<4x4xf32>
    %ids = strata.token_ids %batch : tensor<?xi32>
    %e = strata.embedding %ids, %table : (tensor<?xi32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    return %e, %x, %kv : tensor<?x4xf32>, tensor<?x2xi32>, !kv
  }
}
