// What is added up, and against what.
// RUN: strata-opt %s --split-input-file --tier-verify --verify-diagnostics

// A record has 16 bytes. 32 slots: 512; two slots: 384; a stage of 9 tokens, so of 2 pages: 256; a near cache of 2 × 3 pages: 768;
// a weight: 100; workspace: 24. The far tier: 768 bytes of records and a tensor of 64.
!keys = !strata.cache<key 4xf32, page = 8>
!home = !tier.at<"ddr", !keys>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
module attributes {tier.tiers = ["hbm", "ddr"], tier.capacity = {ddr = 832, hbm = 2044}, tier.context = 17 : i64, tier.batch = 2 : i64, tier.tokens = 9 : i64} {
  func.func @fits(%home: !home, %near: !keys, %hot: !hot, %slot: !tier.slot<bytes = 128>) attributes {tier.workspace = 24 : i64} {
    %other = tier.slot : !tier.slot<bytes = 256>
    %stage = tier.stage of %home : !home -> !keys
    %w = strata.weight "w" stored f32 {tier.bytes = 100 : i64} : tensor<5x5xf32>
    %v = strata.weight "v" stored f32 : tensor<4x4xf32>
    %far = tier.home %v : tensor<4x4xf32> -> !tier.at<"ddr", tensor<4x4xf32>>
    return
  }
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!home = !tier.at<"ddr", !keys>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
module attributes {tier.tiers = ["hbm", "ddr"], tier.capacity = {ddr = 832, hbm = 2043}, tier.context = 17 : i64, tier.batch = 2 : i64, tier.tokens = 9 : i64} {
  // expected-error@+1 {{expected at most 2043 bytes in hbm but got 2044, whole row stores 768, hot sets 512, slots 384, stages 256, resident values 100, workspace 24}}
  func.func @one_byte_more(%home: !home, %near: !keys, %hot: !hot, %slot: !tier.slot<bytes = 128>) attributes {tier.workspace = 24 : i64} {
    // Slots and stages count whether anything is in them or not.
    %other = tier.slot : !tier.slot<bytes = 256>
    %stage = tier.stage of %home : !home -> !keys
    %w = strata.weight "w" stored f32 {tier.bytes = 100 : i64} : tensor<5x5xf32>
    %v = strata.weight "v" stored f32 : tensor<4x4xf32>
    %far = tier.home %v : tensor<4x4xf32> -> !tier.at<"ddr", tensor<4x4xf32>>
    return
  }
}

// -----

!home = !tier.at<"ddr", !strata.cache<key 4xf32, page = 8>>
module attributes {tier.tiers = ["hbm", "ddr"], tier.capacity = {ddr = 831, hbm = 0}, tier.context = 17 : i64, tier.batch = 2 : i64} {
  // expected-error@+1 {{expected at most 831 bytes in ddr but got 832}}
  func.func @far(%home: !home) {
    %v = strata.weight "v" stored bf16 : tensor<4x4xf32>
    %far = tier.home %v : tensor<4x4xf32> -> !tier.at<"ddr", tensor<4x4xf32>>
    return
  }
}

// -----

// Rows that lie apart take what lies between them too.
!hot = !tier.hot_set<"ddr", !strata.cache<key 4xf32, page = 8>, slots = 4, stride = 64>
module attributes {tier.tiers = ["hbm", "ddr"], tier.capacity = {ddr = 0, hbm = 255}} {
  // expected-error@+1 {{expected at most 255 bytes in hbm but got 256, hot sets 256}}
  func.func @stride(%hot: !hot) {
    return
  }
}

// -----

// Values are live from their op to their last use.
module attributes {tier.tiers = ["hbm"], tier.capacity = {hbm = 200}} {
  func.func @live(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
    %a = arith.addf %x, %x {tier.bytes = 100 : i64} : tensor<4xf32>
    %b = arith.addf %a, %x {tier.bytes = 100 : i64} : tensor<4xf32>
    %d = arith.addf %b, %x {tier.bytes = 100 : i64} : tensor<4xf32>
    %e = scf.if %c -> tensor<4xf32> {
      // expected-error@+1 {{expected at most 200 bytes in hbm here but got 201: live values 201}}
      %f = arith.addf %x, %x {tier.bytes = 101 : i64} : tensor<4xf32>
      scf.yield %f : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    %g = arith.addf %d, %e : tensor<4xf32>
    return %g : tensor<4xf32>
  }
}

// -----

// Sizes that no machine has are too large, and nothing worse.
!hot = !tier.hot_set<"ddr", !strata.cache<key 4xf32, page = 8>, slots = 4611686018427387904>
module attributes {tier.tiers = ["hbm", "ddr"], tier.capacity = {ddr = 0, hbm = 255}} {
  // expected-error@+1 {{expected at most 255 bytes in hbm but got 9223372036854775807, hot sets 9223372036854775807}}
  func.func @huge(%a: !hot, %b: !hot) {
    return
  }
}

// -----

// expected-error@+1 {{expected tier.capacity to be a dictionary of bytes by tier}}
module attributes {tier.tiers = ["hbm"], tier.capacity = 5 : i64} {
  func.func @f() {
    return
  }
}

// -----

// expected-error@+1 {{expected bytes for tier "hbm" but got -1 : i64}}
module attributes {tier.tiers = ["hbm"], tier.capacity = {hbm = -1}} {
  func.func @f() {
    return
  }
}

// -----

// expected-error@+1 {{expected tier.tiers to list the tiers, the near one first}}
module attributes {tier.capacity = {hbm = 1}} {
  func.func @f() {
    return
  }
}

// -----

// expected-error@+1 {{expected tier.capacity to have the tier "ddr"}}
module attributes {tier.tiers = ["hbm", "ddr"], tier.capacity = {hbm = 1}} {
  func.func @f() {
    return
  }
}

// -----

module attributes {tier.tiers = ["hbm", "ddr"], tier.capacity = {hbm = 1, ddr = 1}} {
  // expected-error@+1 {{expected a far tier of tier.tiers but got '!tier.at<"cxl", tensor<4xf32>>'}}
  func.func @unknown_tier(%x: !tier.at<"cxl", tensor<4xf32>>) {
    return
  }
}

// -----

module attributes {tier.tiers = ["hbm", "ddr"], tier.capacity = {hbm = 1, ddr = 1}} {
  // expected-error@+1 {{expected a far tier of tier.tiers but got '!tier.at<"hbm", tensor<4xf32>>'}}
  func.func @near_is_not_far(%x: !tier.at<"hbm", tensor<4xf32>>) {
    return
  }
}

// -----

!far = !tier.at<"ddr", tensor<4xf32>>
module attributes {tier.tiers = ["hbm", "ddr"], tier.capacity = {hbm = 16, ddr = 16}, tier.engines = [{name = "in"}]} {
  func.func @unknown_engine(%x: !far, %s: !tier.slot<bytes = 16>) -> !tier.slot<bytes = 16> {
    // expected-error@+1 {{expected an engine of tier.engines but got "out"}}
    %p = tier.reload %x into %s on "out" : !far, !tier.slot<bytes = 16> -> !tier.pending<tensor<4xf32>>
    %v = tier.wait %p : !tier.pending<tensor<4xf32>> -> tensor<4xf32>
    %s1 = tier.release %v : tensor<4xf32> -> !tier.slot<bytes = 16>
    return %s1 : !tier.slot<bytes = 16>
  }
}

// -----

// expected-error@+1 {{expected engines with a name but got {bandwidth = 1.000000e+09 : f64}}}
module attributes {tier.tiers = ["hbm"], tier.capacity = {hbm = 1}, tier.engines = [{bandwidth = 1.0e9}]} {
  func.func @f() {
    return
  }
}
