// What is linear is used once, and a place is written when nobody reads it.
// RUN: strata-opt %s --split-input-file --tier-verify --verify-diagnostics

// A second value comes into a slot that the first is in.
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
func.func @two_in_one_slot(%a: !far, %b: !far, %s0: !slot) -> !slot {
  // expected-note@+1 {{it was used up here}}
  %p = tier.reload %a into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  // expected-error@+1 {{uses a linear value a second time, '!tier.slot<bytes = 16>'}}
  %q = tier.reload %b into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  %v = tier.wait %p : !tier.pending<!w> -> !w
  %u = tier.wait %q : !tier.pending<!w> -> !w
  %s1 = tier.release %v : !w -> !slot
  return %s1 : !slot
}

// -----

// A slot is given back before its last reader.
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
func.func @read_after_release(%far: !far, %s0: !slot) -> (!w, !slot) {
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  %v = tier.wait %p : !tier.pending<!w> -> !w
  // expected-note@+1 {{its slot was given back or filled here}}
  %s1 = tier.release %v : !w -> !slot
  // expected-error@+1 {{uses a value whose slot was given to another}}
  %y = arith.addf %v, %v : !w
  return %y, %s1 : !w, !slot
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
func.func @read_in_a_branch_after_release(%far: !far, %s0: !slot, %c: i1) -> !slot {
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  %v = tier.wait %p : !tier.pending<!w> -> !w
  // expected-note@+1 {{its slot was given back or filled here}}
  %s1 = tier.release %v : !w -> !slot
  scf.if %c {
    // expected-error@+1 {{uses a value whose slot was given to another}}
    %y = arith.addf %v, %v : !w
  }
  return %s1 : !slot
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
func.func @released_on_one_path(%far: !far, %s0: !slot, %other: !far, %c: i1) -> !w {
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  %v = tier.wait %p : !tier.pending<!w> -> !w
  // expected-note@+1 {{its slot was given back or filled here}}
  scf.if %c {
    %s1 = tier.release %v : !w -> !slot
  }
  // expected-error@+1 {{uses a value whose slot was given to another}}
  %y = arith.addf %v, %v : !w
  return %y : !w
}

// -----

// A transfer is a reader too.
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
func.func @released_while_it_is_saved(%far: !far, %s0: !slot) -> (!slot, !far) {
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  %v = tier.wait %p : !tier.pending<!w> -> !w
  // expected-note@+1 {{the transfer}}
  %q = tier.offload %v to %far on "copy" : !w, !far -> !tier.pending<!far>
  // expected-error@+1 {{gives back what a transfer still reads}}
  %s1 = tier.release %v : !w -> !slot
  %far1 = tier.wait %q : !tier.pending<!far> -> !far
  return %s1, %far1 : !slot, !far
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
func.func @released_twice(%far: !far, %s0: !slot) -> (!slot, !slot) {
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  %v = tier.wait %p : !tier.pending<!w> -> !w
  // expected-note@+1 {{its slot was given back or filled here}}
  %s1 = tier.release %v : !w -> !slot
  // expected-error@+1 {{uses a value whose slot was given to another}}
  %s2 = tier.release %v : !w -> !slot
  return %s1, %s2 : !slot, !slot
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
func.func @released_without_a_slot(%v: !w) -> !slot {
  // expected-error@+1 {{expected a value that lies in a slot of type '!tier.slot<bytes = 16>'}}
  %s1 = tier.release %v : !w -> !slot
  return %s1 : !slot
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
func.func @released_as_more(%far: !far, %s0: !slot) -> !tier.slot<bytes = 32> {
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  %v = tier.wait %p : !tier.pending<!w> -> !w
  // expected-error@+1 {{expected a value that lies in a slot of type '!tier.slot<bytes = 32>'}}
  %s1 = tier.release %v : !w -> !tier.slot<bytes = 32>
  return %s1 : !tier.slot<bytes = 32>
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
func.func @handed_out(%far: !far, %s0: !slot) -> !w {
  // expected-note@+1 {{its place}}
  %s = tier.slot : !slot
  %p = tier.reload %far into %s on "copy" : !far, !slot -> !tier.pending<!w>
  %v = tier.wait %p : !tier.pending<!w> -> !w
  // expected-error@+1 {{hands out a value that lies in a slot, stage or hot set}}
  return %v : !w
}

// -----

// The blocks of one stream come into the buffers of another that is still being read.
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
func.func @lent_twice(%home: !home, %a: !tier.slot<bytes = 128>, %b: !tier.slot<bytes = 128>, %other: !home) -> (!w, !w) {
  // expected-note@+1 {{the transfer}}
  %v = tier.stream %home blocks of 8 rows through %a, %b on "copy" : !home, !tier.slot<bytes = 128>, !tier.slot<bytes = 128> -> !keys
  // expected-error@+1 {{writes what a transfer still writes}}
  %u = tier.stream %other blocks of 8 rows through %b, %a on "copy" : !home, !tier.slot<bytes = 128>, !tier.slot<bytes = 128> -> !keys
  %x = func.call @read(%v) : (!keys) -> !w
  %y = func.call @read(%u) : (!keys) -> !w
  return %x, %y : !w, !w
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
func.func @one_buffer(%home: !home, %a: !tier.slot<bytes = 128>) -> !w {
  // expected-error@+1 {{expected two buffers but got one twice}}
  %v = tier.stream %home blocks of 8 rows through %a, %a on "copy" : !home, !tier.slot<bytes = 128>, !tier.slot<bytes = 128> -> !keys
  %x = func.call @read(%v) : (!keys) -> !w
  return %x : !w
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
func.func @appended_while_it_is_written_home(%home: !home, %own: tensor<?xi32>) -> !home {
  %stage = tier.stage of %home : !home -> !keys
  %s1 = func.call @append(%stage) : (!keys) -> !keys
  // expected-note@+1 {{the transfer}}
  %q = tier.write_back %s1 to %home at %own on "copy" in_order : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  // expected-error@+1 {{writes what a transfer still reads}}
  %s2 = func.call @append(%s1) : (!keys) -> !keys
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
func.func @home_written_while_it_is_read(%far: !far, %s0: !slot, %v: !w) -> (!far, !slot) {
  // expected-note@+1 {{the transfer}}
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  // expected-error@+1 {{writes what a transfer still reads}}
  %q = tier.offload %v to %far on "copy" : !w, !far -> !tier.pending<!far>
  %u = tier.wait %p : !tier.pending<!w> -> !w
  %far1 = tier.wait %q : !tier.pending<!far> -> !far
  %s1 = tier.release %u : !w -> !slot
  return %far1, %s1 : !far, !slot
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
func.func @view_written(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  %v = tier.view %hot1 of %plan : !hot, !plan -> !keys
  // expected-error@+1 {{writes to rows that are only there to be read}}
  %u = func.call @append(%v) : (!keys) -> !keys
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
func.func @hot_set_used_twice(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-note@+1 {{it was used up here}}
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  // expected-error@+1 {{uses a linear value a second time, '!tier.hot_set<"ddr", !strata.cache<key 4xf32, page = 8>, slots = 32>'}}
  %q = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  %hot2 = tier.wait %q : !tier.pending<!hot> -> !hot
  return %t1, %hot1, %hot2 : !table, !hot, !hot
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
func.func @table_used_twice(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !table) {
  // expected-note@+1 {{it was used up here}}
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // expected-error@+1 {{uses a linear value a second time, '!tier.table<slots = 32, pages = "keys">'}}
  %t2, %plan2 = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  return %t1, %t2 : !table, !table
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
func.func @home_handed_out_as_it_was(%home: !home, %cache: !keys, %own: tensor<?xi32>) -> !home {
  // expected-note@+1 {{it was written here}}
  %q = tier.write_back %cache to %home at %own on "copy" : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %home1 = tier.wait %q : !tier.pending<!home> -> !home
  // expected-error@+1 {{uses a value whose place was written since}}
  return %home : !home
}
