// Movements that are free of races.
// RUN: strata-opt %s --tier-verify | FileCheck %s

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

// The first layer of a group reads what is there while the rest comes; the second has its rows by then.
// CHECK-LABEL: func.func @group(
func.func @group(%home0: !home, %home1: !home, %t0: !table, %a0: !hot {tier.of = 0, tier.table = 2}, %b0: !hot {tier.of = 1, tier.table = 2},
                 %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!w, !home, !home, !table, !hot, !hot) {
  %stage0 = tier.stage of %home0 : !home -> !keys
  %stage1 = tier.stage of %home1 : !home -> !keys
  %s0 = func.call @append(%stage0) : (!keys) -> !keys
  %out0 = tier.write_back %s0 to %home0 at %own on "out" in_order : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %t1, %plan = tier.resolve %r in %t0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %pa = tier.gather %home0 into %a0 by %plan stage %s0 on "in" : !home, !hot, !plan, !keys -> !tier.pending<!hot>
  // Starts before the layer's own rows are written.
  %pb = tier.gather %home1 into %b0 by %plan stage %stage1 on "in" : !home, !hot, !plan, !keys -> !tier.pending<!hot>
  %present = tier.present %a0 of %plan : !hot, !plan -> !keys
  %hits = func.call @read(%present) : (!keys) -> !w
  %a1 = tier.wait %pa : !tier.pending<!hot> -> !hot
  %va = tier.view %a1 of %plan : !hot, !plan -> !keys
  %x = func.call @read(%va) : (!keys) -> !w
  // What was present still is.
  %again = func.call @read(%present) : (!keys) -> !w
  %s1 = func.call @append(%stage1) : (!keys) -> !keys
  %out1 = tier.write_back %s1 to %home1 at %own on "out" in_order : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %b1 = tier.wait %pb : !tier.pending<!hot> -> !hot
  %vb = tier.view %b1 of %plan : !hot, !plan -> !keys
  %y = func.call @read(%vb) : (!keys) -> !w
  %sum = arith.addf %x, %y : !w
  %h0 = tier.wait %out0 : !tier.pending<!home> -> !home
  %h1 = tier.wait %out1 : !tier.pending<!home> -> !home
  return %sum, %h0, %h1, %t1, %a1, %b1 : !w, !home, !home, !table, !hot, !hot
}

// A guess is gathered before the records are known, and what it brought counts as there.
// CHECK-LABEL: func.func @guess(
func.func @guess(%home: !home, %t0: !table, %hot0: !hot {tier.of = 0}, %guessed: tensor<?x8xi32>, %r: tensor<?x8xi32>, %own: tensor<?xi32>) -> (!w, !table, !hot) {
  %t1, %guess = tier.speculate %guessed in %t0 limit 4 : tensor<?x8xi32>, !table -> !plan
  %p1 = tier.gather %home into %hot0 by %guess on "in" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot1 = tier.wait %p1 : !tier.pending<!hot> -> !hot
  %t2, %plan = tier.resolve %r in %t1 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  %p2 = tier.gather %home into %hot1 by %plan on "in" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot2 = tier.wait %p2 : !tier.pending<!hot> -> !hot
  %v = tier.view %hot2 of %plan : !hot, !plan -> !keys
  %x = func.call @read(%v) : (!keys) -> !w
  return %x, %t2, %hot2 : !w, !table, !hot
}

// Index keys: the step's own go home, then all stream by; the next stream takes the same buffers.
// CHECK-LABEL: func.func @streams(
func.func @streams(%home: !home, %other: !home, %own: tensor<?xi32>) -> (!w, !home) {
  %a = tier.slot : !tier.slot<bytes = 128>
  %b = tier.slot : !tier.slot<bytes = 128>
  %stage = tier.stage of %home : !home -> !keys
  %s1 = func.call @append(%stage) : (!keys) -> !keys
  %p = tier.write_back %s1 to %home at %own on "out" in_order : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %h1 = tier.wait %p : !tier.pending<!home> -> !home
  %v = tier.stream %h1 blocks of 8 rows through %a, %b on "in" : !home, !tier.slot<bytes = 128>, !tier.slot<bytes = 128> -> !keys
  %x = func.call @read(%v) : (!keys) -> !w
  %u = tier.stream %other blocks of 8 rows through %a, %b on "in" : !home, !tier.slot<bytes = 128>, !tier.slot<bytes = 128> -> !keys
  %y = func.call @read(%u) : (!keys) -> !w
  %sum = arith.addf %x, %y : !w
  return %sum, %h1 : !w, !home
}

// Pages come, are appended to in place, go home, and their slot takes the next.
// CHECK-LABEL: func.func @pages(
func.func @pages(%home: !home, %far: !far, %own: tensor<?xi32>, %s0: !tier.slot<bytes = 1024>) -> (!w, !home, !tier.slot<bytes = 1024>) {
  %p = tier.reload %home into %s0 on "in" : !home, !tier.slot<bytes = 1024> -> !tier.pending<!keys>
  %v = tier.wait %p : !tier.pending<!keys> -> !keys
  %v1 = func.call @append(%v) : (!keys) -> !keys
  %q = tier.write_back %v1 to %home at %own on "out" : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %x = func.call @read(%v1) : (!keys) -> !w
  %h1 = tier.wait %q : !tier.pending<!home> -> !home
  %s1 = tier.release %v1 : !keys -> !tier.slot<bytes = 1024>
  %p2 = tier.reload %far into %s1 on "in" : !far, !tier.slot<bytes = 1024> -> !tier.pending<!w>
  %w = tier.wait %p2 : !tier.pending<!w> -> !w
  %y = arith.addf %x, %w : !w
  %s2 = tier.release %w : !w -> !tier.slot<bytes = 1024>
  return %y, %h1, %s2 : !w, !home, !tier.slot<bytes = 1024>
}

// Both branches wait for what began before them.
// CHECK-LABEL: func.func @branches(
func.func @branches(%far: !far, %s0: !slot, %c: i1, %x: !w) -> (!w, !slot) {
  %p = tier.reload %far into %s0 on "in" : !far, !slot -> !tier.pending<!w>
  %y, %s1 = scf.if %c -> (!w, !slot) {
    %v = tier.wait %p : !tier.pending<!w> -> !w
    %sum = arith.addf %v, %x : !w
    %s = tier.release %v : !w -> !slot
    scf.yield %sum, %s : !w, !slot
  } else {
    %v = tier.wait %p : !tier.pending<!w> -> !w
    %s = tier.release %v : !w -> !slot
    scf.yield %x, %s : !w, !slot
  }
  %q = tier.reload %far into %s1 on "in" : !far, !slot -> !tier.pending<!w>
  %u = tier.wait %q : !tier.pending<!w> -> !w
  %z = arith.addf %y, %u : !w
  %s2 = tier.release %u : !w -> !slot
  return %z, %s2 : !w, !slot
}

// A block argument is what is waited for.
// CHECK-LABEL: func.func @blocks(
func.func @blocks(%a: !far, %b: !far, %s0: !slot, %c: i1, %x: !w) -> (!w, !slot) {
  cf.cond_br %c, ^first, ^second
^first:
  %p = tier.reload %a into %s0 on "in" : !far, !slot -> !tier.pending<!w>
  cf.br ^both(%p : !tier.pending<!w>)
^second:
  %q = tier.reload %b into %s0 on "in" : !far, !slot -> !tier.pending<!w>
  cf.br ^both(%q : !tier.pending<!w>)
^both(%r: !tier.pending<!w>):
  %v = tier.wait %r : !tier.pending<!w> -> !w
  %y = arith.addf %v, %x : !w
  %s1 = tier.release %v : !w -> !slot
  return %y, %s1 : !w, !slot
}

// Each turn of the loop waits for what the one before has begun.
// CHECK-LABEL: func.func @pipeline(
func.func @pipeline(%far: !far, %s0: !slot, %n: index, %x: !w) -> (!w, !slot) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %p = tier.reload %far into %s0 on "in" : !far, !slot -> !tier.pending<!w>
  %y, %last = scf.for %i = %zero to %n step %one iter_args(%sum = %x, %pending = %p) -> (!w, !tier.pending<!w>) {
    %v = tier.wait %pending : !tier.pending<!w> -> !w
    %next = arith.addf %sum, %v : !w
    %s1 = tier.release %v : !w -> !slot
    %q = tier.reload %far into %s1 on "in" : !far, !slot -> !tier.pending<!w>
    scf.yield %next, %q : !w, !tier.pending<!w>
  }
  %v = tier.wait %last : !tier.pending<!w> -> !w
  %z = arith.addf %y, %v : !w
  %s2 = tier.release %v : !w -> !slot
  return %z, %s2 : !w, !slot
}

// Ops that run their region once are looked into.
// CHECK-LABEL: func.func @kernel(
func.func @kernel(%home: !home, %own: tensor<?xi32>, %batch: !strata.batch, %k: tensor<?x4xf32>) -> !home {
  %stage = tier.stage of %home : !home -> !keys
  %s1 = strata.kernel rows {
    %appended = strata.append %stage[%batch], %k in_order : !keys, tensor<?x4xf32>
    strata.yield %appended : !keys
  } : !keys
  %p = tier.write_back %s1 to %home at %own on "out" in_order : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %h1 = tier.wait %p : !tier.pending<!home> -> !home
  return %h1 : !home
}
