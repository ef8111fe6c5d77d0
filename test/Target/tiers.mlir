// What a lowered module with two tiers becomes: each table, each command that moves something, each kind of near memory.
// RUN: strata-compile --from=lower %s --cpu=x86-64 -o %t.strata
// RUN: strata-run --print %t.strata | FileCheck %s

!kv = !strata.cache<key 8xf32, page = 32>
!view = memref<?x1x8xf32, strided<[8, 8, 1]>>
module attributes {strata.model_type = "test", strata.max_positions = 128 : i64, strata.compute = f32, tier.machine = "bench", tier.context = 96 : i64, tier.batch = 2 : i64, tier.tokens = 8 : i64,
                   tier.tiers = ["hbm", "ddr"], tier.capacity = {hbm = 65536 : i64, ddr = 0 : i64},
                   tier.engines = [{name = "in", bandwidth = 1.0e9, operation_seconds = 5.0e-7, from = 1, to = 0},
                                   {name = "out", bandwidth = 0.0, operation_seconds = 0.0, from = 0, to = 1}],
                   strata.tiers = {slot_tables = array<i64: 12, 4, 6, 4>, hot_sets = array<i64: 0, 0, 1, 1>, staging_pools = array<i64: 32, 32>, block_buffers = array<i64: 64, 32>, weight_slots = array<i64: 512>}} {
  module @kernels {
    func.func @append(%numbers: memref<?xi32>, %begin: memref<?xi32>, %pages: memref<?xi32>, %x: memref<?x8xf32>, %cache: memref<?xf32>, %first: index, %end: index) {
      return
    }
    func.func @score(%query: !view, %weights: memref<?x1xf32>, %cache: memref<?xf32>, %pages: memref<?xi32>, %out: memref<?xf32>, %first: index, %end: index) {
      return
    }
    func.func @attend(%query: !view, %cache: memref<?xf32>, %slots: memref<?x4xi32>, %result: memref<?x1x4xf32>, %first: index, %end: index) {
      return
    }
  }

  // CHECK: tier 0: hbm, 65536 bytes
  // CHECK-NEXT: tier 1: ddr, no limit
  // CHECK-NEXT: engine 0: in, 1000000000 bytes per second, {{[45].*}}e-07 s an operation
  // CHECK-NEXT: engine 1: out, 0 bytes per second, 0 s an operation
  // CHECK-NEXT: slot table 0: 12 slots, k 4
  // CHECK-NEXT: slot table 1: 6 slots, k 4
  // CHECK-NEXT: hot set 0: of cache 0 by slot table 0
  // CHECK-NEXT: hot set 1: of cache 1 by slot table 1
  // CHECK-NEXT: staging pool 0: pages of 32 records of 32 bytes
  // CHECK-NEXT: block buffers 0: twice 64 records of 32 bytes
  // CHECK-NEXT: weight slot 0: 512 bytes
  // CHECK-NEXT: placed for bench: 2 x 96 positions, 8 tokens a step
  // CHECK-NEXT: cache 0: leader, {{.*}}, Key 1 x 8 f32, far with rows near
  // CHECK-NEXT: cache 1: next, {{.*}}, far with rows near
  // CHECK-NEXT: cache 2: pages, {{.*}}, far, reloaded to staging pool 0
  // CHECK-NEXT: cache 3: index, {{.*}}, far, streamed through block buffers 0
  // CHECK-NEXT: cache 4: near, {{.*}}, Key 1 x 8 f32{{$}}
  func.func @step(%batch: !strata.batch, %leader: !kv {strata.name = "leader", strata.residence = 1 : i64}, %next: !kv {strata.name = "next", strata.residence = 1 : i64},
                  %pages: !kv {strata.name = "pages", strata.residence = 2 : i64, strata.staging = 0 : i64},
                  %index: !kv {strata.name = "index", strata.residence = 3 : i64, strata.staging = 0 : i64}, %near: !kv {strata.name = "near"}) -> memref<?x16xf32> {
    // CHECK: weight 0: head [16, 8] f32, far, in weight slot 0
    // CHECK: weight 1: head [16, 8] f32{{$}}
    %head = strata.weight "head" stored f32 {strata.weight_slot = 0 : i64} : tensor<16x8xf32>
    %stays = strata.weight "head" stored f32 : tensor<16x8xf32>
    %x = strata.buffer rows <tokens = 1> slot 0 : memref<?x8xf32>
    %q = strata.view %x offset 0 : memref<?x8xf32> to !view
    %rows = strata.buffer rows <tokens = 1> slot 1 : memref<?x4xi32>
    %records = strata.buffer rows <tokens = 1> slot 2 : memref<?x4xi32>
    %slots = strata.buffer rows <tokens = 1> slot 3 : memref<?x4xi32>
    %hits = strata.buffer rows <tokens = 1> slot 4 : memref<?x4xi32>
    %misses = strata.buffer rows <tokens = 1> slot 5 : memref<?x4xi32>
    %known = strata.buffer rows <tokens = 1> slot 6 : memref<?x1x4xf32>
    %w = strata.buffer rows <tokens = 1> slot 7 : memref<?x1xf32>
    %all = strata.buffer rows <tokens = 1> slot 8 : memref<?x16xf32>
    %logits = strata.buffer rows <wanted = 1> slot 9 : memref<?x16xf32>
    %numbers = strata.step_array token_numbers of %batch : memref<?xi32>
    %zeros = strata.step_array zeros of %batch : memref<?xi32>
    %page_numbers = strata.step_array page_numbers of %batch : memref<?xi32>
    %stage = strata.near_rows stage 3 : !kv
    %hot = strata.near_rows hot_set 0 : !kv
    // CHECK: command 0 (append): Launch append(TokenNumbers, Zeros, PageNumbers, slot 0, stage of cache 3) over tokens, grain 1
    strata.launch @kernels::@append(%numbers, %zeros, %page_numbers, %x, %stage) items <tokens = 1> grain 1 : memref<?xi32>, memref<?xi32>, memref<?xi32>, memref<?x8xf32>, !kv
    // CHECK: command 1 (layer 2 write_back): WriteBack of cache 3 by engine 1 as transfer 0
    strata.launch_write_back cache 3 engine 1 transfer 0 {strata.layer = 2 : i64}
    // CHECK: command 2 (wait): Wait for transfer 0
    strata.launch_wait transfer 0
    // CHECK: command 3 (select): Select 0: score of query (slot 0 by 8, 8), head weights (slot 7 by 1), cache 3 to slot 1, k 4, by engine 0
    strata.launch_select @kernels::@score(%q, %w, %index) into %rows {k = 4, ordinal = 0, engine = 0} : !view, memref<?x1xf32>, !kv into memref<?x4xi32>
    // CHECK: command 4 (records): Records slot 1 to slot 2, k 4, pages of 32
    strata.launch_records %rows into %records {page_size = 32} : memref<?x4xi32> into memref<?x4xi32>
    // CHECK: command 5 (resolve): Resolve slot 2 in slot table 0 to slots slot 3, hits slot 4, misses slot 5
    strata.launch_resolve %records into %slots, %hits, %misses {table = 0} : memref<?x4xi32> into memref<?x4xi32>, memref<?x4xi32>, memref<?x4xi32>
    // CHECK: command 6 (gather): Gather into hot set 0 by engine 0 as transfer 1
    strata.launch_gather hot_set 0 engine 0 transfer 1
    // CHECK: command 7 (resolve): Resolve slot 2 in slot table 1, speculation of at most 2
    strata.launch_resolve %records {limit = 2, table = 1} : memref<?x4xi32>
    // CHECK: command 8 (gather): Gather into hot set 1 by engine 0 as transfer 2
    strata.launch_gather hot_set 1 engine 0 transfer 2
    // CHECK: command 9 (attend): PartialScores 1 heads: attend(slot 0, hot set 0, slot 4, slot 6) over tokens, grain 1
    strata.launch_partial_scores @kernels::@attend(%q, %hot, %hits, %known) heads 1 operands f32 : (!view, !kv, memref<?x4xi32>, memref<?x1x4xf32>)
    // CHECK: command 10 (wait): Wait for transfer 1
    strata.launch_wait transfer 1
    // CHECK: command 11 (attend): HeadAttention 1 heads: attend(slot 0, hot set 0, slot 5, slot 6) over tokens, grain 1; then attend(slot 0, hot set 0, slot 3, slot 6) over tokens, grain 1
    strata.launch_head_attention scores @kernels::@attend(%q, %hot, %misses, %known) @kernels::@attend(%q, %hot, %slots, %known) heads 1 operands f32 : scores (!view, !kv, memref<?x4xi32>, memref<?x1x4xf32>) (!view, !kv, memref<?x4xi32>, memref<?x1x4xf32>)
    // CHECK: command 12 (reload pages): Reload of cache 2 by engine 0 as transfer 3
    strata.launch_reload engine 0 transfer 3 {cache = 2 : i64}
    strata.launch_wait transfer 3
    // CHECK: command 14 (append): Launch append(TokenNumbers, Zeros, PageNumbers, slot 0, cache 2)
    strata.launch @kernels::@append(%numbers, %zeros, %page_numbers, %x, %pages) items <tokens = 1> grain 1 : memref<?xi32>, memref<?xi32>, memref<?xi32>, memref<?x8xf32>, !kv
    strata.launch_write_back cache 2 engine 1 transfer 4
    // CHECK: command 16 (reload head): Reload of weight 0 by engine 0 as transfer 5
    strata.launch_reload (%head) engine 0 transfer 5 : tensor<16x8xf32>
    strata.launch_wait transfer 5
    // CHECK: command 18 (product head + head): Product (slot 0 by 8) x weight 0 to (slot 8 by 16), x weight 1 to (slot 8 by 16)
    strata.launch_product %x, (%head, %stays) into (%all, %all) rows <tokens = 1> operands f32 : memref<?x8xf32>, (tensor<16x8xf32>, tensor<16x8xf32>) into (memref<?x16xf32>, memref<?x16xf32>)
    strata.launch_wait transfer 2
    strata.launch_wait transfer 4
    return %logits : memref<?x16xf32>
  }
}
