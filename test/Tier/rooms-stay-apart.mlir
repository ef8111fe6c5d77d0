// Two slots of one size, and two stages of one home, are two pieces of memory.
// RUN: strata-opt %s --cse | FileCheck %s

!home = !tier.at<"ddr", !strata.cache<key 4xf32, page = 8>>

// CHECK-LABEL: func.func @rooms(
// CHECK-COUNT-2: tier.slot
// CHECK-COUNT-2: tier.stage
func.func @rooms(%home: !home) -> (!tier.slot<bytes = 8>, !tier.slot<bytes = 8>, !strata.cache<key 4xf32, page = 8>, !strata.cache<key 4xf32, page = 8>) {
  %a = tier.slot : !tier.slot<bytes = 8>
  %b = tier.slot : !tier.slot<bytes = 8>
  %c = tier.stage of %home : !home -> !strata.cache<key 4xf32, page = 8>
  %d = tier.stage of %home : !home -> !strata.cache<key 4xf32, page = 8>
  return %a, %b, %c, %d : !tier.slot<bytes = 8>, !tier.slot<bytes = 8>, !strata.cache<key 4xf32, page = 8>, !strata.cache<key 4xf32, page = 8>
}
