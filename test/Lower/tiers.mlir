// What moves between tiers becomes commands with numbers: of engines, slot tables, hot sets, transfers, slots of weights.
// RUN: strata-opt %s --strata-lower-to-commands --split-input-file | FileCheck %s

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!home = !tier.at<"ddr", !strata.cache<key_value 32xf32, key 8xf32, page = 64>>
!hot = !tier.hot_set<"ddr", !strata.cache<key_value 32xf32, key 8xf32, page = 64>, slots = 48>
!table = !tier.table<slots = 48, pages = "keys">
!other_table = !tier.table<slots = 32, pages = "keys">
!other_hot = !tier.hot_set<"ddr", !strata.cache<key_value 32xf32, key 8xf32, page = 64>, slots = 32>

// A leader of one group, and rows of the next fetched ahead. The rows come from outside.
// CHECK: module attributes {
// CHECK-SAME: strata.tiers = {block_buffers = array<i64>, hot_sets = array<i64: 0, 0, 1, 1>, slot_tables = array<i64: 48, 8, 32, 8>, staging_pools = array<i64>, weight_slots = array<i64>}
module attributes {tier.capacity = {ddr = 1000000 : i64, hbm = 1000000 : i64}, tier.tiers = ["hbm", "ddr"],
                   tier.engines = [{name = "in", bandwidth = 1.0e9, operation_seconds = 0.0, from = 1, to = 0},
                                   {name = "out", bandwidth = 1.0e9, operation_seconds = 0.0, from = 0, to = 1}]} {
  // CHECK: func.func @step(%[[BATCH:.*]]: !strata.batch, %[[KEYS:.*]]: !strata.cache<{{.*}}> {strata.name = "keys", strata.residence = 1 : i64}, %[[NEXT:.*]]: !strata.cache<{{.*}}> {strata.residence = 1 : i64}) -> memref<?x40xf32> {
  func.func @step(%batch: !strata.batch, %home: !home {strata.name = "keys"}, %next: !home, %table: !table, %hot: !hot {tier.of = 1 : i64},
                  %next_table: !other_table, %next_hot: !other_hot {tier.of = 2 : i64}, %rows: tensor<?x8xi32>)
      -> (tensor<?x40xf32>, !home, !home, !table, !hot, !other_table, !other_hot, tensor<?x8xi32>) {
    // CHECK: strata.launch_import_rows into %[[ROWS:.*]] {ordinal = 0 : i64}
    // CHECK: %[[STAGE:.*]] = strata.near_rows stage 0 : !strata.cache<
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %stage = tier.stage of %home : !home -> !kv
    %ids = strata.token_ids %batch : tensor<?xi32>
    %embedding = strata.weight "table" stored f32 : tensor<16x40xf32>
    // CHECK: strata.launch @kernels::@embedding
    %x = strata.embedding %ids, %embedding : (tensor<?xi32>, tensor<16x40xf32>) -> tensor<?x40xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %ids, %zero : tensor<?xi32>
    // CHECK: strata.launch_records %[[ROWS]] into %[[RECORDS:.*]] {page_size = 64 : i64}
    %records = strata.records %rows[%batch] {page_size = 64} : tensor<?x8xi32>
    // CHECK: strata.launch_resolve %[[RECORDS]] into %[[SLOTS:.*]], %[[HITS:.*]], %[[MISSES:.*]] {table = 0 : i64}
    %table1, %plan = tier.resolve %records in %table writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !tier.plan<slots = 48, pages = "keys">
    %slots = tier.slots %plan : !tier.plan<slots = 48, pages = "keys"> -> tensor<?x8xi32>
    %hits, %misses = tier.split %plan : !tier.plan<slots = 48, pages = "keys"> -> tensor<?x8xi32>, tensor<?x8xi32>
    // CHECK-NEXT: strata.launch_gather hot_set 0 engine 0 transfer 0
    %p = tier.gather %home into %hot by %plan stage %stage on "in" : !home, !hot, !tier.plan<slots = 48, pages = "keys">, !kv -> !tier.pending<!hot>
    // CHECK-NEXT: strata.launch_resolve %[[RECORDS]] {limit = 4 : i64, table = 1 : i64}
    %next_table1, %ahead = tier.speculate %records in %next_table limit 4 : tensor<?x8xi32>, !other_table -> !tier.plan<slots = 32, pages = "keys">
    // CHECK-NEXT: strata.launch_gather hot_set 1 engine 0 transfer 1
    %p1 = tier.gather %next into %next_hot by %ahead on "in" : !home, !other_hot, !tier.plan<slots = 32, pages = "keys"> -> !tier.pending<!other_hot>
    // A record of the stage is its token's.
    // CHECK: %[[NUMBERS:.*]] = strata.step_array token_numbers of %[[BATCH]]
    // CHECK-NEXT: %[[ZEROS:.*]] = strata.step_array zeros of %[[BATCH]]
    // CHECK-NEXT: %[[PAGES:.*]] = strata.step_array page_numbers of %[[BATCH]]
    // CHECK: strata.launch @kernels::@append{{[a-z0-9_]*}}(%[[NUMBERS]], %[[ZEROS]], %[[PAGES]], %{{.*}}, %{{.*}}, %[[STAGE]])
    %latent = tensor.extract_slice %x[0, 0] [%n, 32] [1, 1] : tensor<?x40xf32> to tensor<?x32xf32>
    %rope = tensor.extract_slice %x[0, 32] [%n, 8] [1, 1] : tensor<?x40xf32> to tensor<?x8xf32>
    %stage1 = strata.append %stage[%batch], %latent, %rope in_order : !kv, tensor<?x32xf32>, tensor<?x8xf32>
    // CHECK: strata.launch_write_back cache 0 engine 1 transfer 2
    %w = tier.write_back %stage1 to %home at %own on "out" in_order : !kv, !home, tensor<?xi32> -> !tier.pending<!home>
    // CHECK: %[[HOT:.*]] = strata.near_rows hot_set 0 : !strata.cache<
    // CHECK: strata.launch_partial_scores @kernels::@{{.*}}(%[[QUERY:.*]], %[[HOT]], %[[HITS]], {{.*}}, %[[SCORES:.*]]) heads 1
    %q = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 1, 40] : tensor<?x40xf32> into tensor<?x1x40xf32>
    %present = tier.present %hot of %plan : !hot, !tier.plan<slots = 48, pages = "keys"> -> !kv
    %s0 = strata.kernel heads {
      %s = strata.attention_scores %q over (%present records %hits)[%batch] {scale = 0.125} : (tensor<?x1x40xf32>, !kv, tensor<?x8xi32>) -> tensor<?x1x8xf32>
      strata.yield %s : tensor<?x1x8xf32>
    } : tensor<?x1x8xf32>
    // CHECK-NEXT: strata.launch_wait transfer 0
    %hot1 = tier.wait %p : !tier.pending<!hot> -> !hot
    %view = tier.view %hot1 of %plan : !hot, !tier.plan<slots = 48, pages = "keys"> -> !kv
    // CHECK: strata.launch_head_attention scores @kernels::@{{.*}}(%[[QUERY]], %[[HOT]], %[[MISSES]], {{.*}}, %[[SCORES]]) @kernels::@{{.*}}(%[[QUERY]], %[[HOT]], %[[SLOTS]], %[[SCORES]], {{.*}}) heads 1
    %o = strata.kernel heads {
      %s1 = strata.attention_scores %q over (%view records %misses)[%batch] into %s0 {scale = 0.125} : (tensor<?x1x40xf32>, !kv, tensor<?x8xi32>, tensor<?x1x8xf32>) -> tensor<?x1x8xf32>
      %a = strata.attention %q over (%view records %slots)[%batch] with scores %s1 {scale = 0.125} : (tensor<?x1x40xf32>, !kv, tensor<?x8xi32>, tensor<?x1x8xf32>) -> tensor<?x1x32xf32>
      strata.yield %a : tensor<?x1x32xf32>
    } : tensor<?x1x32xf32>
    // CHECK-NEXT: strata.launch_wait transfer 1
    // CHECK-NEXT: strata.launch_wait transfer 2
    %next_hot1 = tier.wait %p1 : !tier.pending<!other_hot> -> !other_hot
    %home1 = tier.wait %w : !tier.pending<!home> -> !home
    return %x, %home1, %next, %table1, %hot1, %next_table1, %next_hot1, %rows : tensor<?x40xf32>, !home, !home, !table, !hot, !other_table, !other_hot, tensor<?x8xi32>
  }
}

// -----

// Weights share a slot one after the other; so do the caches whose pages come, and go home from there.
!kv = !strata.cache<key 40xf32, page = 64>
!home = !tier.at<"ddr", !strata.cache<key 40xf32, page = 64>>
!weight = tensor<16x40xf32>
!weight_home = !tier.at<"ddr", tensor<16x40xf32>>

// CHECK: strata.tiers = {block_buffers = array<i64>, hot_sets = array<i64>, slot_tables = array<i64>, staging_pools = array<i64: 160, 64>, weight_slots = array<i64: 2560>}
module attributes {tier.capacity = {ddr = 1000000 : i64, hbm = 1000000 : i64}, tier.tiers = ["hbm", "ddr"],
                   tier.engines = [{name = "in", bandwidth = 1.0e9, operation_seconds = 0.0, from = 1, to = 0},
                                   {name = "out", bandwidth = 1.0e9, operation_seconds = 0.0, from = 0, to = 1}]} {
  // CHECK: func.func @step(%{{.*}}: !strata.batch, %[[FIRST:.*]]: !strata.cache<{{.*}}> {strata.residence = 2 : i64, strata.staging = 0 : i64}, %[[SECOND:.*]]: !strata.cache<{{.*}}> {strata.residence = 2 : i64, strata.staging = 0 : i64})
  func.func @step(%batch: !strata.batch, %first: !home, %second: !home) -> (tensor<?x16xf32>, !home, !home) {
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %room = tier.slot : !tier.slot<bytes = 2560>
    %pages = tier.slot : !tier.slot<bytes = 20480>
    %ids = strata.token_ids %batch : tensor<?xi32>
    %table = strata.weight "table" stored f32 : !weight
    // CHECK: %[[TABLE:.*]] = strata.weight "table" stored f32 {strata.weight_slot = 0 : i64}
    // CHECK-NEXT: strata.launch_reload(%[[TABLE]]) engine 0 transfer 0
    %table_home = tier.home %table : !weight -> !weight_home
    %p0 = tier.reload %table_home into %room on "in" : !weight_home, !tier.slot<bytes = 2560> -> !tier.pending<!weight>
    // CHECK-NEXT: strata.launch_wait transfer 0
    %t = tier.wait %p0 : !tier.pending<!weight> -> !weight
    // CHECK: strata.launch @kernels::@embedding{{.*}}(%{{.*}}, %[[TABLE]], %[[X:.*]])
    %x = strata.embedding %ids, %t : (tensor<?xi32>, !weight) -> tensor<?x40xf32>
    %room1 = tier.release %t : !weight -> !tier.slot<bytes = 2560>
    // CHECK: strata.launch_reload engine 0 transfer 1 {cache = 0 : i64}
    // CHECK-NEXT: strata.launch_wait transfer 1
    // CHECK: strata.launch @kernels::@append{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %[[X]], %[[FIRST]])
    // CHECK: strata.launch_write_back cache 0 engine 1 transfer 2
    // CHECK-NEXT: strata.launch_wait transfer 2
    %p1 = tier.reload %first into %pages on "in" : !home, !tier.slot<bytes = 20480> -> !tier.pending<!kv>
    %c0 = tier.wait %p1 : !tier.pending<!kv> -> !kv
    %c1 = strata.append %c0[%batch], %x : !kv, tensor<?x40xf32>
    %p2 = tier.write_back %c1 to %first at %own on "out" : !kv, !home, tensor<?xi32> -> !tier.pending<!home>
    %first1 = tier.wait %p2 : !tier.pending<!home> -> !home
    %pages1 = tier.release %c1 : !kv -> !tier.slot<bytes = 20480>
    // CHECK-NEXT: strata.launch_reload engine 0 transfer 3 {cache = 1 : i64}
    // CHECK-NEXT: strata.launch_wait transfer 3
    // CHECK: strata.launch @kernels::@append{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %[[X]], %[[SECOND]])
    %p3 = tier.reload %second into %pages1 on "in" : !home, !tier.slot<bytes = 20480> -> !tier.pending<!kv>
    %d0 = tier.wait %p3 : !tier.pending<!kv> -> !kv
    %d1 = strata.append %d0[%batch], %x : !kv, tensor<?x40xf32>
    %p4 = tier.write_back %d1 to %second at %own on "out" : !kv, !home, tensor<?xi32> -> !tier.pending<!home>
    %second1 = tier.wait %p4 : !tier.pending<!home> -> !home
    %pages2 = tier.release %d1 : !kv -> !tier.slot<bytes = 20480>
    %head = strata.weight "head" stored f32 : !weight
    // CHECK: %[[HEAD:.*]] = strata.weight "head" stored f32 {strata.weight_slot = 0 : i64}
    // CHECK-NEXT: strata.launch_reload(%[[HEAD]]) engine 0 transfer 5
    %head_home = tier.home %head : !weight -> !weight_home
    %p5 = tier.reload %head_home into %room1 on "in" : !weight_home, !tier.slot<bytes = 2560> -> !tier.pending<!weight>
    %h = tier.wait %p5 : !tier.pending<!weight> -> !weight
    // CHECK: strata.launch_product %{{.*}}, (%[[HEAD]])
    %logits = strata.logits %x, %h[%batch] : (tensor<?x40xf32>, !weight) -> tensor<?x16xf32>
    %room2 = tier.release %h : !weight -> !tier.slot<bytes = 2560>
    return %logits, %first1, %second1 : tensor<?x16xf32>, !home, !home
  }
}

// -----

// Index keys stream through two buffers: the command that scores them says which engine brings them.
!kv = !strata.cache<key 16xf32, page = 64>
!home = !tier.at<"ddr", !strata.cache<key 16xf32, page = 64>>

// CHECK: strata.tiers = {block_buffers = array<i64: 128, 64>, hot_sets = array<i64>, slot_tables = array<i64>, staging_pools = array<i64>, weight_slots = array<i64>}
module attributes {tier.capacity = {ddr = 1000000 : i64, hbm = 1000000 : i64}, tier.tiers = ["hbm", "ddr"],
                   tier.engines = [{name = "in", bandwidth = 1.0e9, operation_seconds = 0.0, from = 1, to = 0},
                                   {name = "out", bandwidth = 1.0e9, operation_seconds = 0.0, from = 0, to = 1}]} {
  // CHECK: func.func @step(%{{.*}}: !strata.batch, %[[KEYS:.*]]: !strata.cache<{{.*}}> {strata.residence = 3 : i64, strata.staging = 0 : i64})
  func.func @step(%batch: !strata.batch, %home: !home) -> (tensor<?x16xf32>, !home, tensor<?x4xi32>) {
    %own = strata.own_records[%batch] {page_size = 64} : tensor<?xi32>
    %stage = tier.stage of %home : !home -> !kv
    %a = tier.slot : !tier.slot<bytes = 8192>
    %b = tier.slot : !tier.slot<bytes = 8192>
    %ids = strata.token_ids %batch : tensor<?xi32>
    %table = strata.weight "table" stored f32 : tensor<32x16xf32>
    %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<32x16xf32>) -> tensor<?x16xf32>
    %stage1 = strata.append %stage[%batch], %x in_order : !kv, tensor<?x16xf32>
    // CHECK: strata.launch_write_back cache 0 engine 1 transfer 0
    // CHECK-NEXT: strata.launch_wait transfer 0
    %p = tier.write_back %stage1 to %home at %own on "out" in_order : !kv, !home, tensor<?xi32> -> !tier.pending<!home>
    %home1 = tier.wait %p : !tier.pending<!home> -> !home
    %keys = tier.stream %home1 blocks of 128 rows through %a, %b on "in" : !home, !tier.slot<bytes = 8192>, !tier.slot<bytes = 8192> -> !kv
    %zero = arith.constant 0 : index
    %n = tensor.dim %ids, %zero : tensor<?xi32>
    %q = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 1, 16] : tensor<?x16xf32> into tensor<?x1x16xf32>
    %w = tensor.extract_slice %x[0, 0] [%n, 1] [1, 1] : tensor<?x16xf32> to tensor<?x1xf32>
    // CHECK: strata.launch_select @kernels::@{{.*}}(%{{.*}}, %{{.*}}, %[[KEYS]]) into %{{.*}} exported {engine = 0 : i64, k = 4 : i64, ordinal = 0 : i64{{[,}]}}
    %rows = strata.select %q, %w, %keys[%batch] {k = 4 : i64, scale = 1.0} : (tensor<?x1x16xf32>, tensor<?x1xf32>, !kv) -> tensor<?x4xi32>
    return %x, %home1, %rows : tensor<?x16xf32>, !home, tensor<?x4xi32>
  }
}
