// RUN: strata-opt %s | strata-opt | FileCheck %s

// CHECK-LABEL: func.func @weights
func.func @weights() {
  // CHECK: strata.weight "model.norm.weight" stored f32 : tensor<64xf32>
  %whole = strata.weight "model.norm.weight" stored f32 : tensor<64xf32>
  // CHECK: strata.weight "experts.{0..3}.gate" stored bf16 : tensor<4x32x64xf32>
  %stack = strata.weight "experts.{0..3}.gate" stored bf16 : tensor<4x32x64xf32>
  // CHECK: strata.weight "kv_b" stored f16 part <groups = 4, stride = 56, offset = 24> : tensor<4x32x32xf32>
  %part = strata.weight "kv_b" stored f16 part <groups = 4, stride = 56, offset = 24> : tensor<4x32x32xf32>
  // CHECK: strata.weight "up" stored f8E4M3FN scales <name = "up_scale_inv", rows = 128, columns = 128> : tensor<256x128xf32>
  %scaled = strata.weight "up" stored f8E4M3FN scales <name = "up_scale_inv", rows = 128, columns = 128> : tensor<256x128xf32>
  return
}
