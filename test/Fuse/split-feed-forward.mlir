// RUN: strata-opt %s --pass-pipeline='builtin.module(strata-split-feed-forward)' | FileCheck %s
// RUN: strata-opt %s --pass-pipeline='builtin.module(strata-split-feed-forward)' --remarks-filter=strata-fuse --verify-diagnostics -o /dev/null

// CHECK-LABEL: func.func @gated_mlp
func.func @gated_mlp(%x: tensor<?x64xf32>, %gate: tensor<96x64xf32>, %up: tensor<96x64xf32>, %down: tensor<64x96xf32>) -> tensor<?x64xf32> {
  // CHECK: %[[GATED:.*]] = strata.gated_linear %{{.*}} activation = silu {strata.layer = 3 : i64} : {{.*}} -> tensor<?x96xf32>
  // CHECK: %[[Y:.*]] = strata.linear %[[GATED]], %{{.*}} {strata.layer = 3 : i64}
  // CHECK: return %[[Y]]
  // Gate and up, 96 values of 4 bytes each, are neither written nor read.
  // expected-remark@+1 {{[Passed] SplitFeedForward | Category:strata-fuse | Remark="fused: gate, up, activation", SavedBytes=1536}}
  %y = strata.gated_mlp %x, %gate, %up, %down activation = silu {strata.layer = 3 : i64} : (tensor<?x64xf32>, tensor<96x64xf32>, tensor<96x64xf32>, tensor<64x96xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @mixture
func.func @mixture(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>, %gate: tensor<4x32x64xf32>, %up: tensor<4x32x64xf32>, %down: tensor<4x64x32xf32>) -> tensor<?x64xf32> {
  // CHECK: %[[OUTPUTS:.*]] = strata.expert_outputs %{{.*}} activation = silu : {{.*}} -> tensor<?x2x64xf32>
  // CHECK: strata.combine_experts %[[OUTPUTS]], %{{.*}} : (tensor<?x2x64xf32>, tensor<?x2xf32>) -> tensor<?x64xf32>
  // The same for 32 values of two experts.
  // expected-remark@+1 {{fused: gate, up, activation", SavedBytes=1024}}
  %y = strata.mixture_of_experts %x, %e, %w, %gate, %up, %down activation = silu : (tensor<?x64xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<4x32x64xf32>, tensor<4x32x64xf32>, tensor<4x64x32xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
