// Two layers that share rows, at budgets from all down to too little. Each module that comes out is proved free of races.
//
// RUN: strata-opt %s --strata-place="machine=cpu-two-tier tokens=16" --tier-verify --remarks-filter=strata-place -o %t.whole 2>&1 | FileCheck %s --check-prefix=FITS
// RUN: FileCheck %s --check-prefix=WHOLE --input-file=%t.whole
// All fits: nothing is looked up, and only attributes say where the program runs.
// FITS: Remark="layer 0 keys: whole in hbm"
// FITS: Remark="8 of 8 weights stay in hbm, 0 come through 0 slots"
// FITS: Remark="a step of 1 sequences with 1024 positions each is predicted to take {{.*}} on cpu-two-tier
// WHOLE: tier.capacity = {ddr = {{[0-9]+}} : i64, hbm = 1073741824 : i64}
// WHOLE-SAME: tier.machine = "cpu-two-tier"
// WHOLE: !strata.cache<key_value 32xf32, key 8xf32, page = 16, rope = interleaved> {strata.name = "layer 0 keys"}
// WHOLE-NOT: = tier.
//
// RUN: strata-opt %s --strata-place="machine=cpu-two-tier near-bytes=350000 tokens=16" --tier-verify --remarks-filter=strata-place 2>&1 | FileCheck %s --check-prefix=ROWS
// The latents' records come through hot sets: the rows are resolved once, both gathers start then, the hits are scored under the first.
// ROWS: Remark="layers 0-1: hot sets of {{[0-9]+}} records, homes in ddr; rows are resolved once for 2 caches, and {{.*}} % of them are expected to be missing"
// ROWS: Remark="index keys: whole in hbm"
// ROWS: module attributes {{.*}}tier.machine
// ROWS: func.func @step(
// ROWS-SAME: %[[BATCH:.*]]: !strata.batch, %[[HOME0:.*]]: !tier.at<"ddr", {{.*}}> {strata.name = "layer 0 keys"}, %{{.*}}: !strata.cache<{{.*}}> {strata.name = "index keys"}, %[[HOME1:.*]]: !tier.at<{{.*}}> {strata.name = "layer 1 keys"}
// ROWS-SAME: %[[TABLE:.*]]: !tier.table<slots = [[SLOTS:[0-9]+]], pages = "layer 0 keys"> {strata.name = "table of layers 0-1"}
// ROWS-SAME: %[[HOT0:.*]]: !tier.hot_set<{{.*}} slots = [[SLOTS]]> {strata.name = "hot set of layer 0 keys", tier.of = 1 : i64, tier.table = 4 : i64}
// ROWS-SAME: %[[HOT1:.*]]: !tier.hot_set<{{.*}} slots = [[SLOTS]]> {strata.name = "hot set of layer 1 keys", tier.of = 3 : i64, tier.table = 4 : i64}
// ROWS: %[[OWN:.*]] = strata.own_records[%[[BATCH]]] {page_size = 16 : i64}
// ROWS: %[[STAGE0:.*]] = tier.stage of %[[HOME0]]
// ROWS: %[[STAGE1:.*]] = tier.stage of %[[HOME1]]
// ROWS: %[[ROWS:.*]] = strata.select
// ROWS-NEXT: %[[RECORDS:.*]] = strata.records %[[ROWS]][%[[BATCH]]] {page_size = 16 : i64}
// ROWS-NEXT: %[[NEXT:.*]], %[[PLAN:.*]] = tier.resolve %[[RECORDS]] in %[[TABLE]] writing %[[OWN]] {k = 8 : i64}
// ROWS-NEXT: %[[SLOTTED:.*]] = tier.slots %[[PLAN]]
// ROWS-NEXT: %[[HITS:.*]], %[[MISSES:.*]] = tier.split %[[PLAN]]
// ROWS-NEXT: %[[COMING0:.*]] = tier.gather %[[HOME0]] into %[[HOT0]] by %[[PLAN]] stage %[[STAGE0]] on "{{copy|gather}} in"
// ROWS-NEXT: %[[COMING1:.*]] = tier.gather %[[HOME1]] into %[[HOT1]] by %[[PLAN]] stage %[[STAGE1]] on "{{copy|gather}} in"
// ROWS: %[[NEW0:.*]] = strata.append %[[STAGE0]][%[[BATCH]]], {{.*}} in_order
// ROWS: %[[PRESENT:.*]] = tier.present %[[HOT0]] of %[[PLAN]]
// ROWS-NEXT: %[[KNOWN:.*]] = strata.kernel heads {
// ROWS-NEXT: strata.attention_scores %{{.*}} over (%[[PRESENT]] records %[[HITS]])
// ROWS: %[[THERE0:.*]] = tier.wait %[[COMING0]]
// ROWS-NEXT: %[[HOMING0:.*]] = tier.write_back %[[NEW0]] to %[[HOME0]] at %[[OWN]] on "copy out" in_order
// ROWS-NEXT: %[[VIEW0:.*]] = tier.view %[[THERE0]] of %[[PLAN]]
// ROWS-NEXT: strata.kernel heads {
// ROWS-NEXT: %[[SCORES:.*]] = strata.attention_scores %{{.*}} over (%[[VIEW0]] records %[[MISSES]])[%{{.*}}] into %[[KNOWN]]
// ROWS-NEXT: strata.attention %{{.*}} over (%[[VIEW0]] records %[[SLOTTED]])[%{{.*}}] with scores %[[SCORES]]
// ROWS: %[[NEW1:.*]] = strata.append %[[STAGE1]]
// ROWS: %[[THERE1:.*]] = tier.wait %[[COMING1]]
// ROWS: %[[VIEW1:.*]] = tier.view %[[THERE1]] of %[[PLAN]]
// ROWS: strata.attention %{{.*}} over (%[[VIEW1]] records %[[SLOTTED]])
// ROWS: %[[KEPT0:.*]] = tier.wait %[[HOMING0]]
// ROWS: return %{{.*}}, %[[KEPT0]], %{{.*}}, %{{.*}}, %[[NEXT]], %[[THERE0]], %[[THERE1]]
//
// RUN: strata-opt %s --strata-place="machine=cpu-two-tier near-bytes=200000 tokens=16" --tier-verify --remarks-filter=strata-place 2>&1 | FileCheck %s --check-prefix=STREAM
// Index keys stream: what the step adds goes home first.
// STREAM: Remark="index keys: home in ddr, streamed in blocks of 128 records"
// STREAM: module attributes {{.*}}tier.machine
// STREAM: func.func @step(
// STREAM: %[[ROOM0:.*]] = tier.slot : !tier.slot<bytes = 8192>
// STREAM: %[[ROOM1:.*]] = tier.slot : !tier.slot<bytes = 8192>
// STREAM: %[[NEW:.*]] = strata.append %{{.*}}[%{{.*}}], %{{.*}} in_order : <key 16xf32
// STREAM-NEXT: %[[HOMING:.*]] = tier.write_back %[[NEW]]
// STREAM: %[[HOME:.*]] = tier.wait %[[HOMING]]
// STREAM-NEXT: %[[KEYS:.*]] = tier.stream %[[HOME]] blocks of 128 rows through %[[ROOM1]], %[[ROOM0]] on "copy in"
// STREAM-NEXT: strata.select %{{.*}}, %{{.*}}, %[[KEYS]]
//
// RUN: strata-opt %s --strata-place="machine=cpu-two-tier near-bytes=115000 tokens=16" --strata-schedule-transfers --tier-verify --remarks-filter=strata-place 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// Weights come through slots: the first one starts with the step, each other one when the one before it has been read.
// WEIGHTS: Remark="{{[0-9]}} of 8 weights stay in hbm, {{[0-9]}} come through {{[12]}} slots"
// WEIGHTS: Remark="engine copy in: transfers of {{.*}} ms, of which {{.*}} % are hidden"
// WEIGHTS: module attributes {{.*}}tier.machine
// WEIGHTS: func.func @step(
// WEIGHTS: %[[HOME:.*]] = tier.home %
// WEIGHTS: %[[COMING:.*]] = tier.reload %[[HOME]] into %{{.*}} on "copy in"
// WEIGHTS: strata.token_ids
// WEIGHTS: %[[WEIGHT:.*]] = tier.wait %[[COMING]]
// WEIGHTS-NEXT: strata.linear %{{.*}}, %[[WEIGHT]]
// WEIGHTS-NEXT: %[[FREE:.*]] = tier.release %[[WEIGHT]]
// WEIGHTS: tier.reload %{{.*}} into %[[FREE]]
//
// RUN: not strata-opt %s --strata-place="machine=cpu-two-tier near-bytes=1000 tokens=16" 2>&1 | FileCheck %s --check-prefix=LEAST
// LEAST: error: can't be placed in 1000 bytes (0.00 MiB) of hbm: the least feasible size is {{[0-9]+}} bytes (0.{{[0-9]+}} MiB) for steps of 16 tokens, 1 sequences and 1024 positions each
// RUN: not strata-opt %s --strata-place="machine=nowhere" 2>&1 | FileCheck %s --check-prefix=MACHINE
// MACHINE: error: {{.*}}nowhere
// RUN: not strata-opt %s --strata-place="machine=cpu-two-tier context=2000" 2>&1 | FileCheck %s --check-prefix=CONTEXT
// CONTEXT: error: expected a context of at most the model's 1024 positions but got 2000
// RUN: not strata-opt %s --strata-place="machine=cpu-two-tier batch=4 tokens=2" 2>&1 | FileCheck %s --check-prefix=TOKENS
// TOKENS: error: expected a context and a batch of at least 1, and at least a token for each sequence, but got context 1024, batch 4 and tokens 2
// RUN: not strata-opt %t.whole --strata-place="machine=cpu-two-tier" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: expected a module that is not placed yet

!latents = !strata.cache<key_value 32xf32, key 8xf32, page = 16, rope = interleaved>
!keys = !strata.cache<key 16xf32, page = 16>
module attributes {strata.compute = f32, strata.max_positions = 1024 : i64, strata.model_type = "test"} {
  func.func @step(%batch: !strata.batch, %kv0: !latents {strata.name = "layer 0 keys"}, %index: !keys {strata.name = "index keys"},
                  %kv1: !latents {strata.name = "layer 1 keys"}) -> (tensor<?x64xf32>, !latents, !keys, !latents) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %ids, %zero : tensor<?xi32>
    %table = strata.weight "embed" stored f32 : tensor<64x40xf32>
    %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<64x40xf32>) -> tensor<?x40xf32>
    %wq = strata.weight "query" stored f32 : tensor<160x40xf32>
    %wi = strata.weight "index query" stored f32 : tensor<32x40xf32>
    %wk = strata.weight "index key" stored f32 : tensor<16x40xf32>
    %wh = strata.weight "head weights" stored f32 : tensor<2x40xf32>
    %k = strata.linear %x, %wk : (tensor<?x40xf32>, tensor<16x40xf32>) -> tensor<?x16xf32>
    %index1 = strata.append %index[%batch], %k : !keys, tensor<?x16xf32>
    %iq0 = strata.linear %x, %wi : (tensor<?x40xf32>, tensor<32x40xf32>) -> tensor<?x32xf32>
    %iq = tensor.expand_shape %iq0 [[0], [1, 2]] output_shape [%n, 2, 16] : tensor<?x32xf32> into tensor<?x2x16xf32>
    %hw = strata.linear %x, %wh : (tensor<?x40xf32>, tensor<2x40xf32>) -> tensor<?x2xf32>
    %rows = strata.select %iq, %hw, %index1[%batch] {k = 8 : i64, scale = 1.0} : (tensor<?x2x16xf32>, tensor<?x2xf32>, !keys) -> tensor<?x8xi32>
    %q0 = strata.linear %x, %wq {strata.layer = 0 : i64} : (tensor<?x40xf32>, tensor<160x40xf32>) -> tensor<?x160xf32>
    %q = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into tensor<?x4x40xf32>
    %latent = tensor.extract_slice %x[0, 0] [%n, 32] [1, 1] : tensor<?x40xf32> to tensor<?x32xf32>
    %rope = tensor.extract_slice %x[0, 32] [%n, 8] [1, 1] : tensor<?x40xf32> to tensor<?x8xf32>
    %kv0n = strata.append %kv0[%batch], %latent, %rope : !latents, tensor<?x32xf32>, tensor<?x8xf32>
    %a0 = strata.attention %q over (%kv0n rows %rows)[%batch] {scale = 0.5, strata.layer = 0 : i64} : (tensor<?x4x40xf32>, !latents, tensor<?x8xi32>) -> tensor<?x4x32xf32>
    %a0f = tensor.collapse_shape %a0 [[0], [1, 2]] : tensor<?x4x32xf32> into tensor<?x128xf32>
    %wo0 = strata.weight "output 0" stored f32 : tensor<40x128xf32>
    %y = strata.linear %a0f, %wo0 : (tensor<?x128xf32>, tensor<40x128xf32>) -> tensor<?x40xf32>
    %wq1 = strata.weight "query 1" stored f32 : tensor<160x40xf32>
    %q1f = strata.linear %y, %wq1 : (tensor<?x40xf32>, tensor<160x40xf32>) -> tensor<?x160xf32>
    %q1 = tensor.expand_shape %q1f [[0], [1, 2]] output_shape [%n, 4, 40] : tensor<?x160xf32> into tensor<?x4x40xf32>
    %latent1 = tensor.extract_slice %y[0, 0] [%n, 32] [1, 1] : tensor<?x40xf32> to tensor<?x32xf32>
    %rope1 = tensor.extract_slice %y[0, 32] [%n, 8] [1, 1] : tensor<?x40xf32> to tensor<?x8xf32>
    %kv1n = strata.append %kv1[%batch], %latent1, %rope1 : !latents, tensor<?x32xf32>, tensor<?x8xf32>
    %a1 = strata.attention %q1 over (%kv1n rows %rows)[%batch] {scale = 0.5, strata.layer = 1 : i64} : (tensor<?x4x40xf32>, !latents, tensor<?x8xi32>) -> tensor<?x4x32xf32>
    %a1f = tensor.collapse_shape %a1 [[0], [1, 2]] : tensor<?x4x32xf32> into tensor<?x128xf32>
    %wl = strata.weight "head" stored f32 : tensor<64x128xf32>
    %logits = strata.logits %a1f, %wl[%batch] : (tensor<?x128xf32>, tensor<64x128xf32>) -> tensor<?x64xf32>
    return %logits, %kv0n, %index1, %kv1n : tensor<?x64xf32>, !latents, !keys, !latents
  }
}
