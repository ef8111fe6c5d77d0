// RUN: strata-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @scaled
func.func @scaled(%x: tensor<?x64xf32>, %batch: !strata.batch) -> tensor<?x64xf32> {
  // CHECK: strata.rope %{{.*}}[%{{.*}}] inverse {{.*}}scaling = #strata.llama3<factor = 8.000000e+00 : f64, low_frequency_factor = 1.000000e+00 : f64, high_frequency_factor = 4.000000e+00 : f64, original_positions = 64>
  %0 = strata.rope %x[%batch] inverse {table = #strata.rope<theta = 5.0e5, layout = half, scaling = #strata.llama3<factor = 8.0, low_frequency_factor = 1.0, high_frequency_factor = 4.0, original_positions = 64>>, offset = 0, width = 64} : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @nothing_to_turn
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>
func.func @nothing_to_turn(%x: tensor<?x64xf32>, %batch: !strata.batch) -> tensor<?x64xf32> {
  // CHECK-NOT: strata.rope
  // CHECK: return %[[X]]
  %0 = strata.rope %x[%batch] {table = #strata.rope<theta = 1.0e4, layout = interleaved>, offset = 64, width = 0} : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @hadamard_of_one
// CHECK-SAME: %[[X:.*]]: tensor<?x1xf32>
func.func @hadamard_of_one(%x: tensor<?x1xf32>) -> tensor<?x1xf32> {
  // CHECK: return %[[X]]
  %0 = strata.hadamard %x : tensor<?x1xf32>
  return %0 : tensor<?x1xf32>
}
