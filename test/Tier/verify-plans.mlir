// A plan holds until its table is resolved again, and every hot set follows the plans of its table.
// RUN: strata-opt %s --split-input-file --tier-verify --verify-diagnostics

// A plan ends when its table is resolved again.
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
func.func @stale_gather(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-note@+1 {{its table was resolved again here}}
  %t2, %plan2 = tier.resolve %r in %t1 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-error@+1 {{uses a stale plan}}
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  return %t2, %hot1 : !table, !hot
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
func.func @stale_slots(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, tensor<?x8xi32>) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-note@+1 {{its table was resolved again here}}
  %t2, %plan2 = tier.resolve %r in %t1 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-error@+1 {{uses a stale plan}}
  %s = tier.slots %plan : !plan -> tensor<?x8xi32>
  return %t2, %s : !table, tensor<?x8xi32>
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
func.func @stale_after_a_guess(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-note@+1 {{its table was resolved again here}}
  %t2, %guess = tier.speculate %r in %t1 limit 4 : tensor<?x8xi32>, !table -> !plan
  // expected-error@+1 {{uses a stale plan}}
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  return %t2, %hot1 : !table, !hot
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
func.func @stale_on_one_path(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>, %c: i1) -> (!table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %t2 = scf.if %c -> !table {
  // expected-note@+1 {{its table was resolved again here}}
    %a, %again = tier.resolve %r in %t1 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
    scf.yield %a : !table
  } else {
    scf.yield %t1 : !table
  }
  // expected-error@+1 {{uses a stale plan}}
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  return %t2, %hot1 : !table, !hot
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
func.func @plan_of_nobody(%home: !home, %hot0: !hot, %plan: !plan) -> !hot {
  // expected-error@+1 {{expected a plan that this function resolves, the same on all paths}}
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  return %hot1 : !hot
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
func.func @view_by_what_was_not_gathered(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!w, !table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-error@+1 {{reads a hot set by a plan that was not gathered into it last}}
  %v = tier.view %hot0 of %plan : !hot, !plan -> !keys
  %x = func.call @read(%v) : (!keys) -> !w
  return %x, %t1, %hot0 : !w, !table, !hot
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
func.func @view_by_a_guess(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!w, !table, !hot) {
  %t1, %plan = tier.speculate %r in %t0 limit 4 : tensor<?x8xi32>, !table -> !plan
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  // expected-error@+1 {{reads a hot set by a plan that was not gathered into it last}}
  %v = tier.view %hot1 of %plan : !hot, !plan -> !keys
  %x = func.call @read(%v) : (!keys) -> !w
  return %x, %t1, %hot1 : !w, !table, !hot
}

// -----

// The second plan counts on the rows of the first.
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
func.func @plan_left_out(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %t2, %plan2 = tier.resolve %r in %t1 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-error@+1 {{a hot set goes through each plan of its table, in order; expected the plan before this one first}}
  %p = tier.gather %home into %hot0 by %plan2 on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  return %t2, %hot1 : !table, !hot
}

// -----

// The next step would find hits whose rows never came.
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
func.func @handed_out_without_its_rows(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  // expected-note@+1 {{the plan}}
  %t2, %plan2 = tier.resolve %r in %t1 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-error@+1 {{hands out a hot set that lacks the rows of its table's last plan}}
  return %t2, %hot1 : !table, !hot
}

// -----

// A layer of the group was never brought its rows.
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
func.func @follower_left_out(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0, tier.table = 1}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot) {
  // expected-note@+1 {{the plan}}
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-error@+1 {{hands out a hot set that lacks the rows of its table's last plan}}
  return %t1, %hot0 : !table, !hot
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
func.func @handed_out_without_its_table(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> !hot {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  // expected-error@+1 {{hands out a hot set without its table}}
  return %hot1 : !hot
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
func.func @present_out_of_order(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!w, !table) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %t2, %plan2 = tier.resolve %r in %t1 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-error@+1 {{reads a hot set that has not gone through the plans before this one}}
  %v = tier.present %hot0 of %plan2 : !hot, !plan -> !keys
  %x = func.call @read(%v) : (!keys) -> !w
  return %x, %t2 : !w, !table
}
