// RUN: strata-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{(weight_c1) expected f32, bf16, f16 or f8E4M3FN but got 'f64'}}
%0 = strata.weight "w" stored f64 : tensor<4xf32>

// -----

// expected-error@+1 {{(weight_c1) expected scales exactly with f8E4M3FN but got 'f8E4M3FN' without scales}}
%0 = strata.weight "w" stored f8E4M3FN : tensor<4x4xf32>

// -----

// expected-error@+1 {{(weight_c1) expected scales exactly with f8E4M3FN but got 'f32' with scales}}
%0 = strata.weight "w" stored f32 scales <name = "s", rows = 128, columns = 128> : tensor<4x4xf32>

// -----

// expected-error@+1 {{(weight_c1) expected blocks of at least 1 x 1 but got 0 x 128}}
%0 = strata.weight "w" stored f8E4M3FN scales <name = "s", rows = 0, columns = 128> : tensor<4x4xf32>

// -----

// expected-error@+1 {{(weight_c2) expected 4 tensors in the first dimension}}
%0 = strata.weight "w.{0..3}" stored f32 : tensor<5x4x4xf32>

// -----

// expected-error@+1 {{(weight_c2) expected at most one pattern {first..last} in the name}}
%0 = strata.weight "w.{0..3}.{0..1}" stored f32 : tensor<4x4xf32>

// -----

// expected-error@+1 {{(weight_c2) expected at most one pattern}}
%0 = strata.weight "w.{3..1}" stored f32 : tensor<4x4xf32>

// -----

// expected-error@+1 {{(weight_c3) expected [4, rows, columns] with offset 30 + rows within 56}}
%0 = strata.weight "w" stored f32 part <groups = 4, stride = 56, offset = 30> : tensor<4x32x32xf32>

// -----

// expected-error@+1 {{(weight_c4) expected either a part or a pattern but got both}}
%0 = strata.weight "w.{0..3}" stored f32 part <groups = 4, stride = 56, offset = 0> : tensor<4x32x32xf32>

// -----

// expected-error@+1 {{(weight_c5) expected a static shape without 0}}
%0 = strata.weight "w" stored f32 : tensor<?x4xf32>
