// Faults that offloading systems had. Each is an error here.
// RUN: strata-opt %s --split-input-file --tier-verify --verify-diagnostics

// Missing edge between streams: the copy engine still fills the weight's room when the product reads it. Without the wait there is no
// value to read, so the fault can only be a wait that some path leaves out.
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
func.func @missing_edge(%far: !far, %slot0: !slot, %c: i1) {
  // expected-error@+1 {{a transfer is not waited for on every path}}
  %p = tier.reload %far into %slot0 on "copy" : !far, !slot -> !tier.pending<!w>
  // expected-note@+1 {{the paths meet here}}
  scf.if %c {
    %v = tier.wait %p : !tier.pending<!w> -> !w
    %y = arith.addf %v, %v : !w
  }
  return
}

// -----

// A slot reused before its last reader.
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
func.func @slot_reused(%a: !far, %b: !far, %slot0: !slot, %x: !w) -> (!w, !slot) {
  %p = tier.reload %a into %slot0 on "copy" : !far, !slot -> !tier.pending<!w>
  %v = tier.wait %p : !tier.pending<!w> -> !w
  %slot1 = tier.release %v : !w -> !slot
  // expected-note@+1 {{its slot was given back or filled here}}
  %q = tier.reload %b into %slot1 on "copy" : !far, !slot -> !tier.pending<!w>
  // expected-error@+1 {{uses a value whose slot was given to another}}
  %y = arith.addf %v, %x : !w
  %u = tier.wait %q : !tier.pending<!w> -> !w
  %slot2 = tier.release %u : !w -> !slot
  return %y, %slot2 : !w, !slot
}

// -----

// Id spaces mixed up, layers: of four layers, two have an index. The hot set with the number 1 among these belongs to the home with the number 2.
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
func.func @global_and_local_layer(%home0: !home, %home1: !home, %home2: !home, %home3: !home, %t0: !table,
                                  %hot0: !hot {tier.of = 0}, %hot1: !hot {tier.of = 2}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p0 = tier.gather %home0 into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  // expected-error@+1 {{layers are mixed up: a hot set belongs to another home}}
  %p1 = tier.gather %home1 into %hot1 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %h0 = tier.wait %p0 : !tier.pending<!hot> -> !hot
  %h1 = tier.wait %p1 : !tier.pending<!hot> -> !hot
  return %t1, %h0, %h1 : !table, !hot, !hot
}

// -----

// Id spaces mixed up, pages: slots of the hot set are taken for rows of the home. (Positions taken for record numbers: test/Verify/place.mlir.)
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
func.func @logical_and_physical_page(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot, !home) {
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

// Admission that counts only what is loaded: at no time is there a value in both slots, and yet both are taken.
!keys = !strata.cache<key 4xf32, page = 8>
!home = !tier.at<"ddr", !keys>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
!table = !tier.table<slots = 32, pages = "keys">
!plan = !tier.plan<slots = 32, pages = "keys">
!w = tensor<4xf32>
!far = !tier.at<"ddr", !w>
!slot = !tier.slot<bytes = 16>
module attributes {tier.tiers = ["hbm", "ddr"], tier.capacity = {hbm = 16, ddr = 16}} {
  // expected-error@+1 {{expected at most 16 bytes in hbm but got 32, slots 32}}
  func.func @counts_what_is_loaded(%far: !far) {
    %a = tier.slot : !slot
    %b = tier.slot : !slot
    %p = tier.reload %far into %a on "copy" : !far, !slot -> !tier.pending<!w>
    %v = tier.wait %p : !tier.pending<!w> -> !w
    %a1 = tier.release %v : !w -> !slot
    %q = tier.reload %far into %b on "copy" : !far, !slot -> !tier.pending<!w>
    %u = tier.wait %q : !tier.pending<!w> -> !w
    %b1 = tier.release %u : !w -> !slot
    return
  }
}

// -----

// Stale indices: the rows of this step are read by the slots of the step before.
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
func.func @stale_indices(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %before: tensor<?x8xi32>, %now: tensor<?x8xi32>, %own: tensor<?xi32>)
    -> (!table, !hot, tensor<?x8xi32>) {
  %t1, %plan = tier.resolve %before in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p = tier.gather %home into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
  // expected-note@+1 {{its table was resolved again here}}
  %t2, %next = tier.resolve %now in %t1 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %q = tier.gather %home into %hot1 by %next on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot2 = tier.wait %q : !tier.pending<!hot> -> !hot
  // expected-error@+1 {{uses a stale plan}}
  %slots = tier.slots %plan : !plan -> tensor<?x8xi32>
  return %t2, %hot2, %slots : !table, !hot, tensor<?x8xi32>
}

// -----

// Padded indices: room for more than the plan counts with.
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
func.func @padded_indices(%t0: !table, %padded: tensor<?x64xi32>, %own: tensor<?xi32>) -> !table {
  // expected-error@+1 {{(resolve_c2) expected k columns of records and 1 to 32 of them but got k = 8 and 'tensor<?x64xi32>'}}
  %t1, %plan = tier.resolve %padded in %t0 writing %own {k = 8} : tensor<?x64xi32>, tensor<?xi32>, !table -> !plan
  return %t1 : !table
}

// -----

// One base for every layer: both layers compute, the second with the rows of the first. Comparing before and after does not find it.
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
func.func @one_base(%home0: !home, %home1: !home, %t0: !table, %hot0: !hot, %hot1: !hot, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!table, !hot, !hot) {
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p0 = tier.gather %home0 into %hot0 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  // expected-error@+1 {{layers are mixed up: a home belongs to another hot set}}
  %p1 = tier.gather %home0 into %hot1 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %h0 = tier.wait %p0 : !tier.pending<!hot> -> !hot
  %h1 = tier.wait %p1 : !tier.pending<!hot> -> !hot
  return %t1, %h0, %h1 : !table, !hot, !hot
}
