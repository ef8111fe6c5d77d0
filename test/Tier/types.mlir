// RUN: strata-opt %s | strata-opt | FileCheck %s
// RUN: strata-opt %s --emit-bytecode | strata-opt | FileCheck %s

!keys = !strata.cache<key 4xf32, page = 8>

// CHECK-LABEL: func.func private @homes(
// CHECK-SAME: !tier.at<"ddr", !strata.cache<key 4xf32, page = 8>>,
// CHECK-SAME: !tier.at<"ddr", !strata.cache<key 4xf32, page = 8>, stride = 64, align = 64>,
// CHECK-SAME: !tier.at<"cxl", tensor<3x?xbf16>, stride = 128>,
// CHECK-SAME: !tier.at<"ddr", !strata.cache<key 4xf32, page = 8>, align = 16>)
func.func private @homes(!tier.at<"ddr", !keys>, !tier.at<"ddr", !keys, align = 64, stride = 64>,
                         !tier.at<"cxl", tensor<3x?xbf16>, stride = 128>, !tier.at<"ddr", !keys, align = 16>)

// CHECK-LABEL: func.func private @near(
// CHECK-SAME: !tier.hot_set<"ddr", !strata.cache<key 4xf32, page = 8>, slots = 128>,
// CHECK-SAME: !tier.hot_set<"ddr", !strata.cache<key 4xf32, page = 8>, slots = 1, stride = 64, align = 32>,
// CHECK-SAME: !tier.slot<bytes = 1>)
func.func private @near(!tier.hot_set<"ddr", !keys, slots = 128>, !tier.hot_set<"ddr", !keys, slots = 1, stride = 64, align = 32>,
                        !tier.slot<bytes = 1>)

// CHECK-LABEL: func.func private @plans(
// CHECK-SAME: !tier.table<slots = 128, pages = "layers 2-5">, !tier.plan<slots = 128, pages = "layers 2-5">)
func.func private @plans(!tier.table<slots = 128, pages = "layers 2-5">, !tier.plan<slots = 128, pages = "layers 2-5">)

// CHECK-LABEL: func.func private @pending(
// CHECK-SAME: !tier.pending<tensor<4xf32>>, !tier.pending<!tier.at<"ddr", tensor<4xf32>>>)
func.func private @pending(!tier.pending<tensor<4xf32>>, !tier.pending<!tier.at<"ddr", tensor<4xf32>>>)

// CHECK-LABEL: func.func private @attribute()
// CHECK-SAME: space = #tier.space<"ddr">
func.func private @attribute() attributes {space = #tier.space<"ddr">}
