// Kernels that can't become code that stands alone.
// RUN: split-file --leading-lines %s %t
// RUN: not strata-compile --from=lower %t/call.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=CALL
// RUN: not strata-compile --from=lower %t/undefined.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=UNDEFINED
// RUN: not strata-compile --from=lower %t/signature.mlir -o %t/x.strata 2>&1 | FileCheck %s --check-prefix=SIGNATURE
// RUN: not ls %t/x.strata

//--- call.mlir
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64, strata.compute = f32} {
  module @kernels {
    // CALL: call.mlir:[[#@LINE+1]]:5: error: kernel 'k' calls 'expf' when compiled for x86-64, but generated code has to do without
    func.func @k(%x: memref<?x4xf32>, %begin: index, %end: index) {
      %v = memref.load %x[%begin, %begin] : memref<?x4xf32>
      %e = math.exp %v : f32
      memref.store %e, %x[%begin, %begin] : memref<?x4xf32>
      return
    }
  }
  func.func @step(%batch: !strata.batch) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 0 : memref<?x4xf32>
    strata.launch @kernels::@k(%x) items <wanted = 1> grain 1 : memref<?x4xf32>
    return %x : memref<?x4xf32>
  }
}

//--- undefined.mlir
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64, strata.compute = f32} {
  module @kernels {
    // UNDEFINED: undefined.mlir:[[#@LINE+1]]:5: error: kernel 'k' has no body
    func.func private @k(memref<?x4xf32>, index, index)
  }
  func.func @step(%batch: !strata.batch) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 0 : memref<?x4xf32>
    strata.launch @kernels::@k(%x) items <wanted = 1> grain 1 : memref<?x4xf32>
    return %x : memref<?x4xf32>
  }
}

//--- signature.mlir
module attributes {strata.model_type = "test", strata.max_positions = 8 : i64, strata.compute = f32} {
  module @kernels {
    // SIGNATURE: error: kernel 'k': expected two last arguments of type index and no results but got
    func.func @k(%x: memref<?x4xf32>, %begin: index, %end: i64) {
      return
    }
  }
  func.func @step(%batch: !strata.batch) -> memref<?x4xf32> {
    %x = strata.buffer rows <wanted = 1> slot 0 : memref<?x4xf32>
    strata.launch @kernels::@k(%x) items <wanted = 1> grain 1 : memref<?x4xf32>
    return %x : memref<?x4xf32>
  }
}
