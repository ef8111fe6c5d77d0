// What the verifier of the phase lower lets pass but a package can't hold is refused at the op, and nothing is written.
// RUN: split-file %s %t
// RUN: not strata-compile --from=lower %t/far-slot.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=FAR-SLOT
// RUN: not strata-compile --from=lower %t/no-kernel.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=NO-KERNEL
// RUN: not strata-compile --from=lower %t/stored.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=STORED
// RUN: not strata-compile --from=lower %t/shape.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not strata-compile --from=lower %t/cache.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=CACHE
// RUN: not strata-compile --from=lower %t/reach.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=REACH
// RUN: not strata-compile --from=lower %t/gate.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=GATE
// RUN: not strata-compile --from=lower %t/gate-type.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=GATE-TYPE
// RUN: not strata-compile --from=lower %t/attention.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=ATTENTION
// RUN: not strata-compile --from=lower %t/no-compute.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=NO-COMPUTE
// RUN: not ls %t/x.strata

//--- far-slot.mlir
// FAR-SLOT: error: 'strata.buffer' op expected a slot below 1, the number of buffers, but got 7
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64, strata.compute = f32} {
  func.func @step(%batch: !strata.batch) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 7 : memref<?x4xf32>
    return %x : memref<?x4xf32>
  }
}

//--- no-kernel.mlir
// NO-KERNEL: error: 'strata.launch' op (launch_c1) expected a kernel called @kernels::@missing but there is none
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64, strata.compute = f32} {
  module @kernels {}
  func.func @step(%batch: !strata.batch) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 0 : memref<?x4xf32>
    strata.launch @kernels::@missing(%x) items <wanted = 1> grain 1 : memref<?x4xf32>
    return %x : memref<?x4xf32>
  }
}

//--- stored.mlir
// STORED: error: 'strata.launch' op expected a kernel argument of f32 for weight "w" but got 'memref<4xbf16>'
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64, strata.compute = f32} {
  module @kernels {
    func.func @k(%w: memref<4xbf16>, %begin: index, %end: index) { return }
  }
  func.func @step(%batch: !strata.batch) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 0 : memref<?x4xf32>
    %w = strata.weight "w" stored f16 : tensor<4xf32>
    strata.launch @kernels::@k(%w) items <wanted = 1> grain 1 : tensor<4xf32>
    return %x : memref<?x4xf32>
  }
}

//--- shape.mlir
// SHAPE: error: 'strata.launch' op expected a kernel argument for 'tensor<4xf32>' but got 'memref<5xf32>'
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64, strata.compute = f32} {
  module @kernels {
    func.func @k(%w: memref<5xf32>, %begin: index, %end: index) { return }
  }
  func.func @step(%batch: !strata.batch) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 0 : memref<?x4xf32>
    %w = strata.weight "w" stored f16 : tensor<4xf32>
    strata.launch @kernels::@k(%w) items <wanted = 1> grain 1 : tensor<4xf32>
    return %x : memref<?x4xf32>
  }
}

//--- cache.mlir
// CACHE: error: 'strata.launch_select' op expected a kernel argument with the elements of '!strata.cache<key 8xbf16, page = 64>' but got 'memref<?xf32>'
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64, strata.compute = f32} {
  module @kernels {
    func.func @score(%query: memref<2x8xf32>, %weights: memref<2xf32>, %cache: memref<?xf32>, %pages: memref<?xi32>, %out: memref<?xf32>, %begin: index, %end: index) {
      return
    }
  }
  func.func @step(%batch: !strata.batch, %keys: !strata.cache<key 8xbf16, page = 64, rope = none>) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 0 : memref<?x4xf32>
    %query = strata.buffer rows <tokens = 1> slot 1 : memref<?x2x8xf32>
    %weights = strata.buffer rows <tokens = 1> slot 2 : memref<?x2xf32>
    %rows = strata.buffer rows <tokens = 1> slot 3 : memref<?x4xi32>
    strata.launch_select @kernels::@score(%query, %weights, %keys) into %rows {k = 4, ordinal = 0} : memref<?x2x8xf32>, memref<?x2xf32>, <key 8xbf16, page = 64, rope = none> into memref<?x4xi32>
    return %x : memref<?x4xf32>
  }
}

//--- reach.mlir
// REACH: error: manifest is malformed: command 0 (product w): input reaches beyond slot 1
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64, strata.compute = f32} {
  func.func @step(%batch: !strata.batch) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 0 : memref<?x4xf32>
    %y = strata.buffer rows <wanted = 1> slot 1 : memref<?x6xf32>
    %w = strata.weight "w" stored f16 : tensor<4x6xf32>
    strata.launch_product %y, (%w) into (%x) rows <tokens = 1> operands f32 : memref<?x6xf32>, (tensor<4x6xf32>) into (memref<?x4xf32>)
    return %x : memref<?x4xf32>
  }
}

//--- gate.mlir
// GATE: error: 'strata.launch_gated_product' op expected a kernel with 5 arguments but got 4
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64, strata.compute = f32} {
  module @kernels {
    func.func @silu(%gate: memref<?xf32>, %result: memref<?xf32>, %begin: index, %end: index) { return }
  }
  func.func @step(%batch: !strata.batch) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 0 : memref<?x4xf32>
    %y = strata.buffer rows <wanted = 1> slot 1 : memref<?x6xf32>
    %w = strata.weight "w" stored f16 : tensor<4x6xf32>
    strata.launch_gated_product %y, %w, %w into %x by @kernels::@silu rows <wanted = 1> operands f32 : memref<?x6xf32>, tensor<4x6xf32>, tensor<4x6xf32> into memref<?x4xf32>
    return %x : memref<?x4xf32>
  }
}

//--- gate-type.mlir
// GATE-TYPE: error: 'strata.launch_gated_product' op expected kernel arguments of dense f32 elements but got 'memref<?xbf16>'
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64, strata.compute = f32} {
  module @kernels {
    func.func @silu(%gate: memref<?xf32>, %up: memref<?xbf16>, %result: memref<?xf32>, %begin: index, %end: index) { return }
  }
  func.func @step(%batch: !strata.batch) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 0 : memref<?x4xf32>
    %y = strata.buffer rows <wanted = 1> slot 1 : memref<?x6xf32>
    %w = strata.weight "w" stored f16 : tensor<4x6xf32>
    strata.launch_gated_product %y, %w, %w into %x by @kernels::@silu rows <wanted = 1> operands f32 : memref<?x6xf32>, tensor<4x6xf32>, tensor<4x6xf32> into memref<?x4xf32>
    return %x : memref<?x4xf32>
  }
}

//--- attention.mlir
// ATTENTION: error: 'strata.launch_head_attention' op expected a kernel with 3 arguments but got 4
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64, strata.compute = f32} {
  module @kernels {
    func.func @attend(%query: memref<?x2x8xf32>, %latent: memref<?x2x8xf32>, %begin: index, %end: index) { return }
  }
  func.func @step(%batch: !strata.batch) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 0 : memref<?x4xf32>
    %query = strata.buffer rows <tokens = 1> slot 1 : memref<?x2x8xf32>
    strata.launch_head_attention @kernels::@attend(%query) heads 2 operands f32 : (memref<?x2x8xf32>)
    return %x : memref<?x4xf32>
  }
}

//--- no-compute.mlir
// NO-COMPUTE: error: expected the module to have strata.model_type, strata.max_positions and strata.compute
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64} {
  func.func @step(%batch: !strata.batch) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 0 : memref<?x4xf32>
    return %x : memref<?x4xf32>
  }
}
