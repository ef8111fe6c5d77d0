// What the phase place promises, and what strata and tier promise each other there.
// RUN: strata-opt %s --split-input-file --strata-verify-phase=phase=place --verify-diagnostics

// Hits first, then the misses, in kernels.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %hits, %misses = tier.split %plan : !plan -> !r, !r
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %present = tier.present %hot0 of %plan : !hot, !plan -> !kv
    %s0 = strata.kernel heads {
      %first = strata.attention_scores %q over (%present records %hits)[%batch] {scale = 0.125} : (!q, !kv, !r) -> !s
      strata.yield %first : !s
    } : !s
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    %s1 = strata.attention_scores %q over (%v records %misses)[%batch] into %s0 {scale = 0.125} : (!q, !kv, !r, !s) -> !s
    %o = strata.attention %q over (%v records %slots)[%batch] with scores %s1 {scale = 0.125} : (!q, !kv, !r, !s) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

// The same with the attention cut in two.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %hits, %misses = tier.split %plan : !plan -> !r, !r
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %present = tier.present %hot0 of %plan : !hot, !plan -> !kv
    %s0 = strata.partial_attention %q over (%present records %hits)[%batch] {scale = 0.125} : (!q, !kv, !r) -> tensor<?x4x34xf32>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    %o = strata.attention %q over (%v records %misses)[%batch] after %s0 {scale = 0.125} : (!q, !kv, !r, tensor<?x4x34xf32>) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

// Logical positions where physical numbers are wanted.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    // expected-error@+1 {{page spaces are mixed up: expected numbers of records, from strata.records and strata.own_records}}
    %t1, %plan = tier.resolve %rows in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    // expected-error@+1 {{page spaces are mixed up: expected numbers of records, from strata.records and strata.own_records}}
    %t1, %plan = tier.resolve %records in %t0 writing %ids {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 32} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    // expected-error@+1 {{page spaces are mixed up: expected pages of one size but got 64 and 32}}
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 32} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 32} : !r
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    // expected-error@+1 {{page spaces are mixed up: expected numbers for pages of 64 records but got 32}}
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    // expected-error@+1 {{page spaces are mixed up: expected numbers of records, from strata.records}}
    %t1, %plan = tier.speculate %rows in %t0 limit 2 : !r, !table -> !plan
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

// Tokens where record numbers are wanted: the rows would go to the wrong pages.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %stage = tier.stage of %home : !home -> !kv
    %a = strata.weight "a" stored f32 : tensor<32x160xf32>
    %l0 = strata.linear %e, %a : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %b = strata.weight "b" stored f32 : tensor<8x160xf32>
    %k0 = strata.linear %e, %b : (tensor<?x160xf32>, tensor<8x160xf32>) -> tensor<?x8xf32>
    %s1 = strata.append %stage[%batch], %l0, %k0 in_order : !kv, tensor<?x32xf32>, tensor<?x8xf32>
    // expected-error@+1 {{page spaces are mixed up: expected numbers of records, from strata.own_records}}
    %pw = tier.write_back %s1 to %home at %ids on "out" in_order : !kv, !home, tensor<?xi32> -> !tier.pending<!home>
    %h1 = tier.wait %pw : !tier.pending<!home> -> !home
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 32} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %stage = tier.stage of %home : !home -> !kv
    %a = strata.weight "a" stored f32 : tensor<32x160xf32>
    %l0 = strata.linear %e, %a : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %b = strata.weight "b" stored f32 : tensor<8x160xf32>
    %k0 = strata.linear %e, %b : (tensor<?x160xf32>, tensor<8x160xf32>) -> tensor<?x8xf32>
    %s1 = strata.append %stage[%batch], %l0, %k0 in_order : !kv, tensor<?x32xf32>, tensor<?x8xf32>
    // expected-error@+1 {{page spaces are mixed up: expected numbers for pages of 64 records but got 32}}
    %pw = tier.write_back %s1 to %home at %own on "out" in_order : !kv, !home, tensor<?xi32> -> !tier.pending<!home>
    %h1 = tier.wait %pw : !tier.pending<!home> -> !home
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %stage = tier.stage of %home : !home -> !kv
    %a = strata.weight "a" stored f32 : tensor<32x160xf32>
    %l0 = strata.linear %e, %a : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %b = strata.weight "b" stored f32 : tensor<8x160xf32>
    %k0 = strata.linear %e, %b : (tensor<?x160xf32>, tensor<8x160xf32>) -> tensor<?x8xf32>
    // expected-error@+1 {{expected records in order in a stage and nowhere else}}
    %s1 = strata.append %stage[%batch], %l0, %k0 : !kv, tensor<?x32xf32>, tensor<?x8xf32>
    %pw = tier.write_back %s1 to %home at %own on "out" in_order : !kv, !home, tensor<?xi32> -> !tier.pending<!home>
    %h1 = tier.wait %pw : !tier.pending<!home> -> !home
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    // expected-note@+1 {{the stage}}
    %stage = tier.stage of %home : !home -> !kv
    %a = strata.weight "a" stored f32 : tensor<32x160xf32>
    %l0 = strata.linear %e, %a : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %b = strata.weight "b" stored f32 : tensor<8x160xf32>
    %k0 = strata.linear %e, %b : (tensor<?x160xf32>, tensor<8x160xf32>) -> tensor<?x8xf32>
    // expected-error@+1 {{reads a stage; expected an append in order or a gather}}
    %o = strata.attention %q over (%stage rows %rows)[%batch] {scale = 0.125} : (!q, !kv, !r) -> !o
    %s1 = strata.append %stage[%batch], %l0, %k0 in_order : !kv, tensor<?x32xf32>, tensor<?x8xf32>
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

// Slots are no record numbers of the cache's own.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    // expected-note@+1 {{the hot set}}
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    // expected-error@+1 {{page spaces are mixed up: expected records of a hot set by slots of a plan}}
    %o = strata.attention %q over (%v records %records)[%batch] {scale = 0.125} : (!q, !kv, !r) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    // expected-note@+1 {{the hot set}}
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    // expected-error@+1 {{page spaces are mixed up: expected records of a hot set by slots of a plan}}
    %o = strata.attention %q over (%v rows %slots)[%batch] {scale = 0.125} : (!q, !kv, !r) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

// Slots of a hot set in a stage, whose records are tokens.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %stage = tier.stage of %home : !home -> !kv
    %a = strata.weight "a" stored f32 : tensor<32x160xf32>
    %l0 = strata.linear %e, %a : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %b = strata.weight "b" stored f32 : tensor<8x160xf32>
    %k0 = strata.linear %e, %b : (tensor<?x160xf32>, tensor<8x160xf32>) -> tensor<?x8xf32>
    %s1 = strata.append %stage[%batch], %l0, %k0 in_order : !kv, tensor<?x32xf32>, tensor<?x8xf32>
    %pw = tier.write_back %s1 to %home at %own on "out" in_order : !kv, !home, tensor<?xi32> -> !tier.pending<!home>
    %h1 = tier.wait %pw : !tier.pending<!home> -> !home
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    // expected-note@+1 {{the slots}}
    %slots = tier.slots %plan : !plan -> !r
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    // expected-error@+1 {{page spaces are mixed up: slots of a hot set number records of another cache}}
    %o = strata.attention %q over (%s1 records %slots)[%batch] {scale = 0.125} : (!q, !kv, !r) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

// Present are the hits alone.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %hits, %misses = tier.split %plan : !plan -> !r, !r
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    // expected-note@+1 {{what is present}}
    %present = tier.present %hot0 of %plan : !hot, !plan -> !kv
    // expected-error@+1 {{reads records that may not be there yet; expected the hits}}
    %s0 = strata.attention_scores %q over (%present records %slots)[%batch] {scale = 0.125} : (!q, !kv, !r) -> !s
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %hits, %misses = tier.split %plan : !plan -> !r, !r
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    // expected-note@+1 {{what is present}}
    %present = tier.present %hot0 of %plan : !hot, !plan -> !kv
    // expected-error@+1 {{reads records that may not be there yet; expected the hits}}
    %s0 = strata.partial_attention %q over (%present records %misses)[%batch] {scale = 0.125} : (!q, !kv, !r) -> tensor<?x4x34xf32>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

// Slots of a plan that the hot set was not viewed by.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %tm, %old = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %oldslots = tier.slots %old : !plan -> !r
    %oldhits, %oldmisses = tier.split %old : !plan -> !r, !r
    %po = tier.gather %home into %hot0 by %old on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hotm = tier.wait %po : !tier.pending<!hot> -> !hot
    %vo = tier.view %hotm of %old : !hot, !plan -> !kv
    // expected-note@+1 {{expected this plan's}}
    %t1, %plan = tier.resolve %records in %tm writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %p = tier.gather %home into %hotm by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    // expected-error@+1 {{reads a hot set by the slots of another plan}}
    %o = strata.attention %q over (%v records %oldslots)[%batch] {scale = 0.125} : (!q, !kv, !r) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

// Scores of another plan's hits.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %tm, %old = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %oldslots = tier.slots %old : !plan -> !r
    %oldhits, %oldmisses = tier.split %old : !plan -> !r, !r
    %po = tier.gather %home into %hot0 by %old on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hotm = tier.wait %po : !tier.pending<!hot> -> !hot
    %vo = tier.view %hotm of %old : !hot, !plan -> !kv
    // expected-note@+1 {{the part}}
    %s0 = strata.attention_scores %q over (%vo records %oldhits)[%batch] {scale = 0.125} : (!q, !kv, !r) -> !s
    %t1, %plan = tier.resolve %records in %tm writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %hits, %misses = tier.split %plan : !plan -> !r, !r
    %p = tier.gather %home into %hotm by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    // expected-error@+1 {{goes on with a part of another plan}}
    %s1 = strata.attention_scores %q over (%v records %misses)[%batch] into %s0 {scale = 0.125} : (!q, !kv, !r, !s) -> !s
    %o = strata.attention %q over (%v records %slots)[%batch] with scores %s1 {scale = 0.125} : (!q, !kv, !r, !s) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %tm, %old = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %oldslots = tier.slots %old : !plan -> !r
    %oldhits, %oldmisses = tier.split %old : !plan -> !r, !r
    %po = tier.gather %home into %hot0 by %old on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hotm = tier.wait %po : !tier.pending<!hot> -> !hot
    %vo = tier.view %hotm of %old : !hot, !plan -> !kv
    // expected-note@+1 {{the scores}}
    %s0 = strata.attention_scores %q over (%vo records %oldslots)[%batch] {scale = 0.125} : (!q, !kv, !r) -> !s
    %t1, %plan = tier.resolve %records in %tm writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %hits, %misses = tier.split %plan : !plan -> !r, !r
    %p = tier.gather %home into %hotm by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    // expected-error@+1 {{goes on with scores of another hot set or plan}}
    %o = strata.attention %q over (%v records %slots)[%batch] with scores %s0 {scale = 0.125} : (!q, !kv, !r, !s) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %tm, %old = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %oldslots = tier.slots %old : !plan -> !r
    %oldhits, %oldmisses = tier.split %old : !plan -> !r, !r
    %po = tier.gather %home into %hot0 by %old on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hotm = tier.wait %po : !tier.pending<!hot> -> !hot
    %vo = tier.view %hotm of %old : !hot, !plan -> !kv
    // expected-note@+1 {{the part}}
    %s0 = strata.partial_attention %q over (%vo records %oldhits)[%batch] {scale = 0.125} : (!q, !kv, !r) -> tensor<?x4x34xf32>
    %t1, %plan = tier.resolve %records in %tm writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %hits, %misses = tier.split %plan : !plan -> !r, !r
    %p = tier.gather %home into %hotm by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    // expected-error@+1 {{goes on with a part of another plan}}
    %o = strata.attention %q over (%v records %misses)[%batch] after %s0 {scale = 0.125} : (!q, !kv, !r, tensor<?x4x34xf32>) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

// The misses were never scored.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %hits, %misses = tier.split %plan : !plan -> !r, !r
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %present = tier.present %hot0 of %plan : !hot, !plan -> !kv
    // expected-note@+1 {{the scores}}
    %s0 = strata.attention_scores %q over (%present records %hits)[%batch] {scale = 0.125} : (!q, !kv, !r) -> !s
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    // expected-error@+1 {{goes on with the scores of a part of its records}}
    %o = strata.attention %q over (%v records %slots)[%batch] with scores %s0 {scale = 0.125} : (!q, !kv, !r, !s) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

// The hits twice, the misses never.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %hits, %misses = tier.split %plan : !plan -> !r, !r
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %present = tier.present %hot0 of %plan : !hot, !plan -> !kv
    // expected-note@+1 {{the part}}
    %s0 = strata.attention_scores %q over (%present records %hits)[%batch] {scale = 0.125} : (!q, !kv, !r) -> !s
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    // expected-error@+1 {{lists the records that a part before has listed}}
    %s1 = strata.attention_scores %q over (%v records %hits)[%batch] into %s0 {scale = 0.125} : (!q, !kv, !r, !s) -> !s
    %o = strata.attention %q over (%v records %slots)[%batch] with scores %s1 {scale = 0.125} : (!q, !kv, !r, !s) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

// The hits would count twice.
!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %hits, %misses = tier.split %plan : !plan -> !r, !r
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %present = tier.present %hot0 of %plan : !hot, !plan -> !kv
    // expected-note@+1 {{the part}}
    %s0 = strata.partial_attention %q over (%present records %hits)[%batch] {scale = 0.125} : (!q, !kv, !r) -> tensor<?x4x34xf32>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    // expected-error@+1 {{lists the records that a part before has listed}}
    %o = strata.attention %q over (%v records %slots)[%batch] after %s0 {scale = 0.125} : (!q, !kv, !r, tensor<?x4x34xf32>) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch, %home: !home, %t0: !table, %hot0: !hot {tier.of = 1, tier.table = 2}, %rows: !r) -> (tensor<?x32xf32>, !home, !table, !hot) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %w = strata.weight "w" stored f32 : tensor<32x160xf32>
    %e = strata.embedding %ids, %w : (tensor<?xi32>, tensor<32x160xf32>) -> tensor<?x160xf32>
    %l = strata.weight "l" stored f32 : tensor<32x160xf32>
    %y = strata.logits %e, %l[%batch] : (tensor<?x160xf32>, tensor<32x160xf32>) -> tensor<?x32xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %e, %zero : tensor<?x160xf32>
    %q = tensor.expand_shape %e [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into !q
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : !r
    %t1, %plan = tier.resolve %records in %t0 writing %own {k = 8} : !r, tensor<?xi32>, !table -> !plan
    %slots = tier.slots %plan : !plan -> !r
    %p = tier.gather %home into %hot0 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    %v = tier.view %hot1 of %plan : !hot, !plan -> !kv
    %s0 = arith.constant dense<0.0> : tensor<1x4x8xf32>
    %s1 = tensor.concat dim(0) %s0 : (tensor<1x4x8xf32>) -> !s
    // expected-error@+1 {{expected scores of strata.attention_scores}}
    %o = strata.attention %q over (%v records %slots)[%batch] with scores %s1 {scale = 0.125} : (!q, !kv, !r, !s) -> !o
    return %y, %home, %t1, %hot1 : tensor<?x32xf32>, !home, !table, !hot
  }
}

// -----

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !kv>
!hot = !tier.hot_set<"ddr", !kv, slots = 16>
!table = !tier.table<slots = 16, pages = "g">
!plan = !tier.plan<slots = 16, pages = "g">
!q = tensor<?x4x40xf32>
!o = tensor<?x4x32xf32>
!r = tensor<?x8xi32>
!s = tensor<?x4x8xf32>
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  // expected-error@+1 {{expected @step to take a batch, then caches, tables and hot sets, then rows, but got}}
  func.func @step(%batch: !strata.batch, %hot0: !hot, %home: !home) -> (!hot, !home) {
    return %hot0, %home : !hot, !home
  }
}
