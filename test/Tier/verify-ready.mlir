// A value is read after it has come.
// RUN: strata-opt %s --split-input-file --tier-verify --verify-diagnostics

// A hot set is read while rows are still coming.
!keys = !strata.cache<key 4xf32, page = 8>
!home = !tier.at<"ddr", !keys>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
!table = !tier.table<slots = 32, pages = "keys">
!plan = !tier.plan<slots = 32, pages = "keys">
!w = tensor<4xf32>
!far = !tier.at<"ddr", !w>
!slot = !tier.slot<bytes = 16>
func.func private @read(!keys) -> !w
func.func private @append(!keys) -> !keys
func.func @gather_in_flight(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!w, !table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-note@+1 {{the transfer}}
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  // expected-error@+1 {{reads a hot set before the transfer into it is waited for}}
  %v = tier.view %hot0 of %plan : !hot, !plan -> !keys
  %x = func.call @read(%v) : (!keys) -> !w
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  return %x, %t1, %hot1 : !w, !table, !hot
}

// -----

// A view outlives the rows that it was a view of.
!keys = !strata.cache<key 4xf32, page = 8>
!home = !tier.at<"ddr", !keys>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
!table = !tier.table<slots = 32, pages = "keys">
!plan = !tier.plan<slots = 32, pages = "keys">
!w = tensor<4xf32>
!far = !tier.at<"ddr", !w>
!slot = !tier.slot<bytes = 16>
func.func private @read(!keys) -> !w
func.func private @append(!keys) -> !keys
func.func @old_view(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>, %r2: tensor<?x8xi32>) -> (!w, !table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  %v = tier.view %hot1 of %plan : !hot, !plan -> !keys
  %t2, %plan2 = tier.resolve %r2 in %t1 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-note@+1 {{the transfer}}
  %p2 = tier.gather %home into %hot1 by %plan2 on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  // expected-error@+1 {{reads a hot set before the transfer into it is waited for}}
  %x = func.call @read(%v) : (!keys) -> !w
  %hot2 = tier.wait %p2 : !tier.pending<!hot> -> !hot
  return %x, %t2, %hot2 : !w, !table, !hot
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!home = !tier.at<"ddr", !keys>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
!table = !tier.table<slots = 32, pages = "keys">
!plan = !tier.plan<slots = 32, pages = "keys">
!w = tensor<4xf32>
!far = !tier.at<"ddr", !w>
!slot = !tier.slot<bytes = 16>
func.func private @read(!keys) -> !w
func.func private @append(!keys) -> !keys
func.func @old_view_later(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>, %r2: tensor<?x8xi32>) -> (!w, !table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  %v = tier.view %hot1 of %plan : !hot, !plan -> !keys
  %t2, %plan2 = tier.resolve %r2 in %t1 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-note@+1 {{it was written here}}
  %p2 = tier.gather %home into %hot1 by %plan2 on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot2 = tier.wait %p2 : !tier.pending<!hot> -> !hot
  // expected-error@+1 {{uses a value whose place was written since}}
  %x = func.call @read(%v) : (!keys) -> !w
  return %x, %t2, %hot2 : !w, !table, !hot
}

// -----

// What is present is so by the plan of the gather that goes on, and by no other.
!keys = !strata.cache<key 4xf32, page = 8>
!home = !tier.at<"ddr", !keys>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
!table = !tier.table<slots = 32, pages = "keys">
!plan = !tier.plan<slots = 32, pages = "keys">
!w = tensor<4xf32>
!far = !tier.at<"ddr", !w>
!slot = !tier.slot<bytes = 16>
func.func private @read(!keys) -> !w
func.func private @append(!keys) -> !keys
func.func @present_of_another_plan(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>, %r2: tensor<?x8xi32>) -> (!w, !table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  %t2, %plan2 = tier.resolve %r2 in %t1 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-note@+1 {{the transfer}}
  %p2 = tier.gather %home into %hot1 by %plan2 on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  // expected-error@+1 {{reads a hot set before the transfer into it is waited for}}
  %v = tier.present %hot1 of %plan : !hot, !plan -> !keys
  %x = func.call @read(%v) : (!keys) -> !w
  %hot2 = tier.wait %p2 : !tier.pending<!hot> -> !hot
  return %x, %t2, %hot2 : !w, !table, !hot
}

// -----

// The step's own rows are read before they are there.
!keys = !strata.cache<key 4xf32, page = 8>
!home = !tier.at<"ddr", !keys>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
!table = !tier.table<slots = 32, pages = "keys">
!plan = !tier.plan<slots = 32, pages = "keys">
!w = tensor<4xf32>
!far = !tier.at<"ddr", !w>
!slot = !tier.slot<bytes = 16>
func.func private @read(!keys) -> !w
func.func private @append(!keys) -> !keys
func.func @own_rows_missing(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!w, !table, !hot, !home) {
  // expected-note@+1 {{the stage}}
  %stage = tier.stage of %home : !home -> !keys
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p = tier.gather %home into %hot0 by %plan stage %stage on "gather" : !home, !hot, !plan, !keys -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  // expected-error@+1 {{reads a hot set before the step's own rows are in the stage}}
  %v = tier.view %hot1 of %plan : !hot, !plan -> !keys
  %x = func.call @read(%v) : (!keys) -> !w
  %s1 = func.call @append(%stage) : (!keys) -> !keys
  %q = tier.write_back %s1 to %home at %own on "copy" in_order : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %home1 = tier.wait %q : !tier.pending<!home> -> !home
  return %x, %t1, %hot1, %home1 : !w, !table, !hot, !home
}

// -----

// Index keys are scanned before the step's own have come home.
!keys = !strata.cache<key 4xf32, page = 8>
!home = !tier.at<"ddr", !keys>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
!table = !tier.table<slots = 32, pages = "keys">
!plan = !tier.plan<slots = 32, pages = "keys">
!w = tensor<4xf32>
!far = !tier.at<"ddr", !w>
!slot = !tier.slot<bytes = 16>
func.func private @read(!keys) -> !w
func.func private @append(!keys) -> !keys
func.func @home_in_flight(%home: !home, %cache: !keys, %own: tensor<?xi32>, %a: !tier.slot<bytes = 128>, %b: !tier.slot<bytes = 128>) -> (!w, !home) {
  // expected-note@+1 {{it was written here}}
  %p = tier.write_back %cache to %home at %own on "copy" : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  // expected-error@+1 {{uses a value whose place was written since}}
  %v = tier.stream %home blocks of 8 rows through %a, %b on "copy" : !home, !tier.slot<bytes = 128>, !tier.slot<bytes = 128> -> !keys
  %x = func.call @read(%v) : (!keys) -> !w
  %home1 = tier.wait %p : !tier.pending<!home> -> !home
  return %x, %home1 : !w, !home
}

// -----

// Without a stage a gather may read what the step writes home.
!keys = !strata.cache<key 4xf32, page = 8>
!home = !tier.at<"ddr", !keys>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
!table = !tier.table<slots = 32, pages = "keys">
!plan = !tier.plan<slots = 32, pages = "keys">
!w = tensor<4xf32>
!far = !tier.at<"ddr", !w>
!slot = !tier.slot<bytes = 16>
func.func private @read(!keys) -> !w
func.func private @append(!keys) -> !keys
func.func @gather_of_written_rows(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>, %cache: !keys) -> (!table, !hot, !home) {
  // expected-note@+1 {{it was written here}}
  %q = tier.write_back %cache to %home at %own on "copy" : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-error@+1 {{uses a value whose place was written since}}
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  %home1 = tier.wait %q : !tier.pending<!home> -> !home
  return %t1, %hot1, %home1 : !table, !hot, !home
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!home = !tier.at<"ddr", !keys>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
!table = !tier.table<slots = 32, pages = "keys">
!plan = !tier.plan<slots = 32, pages = "keys">
!w = tensor<4xf32>
!far = !tier.at<"ddr", !w>
!slot = !tier.slot<bytes = 16>
func.func private @read(!keys) -> !w
func.func private @append(!keys) -> !keys
func.func @stream_read_twice(%home: !home, %a: !tier.slot<bytes = 128>, %b: !tier.slot<bytes = 128>) -> (!w, !w) {
  %v = tier.stream %home blocks of 8 rows through %a, %b on "copy" : !home, !tier.slot<bytes = 128>, !tier.slot<bytes = 128> -> !keys
  // expected-note@+1 {{it was read here}}
  %x = func.call @read(%v) : (!keys) -> !w
  // expected-error@+1 {{reads a stream a second time}}
  %y = func.call @read(%v) : (!keys) -> !w
  return %x, %y : !w, !w
}
