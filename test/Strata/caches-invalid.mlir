// RUN: strata-opt %s --split-input-file --verify-diagnostics

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
func.func @append_count(%c: !kv, %batch: !strata.batch, %x: tensor<?x32xf32>) {
  // expected-error@+1 {{(append_c1) expected 2 operands but got 1}}
  %0 = strata.append %c[%batch], %x : !kv, tensor<?x32xf32>
  return
}

// -----

!kv = !strata.cache<key 2x16xf32, value 2x16xf32, page = 64>
func.func @append_shape(%c: !kv, %batch: !strata.batch, %x: tensor<?x2x16xf32>, %y: tensor<?x32xf32>) {
  // expected-error@+1 {{(append_c2) expected an operand of shape [?, 2, 16] but got [?, 32]}}
  %0 = strata.append %c[%batch], %x, %y : !kv, tensor<?x2x16xf32>, tensor<?x32xf32>
  return
}

// -----

!keys = !strata.cache<key 16xf32, page = 64>
func.func @index_weights(%q: tensor<?x8x16xf32>, %w: tensor<?x4xf32>, %keys: !keys, %batch: !strata.batch) {
  // expected-error@+1 {{(index_scores_c1) expected the columns of the head weights to be 8 but got 4}}
  %0 = strata.index_scores %q, %w, %keys[%batch] {scale = 1.0} : (tensor<?x8x16xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  return
}

// -----

!keys = !strata.cache<key_value 16xf32, page = 64>
func.func @index_cache(%q: tensor<?x8x16xf32>, %w: tensor<?x8xf32>, %keys: !keys, %batch: !strata.batch) {
  // expected-error@+1 {{(select_c2) expected a cache with one key field of one head}}
  %0 = strata.select %q, %w, %keys[%batch] {k = 8, scale = 1.0} : (tensor<?x8x16xf32>, tensor<?x8xf32>, !keys) -> tensor<?x8xi32>
  return
}

// -----

!keys = !strata.cache<key 16xf32, page = 64>
func.func @index_width(%q: tensor<?x8x32xf32>, %w: tensor<?x8xf32>, %keys: !keys, %batch: !strata.batch) {
  // expected-error@+1 {{(select_c2) expected the width of the cached keys to be 32 but got 16}}
  %0 = strata.select %q, %w, %keys[%batch] {k = 8, scale = 1.0} : (tensor<?x8x32xf32>, tensor<?x8xf32>, !keys) -> tensor<?x8xi32>
  return
}

// -----

!keys = !strata.cache<key 16xf32, page = 64>
func.func @select_k(%q: tensor<?x8x16xf32>, %w: tensor<?x8xf32>, %keys: !keys, %batch: !strata.batch) {
  // expected-error@+1 {{(select_c3) expected the columns of the result to be 8 but got 4}}
  %0 = strata.select %q, %w, %keys[%batch] {k = 8, scale = 1.0} : (tensor<?x8x16xf32>, tensor<?x8xf32>, !keys) -> tensor<?x4xi32>
  return
}

// -----

func.func @top_k(%s: tensor<?x?xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{(top_k_c1) expected a positive k but got 0}}
  %0 = strata.top_k %s[%batch] {k = 0} : tensor<?x?xf32> -> tensor<?x0xi32>
  return
}
