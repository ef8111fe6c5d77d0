// RUN: strata-opt %s --canonicalize | FileCheck %s

!kv = !strata.cache<key_value 32xf32, key 8xf32, page = 64>
!window = !strata.cache<key_value 32xf32, key 8xf32, page = 4>

// CHECK-LABEL: func.func @union_of_caches
func.func @union_of_caches(%q: tensor<?x4x40xf32>, %kv: !kv, %w: !window, %rows: tensor<?x8xi32>, %sinks: tensor<4xf32>, %batch: !strata.batch) -> tensor<?x4x32xf32> {
  // CHECK: strata.attention %{{.*}} over (%[[W:.*]] window 12, %[[KV:.*]] rows %[[ROWS:.*]])[%{{.*}}] sinks %{{.*}} {scale = 1.250000e-01 : f64}
  // CHECK-SAME: (tensor<?x4x40xf32>, !strata.cache<{{.*}}page = 4>, !strata.cache<{{.*}}page = 64>, tensor<?x8xi32>, tensor<4xf32>) -> tensor<?x4x32xf32>
  %0 = strata.attention %q over (%w window 12, %kv rows %rows)[%batch] sinks %sinks {scale = 0.125} : (tensor<?x4x40xf32>, !window, !kv, tensor<?x8xi32>, tensor<4xf32>) -> tensor<?x4x32xf32>
  return %0 : tensor<?x4x32xf32>
}

// CHECK-LABEL: func.func @all_covers_the_rest_of_its_cache
func.func @all_covers_the_rest_of_its_cache(%q: tensor<?x4x40xf32>, %kv: !kv, %other: !kv, %rows: tensor<?x8xi32>, %batch: !strata.batch) -> tensor<?x4x32xf32> {
  // CHECK: over (%{{.*}} all, %{{.*}} window 4)[
  %0 = strata.attention %q over (%kv rows %rows, %kv all, %other window 4, %kv first 2)[%batch] {scale = 0.125} : (tensor<?x4x40xf32>, !kv, tensor<?x8xi32>, !kv, !kv, !kv) -> tensor<?x4x32xf32>
  return %0 : tensor<?x4x32xf32>
}

// CHECK-LABEL: func.func @larger_window_stays
func.func @larger_window_stays(%q: tensor<?x4x40xf32>, %kv: !kv, %batch: !strata.batch) -> tensor<?x4x32xf32> {
  // CHECK: over (%{{.*}} window 8, %{{.*}} first 2)[
  %0 = strata.attention %q over (%kv window 4, %kv window 8, %kv first 2, %kv window 8)[%batch] {scale = 0.125} : (tensor<?x4x40xf32>, !kv, !kv, !kv, !kv) -> tensor<?x4x32xf32>
  return %0 : tensor<?x4x32xf32>
}
