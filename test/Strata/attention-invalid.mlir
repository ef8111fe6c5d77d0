// RUN: strata-opt %s --split-input-file --verify-diagnostics

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
func.func @no_source(%q: tensor<?x4x40xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_c1) expected one selector for each of at least one cache but got 0 for 0}}
  %0 = strata.attention %q over ()[%batch] {scale = 0.125} : (tensor<?x4x40xf32>) -> tensor<?x4x32xf32>
  return
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
func.func @rows_missing(%q: tensor<?x4x40xf32>, %kv: !kv, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_c2) expected an index tensor for each of 1 listed selectors but got 0}}
  %0 = "strata.attention"(%q, %kv, %batch) <{selectors = [#strata.selector<rows>], scale = 0.125, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0>}> : (tensor<?x4x40xf32>, !kv, !strata.batch) -> tensor<?x4x32xf32>
  return
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
func.func @empty_window(%q: tensor<?x4x40xf32>, %kv: !kv, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_c2) expected a count of at least 1 but got 0}}
  %0 = strata.attention %q over (%kv window 0)[%batch] {scale = 0.125} : (tensor<?x4x40xf32>, !kv) -> tensor<?x4x32xf32>
  return
}

// -----

!kv = !strata.cache<key_value 32xf32, page = 64>
func.func @widths(%q: tensor<?x4x40xf32>, %kv: !kv, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_c3) expected keys of 40 and values of 32 elements but got 32 and 32}}
  %0 = strata.attention %q over (%kv all)[%batch] {scale = 0.125} : (tensor<?x4x40xf32>, !kv) -> tensor<?x4x32xf32>
  return
}

// -----

!kv = !strata.cache<key 3x16xf32, value 3x16xf32, page = 64>
func.func @heads(%q: tensor<?x4x16xf32>, %kv: !kv, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_c4) expected key heads that divide 4 heads but got 3}}
  %0 = strata.attention %q over (%kv all)[%batch] {scale = 0.125} : (tensor<?x4x16xf32>, !kv) -> tensor<?x4x16xf32>
  return
}

// -----

!kv = !strata.cache<key 2x16xf32, value 2x16xf32, page = 64>
func.func @sinks(%q: tensor<?x4x16xf32>, %kv: !kv, %s: tensor<2xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_c5) expected 4 sinks but got 2}}
  %0 = strata.attention %q over (%kv all)[%batch] sinks %s {scale = 0.125} : (tensor<?x4x16xf32>, !kv, tensor<2xf32>) -> tensor<?x4x16xf32>
  return
}

// -----

!kv = !strata.cache<key 2x16xf32, value 2x16xf32, page = 64>
func.func @two_rows(%q: tensor<?x4x16xf32>, %kv: !kv, %a: tensor<?x8xi32>, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_c6) expected at most one listed source for each cache}}
  %0 = strata.attention %q over (%kv rows %a, %kv rows %a)[%batch] {scale = 0.125} : (tensor<?x4x16xf32>, !kv, tensor<?x8xi32>, !kv, tensor<?x8xi32>) -> tensor<?x4x16xf32>
  return
}

// -----

!kv = !strata.cache<key 2x16xf32, value 2x16xf32, page = 64>
func.func @result_heads(%q: tensor<?x4x16xf32>, %kv: !kv, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_c7) expected a result with 4 heads but got 2}}
  %0 = strata.attention %q over (%kv all)[%batch] {scale = 0.125} : (tensor<?x4x16xf32>, !kv) -> tensor<?x2x16xf32>
  return
}

// -----

!kv = !strata.cache<key 2x16xf32, value 2x16xf32, page = 64>
func.func @unknown_selector(%q: tensor<?x4x16xf32>, %kv: !kv, %batch: !strata.batch) {
  // expected-error@+1 {{expected all, window, first, rows or records but got last}}
  %0 = strata.attention %q over (%kv last 4)[%batch] {scale = 0.125} : (tensor<?x4x16xf32>, !kv) -> tensor<?x4x16xf32>
  return
}
