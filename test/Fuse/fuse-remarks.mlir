// RUN: strata-opt %s --pass-pipeline='builtin.module(strata-fuse-kernels)' --split-input-file --remarks-filter=strata-fuse 2>&1 | FileCheck %s
// RUN: strata-opt %s --pass-pipeline='builtin.module(strata-fuse-kernels{on-chip-bytes=128})' --split-input-file --remarks-filter=strata-fuse 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not strata-opt %s --pass-pipeline='builtin.module(strata-fuse-kernels{tokens=0})' --split-input-file 2>&1 | FileCheck %s --check-prefix=OPTIONS

// OPTIONS: error: expected tokens of at least 1 and on-chip-bytes of at least 0 but got 0 and 262144

// A kernel and what it saves; with little memory on the chip it would not pay.
// CHECK: fused: rms_norm, hadamard{{.*}}SavedBytes=512
// SMALL: not fused: rms_norm, hadamard: it would keep 256 bytes for a row{{.*}}SavedBytes=512
func.func @round_trip(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = strata.rms_norm %x {epsilon = 1.0e-5} : tensor<?x64xf32>
  %1 = strata.hadamard %0 : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// The sum needs what the product gives, and the product needs the norm: norm and sum can't be one kernel.
// CHECK: not fused: rms_norm, addf: a value would leave the kernel and come back
func.func @comes_back(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32> {
  %0 = strata.rms_norm %x {epsilon = 1.0e-5} : tensor<?x64xf32>
  %1 = strata.linear %0, %w bias %b : (tensor<?x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %2 = arith.addf %0, %1 : tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}

// -----

// CHECK: not fused: addf, rms_norm: addf saves more in another kernel
// CHECK: fused: linear, addf
func.func @taken(%x: tensor<?x64xf32>, %h: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %0 = strata.linear %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %1 = arith.addf %h, %0 : tensor<?x64xf32>
  %2 = strata.rms_norm %1 {epsilon = 1.0e-5} : tensor<?x64xf32>
  return %1, %2 : tensor<?x64xf32>, tensor<?x64xf32>
}
