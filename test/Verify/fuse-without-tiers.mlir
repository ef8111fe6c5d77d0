// Before the phase place nothing says where data lie.
// RUN: strata-opt %s --split-input-file --strata-verify-phase=phase=fuse --verify-diagnostics

!kv = !strata.cache<key 4xf32, page = 8>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  // expected-error@+1 {{expected @step to take a batch, then caches, then rows, but got}}
  func.func @step(%batch: !strata.batch, %home: !tier.at<"ddr", !kv>) -> !tier.at<"ddr", !kv> {
    return %home : !tier.at<"ddr", !kv>
  }
}

// -----

module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch) -> tensor<?x4xf32> {
    // expected-error@+1 {{is not part of the phase fuse}}
    %slot = tier.slot : !tier.slot<bytes = 8>
    %x = arith.constant dense<0.0> : tensor<1x4xf32>
    %y = tensor.concat dim(0) %x : (tensor<1x4xf32>) -> tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}

// -----

module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch) -> tensor<?x4xf32> {
    // expected-error@+1 {{is not part of the phase fuse}}
    %own = strata.own_records[%batch] {page_size = 8} : tensor<?xi32>
    %x = arith.constant dense<0.0> : tensor<1x4xf32>
    %y = tensor.concat dim(0) %x : (tensor<1x4xf32>) -> tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}

// -----

!kv = !strata.cache<key 4xf32, page = 8>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %kv: !kv) -> (tensor<?x4xf32>, !kv) {
    %x = arith.constant dense<0.0> : tensor<1x4xf32>
    %y = tensor.concat dim(0) %x : (tensor<1x4xf32>) -> tensor<?x4xf32>
    // expected-error@+1 {{is not part of the phase fuse}}
    %next = strata.append %kv[%batch], %y in_order : !kv, tensor<?x4xf32>
    return %y, %next : tensor<?x4xf32>, !kv
  }
}
