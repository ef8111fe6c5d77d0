// RUN: strata-opt %s | strata-opt | FileCheck %s
// RUN: strata-opt %s --emit-bytecode | strata-opt | FileCheck %s

!keys = !strata.cache<key 4xf32, page = 8>
!home = !tier.at<"ddr", !keys>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
!table = !tier.table<slots = 32, pages = "keys">
!plan = !tier.plan<slots = 32, pages = "keys">

// CHECK-LABEL: func.func @resolve(
// CHECK-SAME: %[[RECORDS:.*]]: tensor<?x8xi32>, %[[OWN:.*]]: tensor<?xi32>, %[[TABLE:.*]]: !tier.table<{{.*}}>)
func.func @resolve(%records: tensor<?x8xi32>, %own: tensor<?xi32>, %table0: !table) -> !table {
  // CHECK: %[[NEXT:.*]], %[[PLAN:.*]] = tier.resolve %[[RECORDS]] in %[[TABLE]] writing %[[OWN]] {k = 8 : i64} : tensor<?x8xi32>, tensor<?xi32>, !tier.table<slots = 32, pages = "keys"> -> !tier.plan<slots = 32, pages = "keys">
  %table1, %plan = tier.resolve %records in %table0 writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !table -> !plan
  // CHECK: tier.slots %[[PLAN]] : !tier.plan<{{.*}}> -> tensor<?x8xi32>
  %slots = tier.slots %plan : !plan -> tensor<?x8xi32>
  // CHECK: tier.split %[[PLAN]] : !tier.plan<{{.*}}> -> tensor<?x8xi32>, tensor<?x8xi32>
  %hits, %misses = tier.split %plan : !plan -> tensor<?x8xi32>, tensor<?x8xi32>
  // CHECK: tier.speculate %[[RECORDS]] in %[[NEXT]] limit 4 : tensor<?x8xi32>, !tier.table<{{.*}}> -> !tier.plan<{{.*}}>
  %table2, %guess = tier.speculate %records in %table1 limit 4 : tensor<?x8xi32>, !table -> !plan
  return %table2 : !table
}

// CHECK-LABEL: func.func @gather(
// CHECK-SAME: %[[HOME:.*]]: !tier.at<{{.*}}>, %[[HOT:.*]]: !tier.hot_set<{{.*}}>, %[[PLAN:.*]]: !tier.plan<{{.*}}>, %[[OWN:.*]]: tensor<?xi32>)
func.func @gather(%home: !home, %hot0: !hot, %plan: !plan, %own: tensor<?xi32>) -> (!hot, !home) {
  // CHECK: %[[STAGE:.*]] = tier.stage of %[[HOME]] : !tier.at<{{.*}}> -> !strata.cache<{{.*}}>
  %stage = tier.stage of %home : !home -> !keys
  // CHECK: %[[PENDING:.*]] = tier.gather %[[HOME]] into %[[HOT]] by %[[PLAN]] stage %[[STAGE]] on "gather" : !tier.at<{{.*}}>, !tier.hot_set<{{.*}}>, !tier.plan<{{.*}}>, !strata.cache<{{.*}}> -> !tier.pending<!tier.hot_set<{{.*}}>>
  %pending = tier.gather %home into %hot0 by %plan stage %stage on "gather" : !home, !hot, !plan, !keys -> !tier.pending<!hot>
  // CHECK: tier.present %[[HOT]] of %[[PLAN]] : !tier.hot_set<{{.*}}>, !tier.plan<{{.*}}> -> !strata.cache<{{.*}}>
  %present = tier.present %hot0 of %plan : !hot, !plan -> !keys
  // CHECK: %[[NEXT:.*]] = tier.wait %[[PENDING]] : !tier.pending<{{.*}}> -> !tier.hot_set<{{.*}}>
  %hot1 = tier.wait %pending : !tier.pending<!hot> -> !hot
  // CHECK: tier.view %[[NEXT]] of %[[PLAN]] : !tier.hot_set<{{.*}}>, !tier.plan<{{.*}}> -> !strata.cache<{{.*}}>
  %view = tier.view %hot1 of %plan : !hot, !plan -> !keys
  // CHECK: tier.gather %[[HOME]] into %[[NEXT]] by %[[PLAN]] on "gather" : !tier.at<{{.*}}>, !tier.hot_set<{{.*}}>, !tier.plan<{{.*}}> -> !tier.pending<{{.*}}>
  %again = tier.gather %home into %hot1 by %plan on "gather" : !home, !hot, !plan -> !tier.pending<!hot>
  %hot2 = tier.wait %again : !tier.pending<!hot> -> !hot
  // CHECK: tier.write_back %[[STAGE]] to %[[HOME]] at %[[OWN]] on "copy" in_order : !strata.cache<{{.*}}>, !tier.at<{{.*}}>, tensor<?xi32> -> !tier.pending<!tier.at<{{.*}}>>
  %written = tier.write_back %stage to %home at %own on "copy" in_order : !keys, !home, tensor<?xi32> -> !tier.pending<!home>
  %home1 = tier.wait %written : !tier.pending<!home> -> !home
  return %hot2, %home1 : !hot, !home
}

// CHECK-LABEL: func.func @reload(
// CHECK-SAME: %[[VALUE:.*]]: tensor<4x8xf32>, %[[PAGES:.*]]: !tier.at<{{.*}}>)
func.func @reload(%value: tensor<4x8xf32>, %pages: !home) -> tensor<4x8xf32> {
  // CHECK: %[[SLOT:.*]] = tier.slot : !tier.slot<bytes = 128>
  %slot = tier.slot : !tier.slot<bytes = 128>
  // CHECK: tier.slot : !tier.slot<bytes = 128>
  %other = tier.slot : !tier.slot<bytes = 128>
  // CHECK: %[[HOME:.*]] = tier.home %[[VALUE]] : tensor<4x8xf32> -> !tier.at<"ddr", tensor<4x8xf32>>
  %home = tier.home %value : tensor<4x8xf32> -> !tier.at<"ddr", tensor<4x8xf32>>
  // CHECK: tier.reload %[[HOME]] into %[[SLOT]] on "copy" : !tier.at<{{.*}}>, !tier.slot<bytes = 128> -> !tier.pending<tensor<4x8xf32>>
  %pending = tier.reload %home into %slot on "copy" : !tier.at<"ddr", tensor<4x8xf32>>, !tier.slot<bytes = 128> -> !tier.pending<tensor<4x8xf32>>
  %near = tier.wait %pending : !tier.pending<tensor<4x8xf32>> -> tensor<4x8xf32>
  // CHECK: tier.offload %{{.*}} to %[[HOME]] on "copy" : tensor<4x8xf32>, !tier.at<{{.*}}> -> !tier.pending<!tier.at<{{.*}}>>
  %saved = tier.offload %near to %home on "copy" : tensor<4x8xf32>, !tier.at<"ddr", tensor<4x8xf32>> -> !tier.pending<!tier.at<"ddr", tensor<4x8xf32>>>
  %home1 = tier.wait %saved : !tier.pending<!tier.at<"ddr", tensor<4x8xf32>>> -> !tier.at<"ddr", tensor<4x8xf32>>
  // CHECK: %[[FREE:.*]] = tier.release %{{.*}} : tensor<4x8xf32> -> !tier.slot<bytes = 128>
  %free = tier.release %near : tensor<4x8xf32> -> !tier.slot<bytes = 128>
  // CHECK: tier.stream %[[PAGES]] blocks of 8 rows through %[[FREE]], %{{.*}} on "copy" : !tier.at<{{.*}}>, !tier.slot<bytes = 128>, !tier.slot<bytes = 128> -> !strata.cache<{{.*}}>
  %scanned = tier.stream %pages blocks of 8 rows through %free, %other on "copy" : !home, !tier.slot<bytes = 128>, !tier.slot<bytes = 128> -> !keys
  return %value : tensor<4x8xf32>
}
