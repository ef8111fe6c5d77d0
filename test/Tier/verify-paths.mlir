// Each transfer is waited for exactly once on every path.
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
func.func @no_wait(%far: !far, %s0: !slot) {
  // expected-error@+1 {{a transfer is not waited for on every path}}
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  // expected-note@+1 {{the function ends here}}
  return
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
func.func @returned(%far: !far, %s0: !slot) -> !tier.pending<!w> {
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  // expected-error@+1 {{hands out a value that is on its way; expected a wait}}
  return %p : !tier.pending<!w>
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
func.func @wait_in_one_branch(%far: !far, %s0: !slot, %c: i1) {
  // expected-error@+1 {{a transfer is not waited for on every path}}
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  // expected-note@+1 {{the paths meet here}}
  scf.if %c {
    %v = tier.wait %p : !tier.pending<!w> -> !w
  }
  return
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
func.func @wait_in_one_of_two(%far: !far, %s0: !slot, %c: i1) {
  // expected-error@+1 {{a transfer is not waited for on every path}}
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  // expected-note@+1 {{the paths meet here}}
  scf.if %c {
    %v = tier.wait %p : !tier.pending<!w> -> !w
  } else {
    scf.yield
  }
  return
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
func.func @begun_in_a_branch(%far: !far, %s0: !slot, %c: i1) {
  scf.if %c {
    // expected-error@+1 {{is not waited for on every path}}
    %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
    // expected-note@+1 {{its region ends here}}
    scf.yield
  }
  return
}

// -----

// The loop may run no time, and may run twice.
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
func.func @wait_in_a_loop(%far: !far, %s0: !slot, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-error@+1 {{a transfer is not waited for on every path}}
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  // expected-note@+1 {{the paths meet here}}
  scf.for %i = %zero to %n step %one {
    %v = tier.wait %p : !tier.pending<!w> -> !w
  }
  return
}

// -----

// A block argument is waited for in one of two blocks.
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
func.func @block_argument(%far: !far, %s0: !slot, %c: i1) {
  // expected-error@+1 {{a transfer is not waited for on every path}}
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  cf.cond_br %c, ^wait(%p : !tier.pending<!w>), ^end(%p : !tier.pending<!w>)
^wait(%q: !tier.pending<!w>):
  %v = tier.wait %q : !tier.pending<!w> -> !w
  cf.br ^done
^end(%l: !tier.pending<!w>):
  cf.br ^done
^done:
  // expected-note@+1 {{the paths meet here}}
  return
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
// expected-error@+1 {{a transfer is not waited for on every path}}
func.func @argument(%p: !tier.pending<!w>) {
  // expected-note@+1 {{the function ends here}}
  return
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
func.func @waited_for_twice(%far: !far, %s0: !slot) -> !slot {
  %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
  // expected-note@+1 {{it was used up here}}
  %v = tier.wait %p : !tier.pending<!w> -> !w
  // expected-error@+1 {{uses a linear value a second time, '!tier.pending<tensor<4xf32>>'}}
  %u = tier.wait %p : !tier.pending<!w> -> !w
  %s1 = tier.release %v : !w -> !slot
  return %s1 : !slot
}

// -----

// What is on its way doesn't leave a function by a call either.
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
func.func private @take(!tier.pending<!w>)
func.func @call(%p: !tier.pending<!w>) {
  // expected-error@+1 {{takes or gives a value of the dialect tier}}
  func.call @take(%p) : (!tier.pending<!w>) -> ()
  return
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
func.func @other_control_flow(%far: !far, %s0: !slot, %c: index) {
  // expected-error@+1 {{data of tiers is not followed into this op's regions}}
  scf.index_switch %c
  default {
    // expected-note@+1 {{used here}}
    %p = tier.reload %far into %s0 on "copy" : !far, !slot -> !tier.pending<!w>
    %v = tier.wait %p : !tier.pending<!w> -> !w
    scf.yield
  }
  return
}

// -----

// Which slot is free afterwards, nobody knows.
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
func.func @places_that_differ(%far: !far, %other: !far, %a: !slot, %b: !slot, %c: i1) -> !slot {
  %p = scf.if %c -> !tier.pending<!w> {
  %x = tier.reload %far into %a on "copy" : !far, !slot -> !tier.pending<!w>
    scf.yield %x : !tier.pending<!w>
  } else {
  %y = tier.reload %other into %b on "copy" : !far, !slot -> !tier.pending<!w>
    scf.yield %y : !tier.pending<!w>
  }
  // expected-error@+1 {{uses a value that lies elsewhere, or holds something else, on each path}}
  %v = tier.wait %p : !tier.pending<!w> -> !w
  %s = tier.release %v : !w -> !slot
  return %s : !slot
}
