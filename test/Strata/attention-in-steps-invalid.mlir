// RUN: strata-opt %s --split-input-file --verify-diagnostics

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
func.func @scores_of_a_narrow_query(%q: tensor<?x4x32xf32>, %kv: !kv, %r: tensor<?x8xi32>, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_scores_c1) expected keys of 32 elements and key heads that divide 4 heads but got '!strata.cache<key_value 32xf32, key 8xf32, page = 64>'}}
  %0 = strata.attention_scores %q over (%kv records %r)[%batch] {scale = 0.125} : (tensor<?x4x32xf32>, !kv, tensor<?x8xi32>) -> tensor<?x4x8xf32>
  return
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
func.func @scores_of_more_records(%q: tensor<?x4x40xf32>, %kv: !kv, %r: tensor<?x8xi32>, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_scores_c2) expected scores of 4 heads and 8 records but got 'tensor<?x4x9xf32>'}}
  %0 = strata.attention_scores %q over (%kv records %r)[%batch] {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>) -> tensor<?x4x9xf32>
  return
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
func.func @scores_into_others(%q: tensor<?x4x40xf32>, %kv: !kv, %r: tensor<?x8xi32>, %s: tensor<?x4x7xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_scores_c2) expected scores of 4 heads and 8 records but got 'tensor<?x4x8xf32>' into 'tensor<?x4x7xf32>'}}
  %0 = strata.attention_scores %q over (%kv records %r)[%batch] into %s {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, tensor<?x4x7xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

!kv = !strata.cache<key 3x40xf32, value 3x32xf32, page = 64>
func.func @part_of_heads_that_do_not_divide(%q: tensor<?x4x40xf32>, %kv: !kv, %r: tensor<?x8xi32>, %batch: !strata.batch) {
  // expected-error@+1 {{(partial_attention_c1) expected keys of 40 elements and key heads that divide 4 heads but got '!strata.cache<key 3x40xf32, value 3x32xf32, page = 64>'}}
  %0 = strata.partial_attention %q over (%kv records %r)[%batch] {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>) -> tensor<?x4x34xf32>
  return
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
func.func @part_without_its_state(%q: tensor<?x4x40xf32>, %kv: !kv, %r: tensor<?x8xi32>, %batch: !strata.batch) {
  // expected-error@+1 {{(partial_attention_c2) expected 4 heads of 34 elements but got 'tensor<?x4x32xf32>'}}
  %0 = strata.partial_attention %q over (%kv records %r)[%batch] {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>) -> tensor<?x4x32xf32>
  return
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
func.func @part_with_few_sinks(%q: tensor<?x4x40xf32>, %kv: !kv, %r: tensor<?x8xi32>, %s: tensor<3xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{(partial_attention_c3) expected 4 sinks but got 'tensor<3xf32>'}}
  %0 = strata.partial_attention %q over (%kv records %r)[%batch] sinks %s {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, tensor<3xf32>) -> tensor<?x4x34xf32>
  return
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
func.func @scores_without_listed_keys(%q: tensor<?x4x40xf32>, %kv: !kv, %s: tensor<?x4x8xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_c8) expected scores of each head and each of the rows of one listed source but got 'tensor<?x4x8xf32>'}}
  %0 = strata.attention %q over (%kv all)[%batch] with scores %s {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x4x8xf32>) -> tensor<?x4x32xf32>
  return
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
func.func @sinks_after_a_part(%q: tensor<?x4x40xf32>, %kv: !kv, %r: tensor<?x8xi32>, %s: tensor<4xf32>, %p: tensor<?x4x34xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_c9) expected neither scores nor sinks after a part of 4 heads of 34 elements but got 'tensor<?x4x34xf32>'}}
  %0 = strata.attention %q over (%kv records %r)[%batch] sinks %s after %p {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, tensor<4xf32>, tensor<?x4x34xf32>) -> tensor<?x4x32xf32>
  return
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
func.func @rows_and_records_of_one_cache(%q: tensor<?x4x40xf32>, %kv: !kv, %r: tensor<?x8xi32>, %batch: !strata.batch) {
  // expected-error@+1 {{(attention_c6) expected at most one listed source for each cache}}
  %0 = strata.attention %q over (%kv rows %r, %kv records %r)[%batch] {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, !kv, tensor<?x8xi32>) -> tensor<?x4x32xf32>
  return
}
