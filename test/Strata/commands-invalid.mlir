// RUN: strata-opt %s --split-input-file --verify-diagnostics

func.func @buffer_with_rows_of_no_size() {
  // expected-error @+1 {{(buffer_c1) expected a dense buffer whose first dimension is}}
  %x = strata.buffer rows <fixed = 4> : memref<?x8xf32>
  return
}

// -----

func.func @buffer_with_another_number_of_rows() {
  // expected-error @+1 {{(buffer_c1) expected a dense buffer whose first dimension is}}
  %x = strata.buffer rows <fixed = 4> : memref<5x8xf32>
  return
}

// -----

func.func @view_of_another_type(%x: memref<?x8xf32>) {
  // expected-error @+1 {{(view_c1) expected static strides and the element type of 'memref<?x8xf32>' but got 'memref<?x8xi32>'}}
  %y = strata.view %x offset 0 : memref<?x8xf32> to memref<?x8xi32>
  return
}

// -----

func.func @view_across_rows(%x: memref<?x8xf32>) {
  // expected-error @+1 {{(view_c2) expected rows with the stride of 'memref<?x8xf32>' but got 'memref<?x4xf32>'}}
  %y = strata.view %x offset 0 : memref<?x8xf32> to memref<?x4xf32>
  return
}

// -----

func.func @launch_without_a_kernel(%x: memref<?x8xf32>) {
  // expected-error @+1 {{(launch_c1) expected a kernel called @kernels::@absent but there is none}}
  strata.launch @kernels::@absent(%x) items <tokens = 1> grain 1 : memref<?x8xf32>
  return
}

// -----

module {
  module @kernels {
    func.func @double(%in: memref<?x8xf32>, %out: memref<?x8xf32>, %begin: index, %end: index) {
      return
    }
  }

  func.func @launch_with_too_few_arguments(%x: memref<?x8xf32>) {
    // expected-error @+1 {{(launch_c1) expected 2 arguments for @kernels::@double but got 1}}
    strata.launch @kernels::@double(%x) items <tokens = 1> grain 1 : memref<?x8xf32>
    return
  }
}

// -----

module {
  module @kernels {
    func.func @double(%in: memref<?x8xf32>, %out: memref<?x8xf32>, %begin: index, %end: index) {
      return
    }
  }

  func.func @launch_with_another_stride(%x: memref<?x8xf32>, %y: memref<?x8xf32, strided<[16, 1]>>) {
    // expected-error @+1 {{(launch_c2) expected argument 1 to be 'memref<?x8xf32>' but got 'memref<?x8xf32, strided<[16, 1]>>'}}
    strata.launch @kernels::@double(%x, %y) items <tokens = 1> grain 1 : memref<?x8xf32>, memref<?x8xf32, strided<[16, 1]>>
    return
  }
}
