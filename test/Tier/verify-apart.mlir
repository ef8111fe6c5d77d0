// Layers and page spaces are kept apart.
// RUN: strata-opt %s --split-input-file --tier-verify --verify-diagnostics

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
// expected-note@+1 {{expected this one}}
func.func @from_the_home_of_another_layer(%home: !home, %other: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-error@+1 {{layers are mixed up: a hot set belongs to another home}}
  %p = tier.gather %other into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  return %t1, %hot1 : !table, !hot
}

// -----

// Two layers with one base: each would compute, with the other's rows.
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
// expected-note@+1 {{expected this one}}
func.func @both_from_one_home(%home: !home, %other: !home, %t0: !table, %hot0: !hot, %cold0: !hot, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  // expected-error@+1 {{layers are mixed up: a home belongs to another hot set}}
  %q = tier.gather %home into %cold0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  %cold1 = tier.wait %q : !tier.pending<!hot> -> !hot
  return %t1, %hot1, %cold1 : !table, !hot, !hot
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
// expected-error@+2 {{layers are mixed up: a home belongs to another hot set}}
// expected-note@+1 {{expected this one}}
func.func @paired_with_one_home(%home: !home, %hot0: !hot {tier.of = 0}, %cold0: !hot {tier.of = 0}) -> (!hot, !hot) {
  return %hot0, %cold0 : !hot, !hot
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
// expected-error@+1 {{expected tier.of of argument 1 to name its home but got '!tier.at<"ddr", !strata.cache<key 2xf32, page = 8>>'}}
func.func @paired_with_other_rows(%home: !tier.at<"ddr", !strata.cache<key 2xf32, page = 8>>, %hot0: !hot {tier.of = 0}) -> !hot {
  return %hot0 : !hot
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
// expected-error@+1 {{expected tier.of of argument 0 to name an argument but got 1}}
func.func @paired_with_nothing(%hot0: !hot {tier.of = 1}) -> !hot {
  return %hot0 : !hot
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
// expected-error@+1 {{expected tier.table of argument 1 to name its table but got '!tier.table<slots = 16, pages = "keys">'}}
func.func @paired_with_another_table(%t0: !tier.table<slots = 16, pages = "keys">, %hot0: !hot {tier.table = 0}) -> !hot {
  return %hot0 : !hot
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
func.func @stage_of_another_layer(%home: !home, %other: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot) {
  %stage = tier.stage of %other : !home -> !keys
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-error@+1 {{layers are mixed up: the stage is that of another home}}
  %p = tier.gather %home into %hot0 by %plan stage %stage on "gather" : !home, !hot, !plan, !keys -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  return %t1, %hot1 : !table, !hot
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
func.func @no_stage(%home: !home, %other: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>, %cache: !keys) -> (!table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-error@+1 {{expected a stage that tier.stage made}}
  %p = tier.gather %home into %hot0 by %plan stage %cache on "gather" : !home, !hot, !plan, !keys -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  return %t1, %hot1 : !table, !hot
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
func.func @written_home_to_another_layer(%home: !home, %other: !home, %own: tensor<?xi32>) -> !home {
  %stage = tier.stage of %other : !home -> !keys
  %s1 = func.call @append(%stage) : (!keys) -> !keys
  // expected-error@+1 {{layers are mixed up: the rows belong to another home}}
  %q = tier.write_back %s1 to %home at %own on "copy" in_order : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %home1 = tier.wait %q : !tier.pending<!home> -> !home
  return %home1 : !home
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
func.func @reloaded_and_written_to_another_layer(%home: !home, %other: !home, %own: tensor<?xi32>, %s0: !tier.slot<bytes = 1024>) -> !home {
  %p = tier.reload %other into %s0 on "copy" : !home, !tier.slot<bytes = 1024> -> !tier.pending<!keys>
  %v = tier.wait %p : !tier.pending<!keys> -> !keys
  %v1 = func.call @append(%v) : (!keys) -> !keys
  // expected-error@+1 {{layers are mixed up: the rows belong to another home}}
  %q = tier.write_back %v1 to %home at %own on "copy" : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %home1 = tier.wait %q : !tier.pending<!home> -> !home
  return %home1 : !home
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
// expected-note@+1 {{expected this one}}
func.func @hot_set_of_two_tables(%home: !home, %t0: !table, %u0: !table, %hot0: !hot, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %u1, %uplan = tier.resolve %r in %u0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  // expected-error@+1 {{page spaces are mixed up: a hot set belongs to another table}}
  %q = tier.gather %home into %hot1 by %uplan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot2 = tier.wait %q : !tier.pending<!hot> -> !hot
  return %t1, %u1, %hot2 : !table, !table, !hot
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
func.func @slots_written_home(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot, !home) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  %v = tier.view %hot1 of %plan : !hot, !plan -> !keys
  // expected-error@+1 {{page spaces are mixed up: slots of a hot set are not rows of a home}}
  %q = tier.write_back %v to %home at %own on "copy" : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
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
func.func @stage_taken_for_pages(%home: !home, %own: tensor<?xi32>) -> !home {
  %stage = tier.stage of %home : !home -> !keys
  // expected-error@+1 {{expected rows in order from a stage, and from nothing else}}
  %q = tier.write_back %stage to %home at %own on "copy" : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %home1 = tier.wait %q : !tier.pending<!home> -> !home
  return %home1 : !home
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
func.func @pages_taken_for_a_stage(%home: !home, %cache: !keys, %own: tensor<?xi32>) -> !home {
  // expected-error@+1 {{expected rows in order from a stage, and from nothing else}}
  %q = tier.write_back %cache to %home at %own on "copy" in_order : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %home1 = tier.wait %q : !tier.pending<!home> -> !home
  return %home1 : !home
}
