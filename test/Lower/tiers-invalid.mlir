// RUN: strata-opt %s --strata-lower-to-commands --split-input-file --verify-diagnostics

!kv = !strata.cache<key 40xf32, page = 64>
!home = !tier.at<"ddr", !strata.cache<key 40xf32, page = 64>>
module attributes {tier.capacity = {ddr = 1000000 : i64, hbm = 1000000 : i64}, tier.tiers = ["hbm", "ddr"],
                   tier.engines = [{name = "in", bandwidth = 1.0e9, operation_seconds = 0.0, from = 1, to = 0}]} {
  func.func @step(%batch: !strata.batch, %first: !home) -> (tensor<?xi32>, !home) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %pages = tier.slot : !tier.slot<bytes = 20480>
    // expected-error@+1 {{'tier.reload' op expected an engine of the module's tier.engines but got "sideways"}}
    %p1 = tier.reload %first into %pages on "sideways" : !home, !tier.slot<bytes = 20480> -> !tier.pending<!kv>
    %c0 = tier.wait %p1 : !tier.pending<!kv> -> !kv
    return %ids, %first : tensor<?xi32>, !home
  }
}

// -----

// A staging pool has pages of one size.
!kv = !strata.cache<key 40xf32, page = 64>
!home = !tier.at<"ddr", !strata.cache<key 40xf32, page = 64>>
!small = !strata.cache<key 16xf32, page = 64>
!small_home = !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>
module attributes {tier.capacity = {ddr = 1000000 : i64, hbm = 1000000 : i64}, tier.tiers = ["hbm", "ddr"],
                   tier.engines = [{name = "in", bandwidth = 1.0e9, operation_seconds = 0.0, from = 1, to = 0}]} {
  func.func @step(%batch: !strata.batch, %first: !home, %second: !small_home) -> (tensor<?xi32>, !home, !small_home) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %pages = tier.slot : !tier.slot<bytes = 20480>
    %p1 = tier.reload %first into %pages on "in" : !home, !tier.slot<bytes = 20480> -> !tier.pending<!kv>
    %c0 = tier.wait %p1 : !tier.pending<!kv> -> !kv
    %pages1 = tier.release %c0 : !kv -> !tier.slot<bytes = 20480>
    // expected-error@+1 {{'tier.reload' op expected the caches that share a slot to have records of 160 bytes but got 64}}
    %p2 = tier.reload %second into %pages1 on "in" : !small_home, !tier.slot<bytes = 20480> -> !tier.pending<!small>
    %c1 = tier.wait %p2 : !tier.pending<!small> -> !small
    return %ids, %first, %second : tensor<?xi32>, !home, !small_home
  }
}

// -----

// So do block buffers.
!kv = !strata.cache<key 40xf32, page = 64>
!home = !tier.at<"ddr", !strata.cache<key 40xf32, page = 64>>
module attributes {tier.capacity = {ddr = 1000000 : i64, hbm = 1000000 : i64}, tier.tiers = ["hbm", "ddr"],
                   tier.engines = [{name = "in", bandwidth = 1.0e9, operation_seconds = 0.0, from = 1, to = 0}]} {
  func.func @step(%batch: !strata.batch, %first: !home, %second: !home) -> (tensor<?xi32>, !home, !home) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %a = tier.slot : !tier.slot<bytes = 40960>
    %b = tier.slot : !tier.slot<bytes = 40960>
    %c0 = tier.stream %first blocks of 128 rows through %a, %b on "in" : !home, !tier.slot<bytes = 40960>, !tier.slot<bytes = 40960> -> !kv
    // expected-error@+1 {{'tier.stream' op expected the caches that share buffers to have blocks of 128 records of 160 bytes}}
    %c1 = tier.stream %second blocks of 64 rows through %a, %b on "in" : !home, !tier.slot<bytes = 40960>, !tier.slot<bytes = 40960> -> !kv
    return %ids, %first, %second : tensor<?xi32>, !home, !home
  }
}

// -----

// A slot table knows how many records a token has.
module attributes {tier.capacity = {ddr = 1000000 : i64, hbm = 1000000 : i64}, tier.tiers = ["hbm", "ddr"]} {
  func.func @step(%batch: !strata.batch, %table: !tier.table<slots = 48, pages = "keys">, %rows: tensor<?x8xi32>, %few: tensor<?x4xi32>)
      -> (tensor<?xi32>, !tier.table<slots = 48, pages = "keys">, tensor<?x8xi32>, tensor<?x4xi32>) {
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %ids = strata.token_ids %batch : tensor<?xi32>
    %records = strata.records %rows[%batch] {page_size = 64} : tensor<?x8xi32>
    %few_records = strata.records %few[%batch] {page_size = 64} : tensor<?x4xi32>
    %table1, %plan = tier.resolve %records in %table writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !tier.table<slots = 48, pages = "keys"> -> !tier.plan<slots = 48, pages = "keys">
    // expected-error@+1 {{'tier.speculate' op expected 8 records of a token, as at the table's other resolutions, but got 4}}
    %table2, %ahead = tier.speculate %few_records in %table1 limit 2 : tensor<?x4xi32>, !tier.table<slots = 48, pages = "keys"> -> !tier.plan<slots = 48, pages = "keys">
    return %ids, %table2, %rows, %few : tensor<?xi32>, !tier.table<slots = 48, pages = "keys">, tensor<?x8xi32>, tensor<?x4xi32>
  }
}
