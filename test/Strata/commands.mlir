// RUN: strata-opt %s | strata-opt | FileCheck %s

module {
  // What a kernel gets: one argument for each operand of the launch, then the range of items.
  module @kernels {
    func.func @double(%in: memref<?x64xf32>, %out: memref<?x64xf32>, %begin: index, %end: index) {
      %one = arith.constant 1 : index
      %zero = arith.constant 0 : index
      scf.for %item = %begin to %end step %one {
        %x = vector.load %in[%item, %zero] : memref<?x64xf32>, vector<64xf32>
        %y = arith.addf %x, %x : vector<64xf32>
        vector.store %y, %out[%item, %zero] : memref<?x64xf32>, vector<64xf32>
      }
      return
    }
    func.func @scale(%in: memref<?x2x8xf32, strided<[64, 8, 1]>>, %weight: memref<8xbf16>, %begin: index, %end: index) {
      return
    }
    func.func @score(%query: memref<4x8xf32>, %weights: memref<4xf32>, %cache: memref<?xf32>, %pages: memref<?xi32>,
                     %out: memref<?xf32>, %begin: index, %end: index) {
      return
    }
  }

  // CHECK-LABEL: func.func @launch
  func.func @launch() {
    %in = strata.buffer rows <tokens = 1> slot 0 : memref<?x64xf32>
    %out = strata.buffer rows <tokens = 1> slot 1 : memref<?x64xf32>
    // CHECK: strata.launch @kernels::@double(%[[IN:.*]], %[[OUT:.*]]) items <tokens = 1> grain 16 : memref<?x64xf32>, memref<?x64xf32>
    strata.launch @kernels::@double(%in, %out) items <tokens = 1> grain 16 : memref<?x64xf32>, memref<?x64xf32>
    return
  }

  // CHECK-LABEL: func.func @launch_on_a_view_and_a_weight
  func.func @launch_on_a_view_and_a_weight() {
    %buffer = strata.buffer rows <tokens = 1> slot 0 : memref<?x64xf32>
    %weight = strata.weight "norm" stored bf16 : tensor<8xf32>
    // The kernel's type has no offset: the command adds it to the pointer.
    %view = strata.view %buffer offset 16 : memref<?x64xf32> to memref<?x2x8xf32, strided<[64, 8, 1], offset: 16>>
    // CHECK: strata.launch @kernels::@scale({{.*}}) items <wanted = 1, fixed = 2> grain 1
    strata.launch @kernels::@scale(%view, %weight) items <wanted = 1, fixed = 2> grain 1 : memref<?x2x8xf32, strided<[64, 8, 1], offset: 16>>, tensor<8xf32>
    return
  }

  // CHECK-LABEL: func.func @select
  func.func @select(%keys: !strata.cache<key 8xf32, page = 64>) {
    %query = strata.buffer rows <tokens = 1> slot 0 : memref<?x4x8xf32>
    %weights = strata.buffer rows <tokens = 1> slot 1 : memref<?x4xf32>
    %rows = strata.buffer rows <tokens = 1> slot 2 : memref<?x16xi32>
    // CHECK: strata.launch_select @kernels::@score({{.*}}) into %{{.*}} {k = 16 : i64, ordinal = 0 : i64}
    strata.launch_select @kernels::@score(%query, %weights, %keys) into %rows {k = 16, ordinal = 0} : memref<?x4x8xf32>, memref<?x4xf32>, <key 8xf32, page = 64> into memref<?x16xi32>
    return
  }
}
