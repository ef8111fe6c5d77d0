// The dialect serves a training step: an activation leaves the near tier under the forward pass and comes back under the
// backward pass, through a slot that a weight used before. Nothing here is attention or a cache.
// RUN: strata-opt %s --split-input-file --tier-verify --verify-diagnostics | FileCheck %s

!x = tensor<8x16xf32>
!far = !tier.at<"host", !x>
!slot = !tier.slot<bytes = 512>
module attributes {tier.tiers = ["hbm", "host"], tier.capacity = {hbm = 1536, host = 4096},
                   tier.engines = [{name = "in"}, {name = "out"}]} {
  // CHECK-LABEL: func.func @step(
  func.func @step(%input: !x, %weight: !x, %room: !far, %weight_home: !far) -> (!x, !far) {
    %slot0 = tier.slot : !slot
    // CHECK: tier.reload
    %w_pending = tier.reload %weight_home into %slot0 on "in" : !far, !slot -> !tier.pending<!x>
    %activation = arith.mulf %input, %weight {tier.bytes = 512 : i64} : !x
    // CHECK: tier.offload
    %saved = tier.offload %activation to %room on "out" : !x, !far -> !tier.pending<!far>
    %w = tier.wait %w_pending : !tier.pending<!x> -> !x
    %forward = arith.mulf %activation, %w {tier.bytes = 512 : i64} : !x
    %slot1 = tier.release %w : !x -> !slot
    %home = tier.wait %saved : !tier.pending<!far> -> !far
    // From here on the activation is nowhere near.
    %loss = arith.addf %forward, %input {tier.bytes = 512 : i64} : !x
    %back = tier.reload %home into %slot1 on "in" : !far, !slot -> !tier.pending<!x>
    %gradient = arith.mulf %loss, %weight {tier.bytes = 512 : i64} : !x
    %again = tier.wait %back : !tier.pending<!x> -> !x
    %result = arith.mulf %gradient, %again {tier.bytes = 512 : i64} : !x
    %slot2 = tier.release %again : !x -> !slot
    return %result, %home : !x, !far
  }
}

// -----

// Kept near, the activation doesn't fit.
!x = tensor<8x16xf32>
module attributes {tier.tiers = ["hbm", "host"], tier.capacity = {hbm = 1024, host = 4096}} {
  func.func @step(%input: !x, %weight: !x) -> !x {
    %activation = arith.mulf %input, %weight {tier.bytes = 512 : i64} : !x
    %forward = arith.mulf %activation, %weight {tier.bytes = 512 : i64} : !x
    // expected-error@+1 {{expected at most 1024 bytes in hbm here but got 1536: live values 1536}}
    %loss = arith.addf %forward, %input {tier.bytes = 512 : i64} : !x
    %result = arith.mulf %loss, %activation {tier.bytes = 512 : i64} : !x
    return %result : !x
  }
}

// -----

// The activation is still being read when its place is counted as free: it is live until the wait.
!x = tensor<8x16xf32>
!far = !tier.at<"host", !x>
module attributes {tier.tiers = ["hbm", "host"], tier.capacity = {hbm = 512, host = 4096}} {
  func.func @step(%input: !x, %room: !far) -> (!x, !far) {
    %activation = arith.mulf %input, %input {tier.bytes = 512 : i64} : !x
    %saved = tier.offload %activation to %room on "out" : !x, !far -> !tier.pending<!far>
    // expected-error@+1 {{expected at most 512 bytes in hbm here but got 1024: live values 1024}}
    %result = arith.addf %input, %input {tier.bytes = 512 : i64} : !x
    %home = tier.wait %saved : !tier.pending<!far> -> !far
    return %result, %home : !x, !far
  }
}

// -----

// The activation comes back into a slot that is given away before the backward pass has read it.
!x = tensor<8x16xf32>
!far = !tier.at<"host", !x>
!slot = !tier.slot<bytes = 512>
func.func @step(%input: !x, %home: !far, %slot0: !slot) -> (!x, !slot) {
  %back = tier.reload %home into %slot0 on "in" : !far, !slot -> !tier.pending<!x>
  %again = tier.wait %back : !tier.pending<!x> -> !x
  // expected-note@+1 {{its slot was given back or filled here}}
  %slot1 = tier.release %again : !x -> !slot
  // expected-error@+1 {{uses a value whose slot was given to another}}
  %result = arith.mulf %input, %again : !x
  return %result, %slot1 : !x, !slot
}
