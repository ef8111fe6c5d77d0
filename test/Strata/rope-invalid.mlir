// RUN: strata-opt %s --split-input-file --verify-diagnostics

func.func @odd(%x: tensor<?x64xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{(rope_c1) expected an even width of at least 0 but got 7}}
  %0 = strata.rope %x[%batch] {table = #strata.rope<theta = 1.0e4, layout = half>, offset = 0, width = 7} : tensor<?x64xf32>
  return
}

// -----

func.func @outside(%x: tensor<?x64xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{(rope_c2) expected the rotated elements to lie within 64 but got 60 to 68}}
  %0 = strata.rope %x[%batch] {table = #strata.rope<theta = 1.0e4, layout = half>, offset = 60, width = 8} : tensor<?x64xf32>
  return
}

// -----

func.func @layout(%x: tensor<?x64xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{(rope_c3) expected the layout interleaved or half but got none}}
  %0 = strata.rope %x[%batch] {table = #strata.rope<theta = 1.0e4, layout = none>, offset = 0, width = 8} : tensor<?x64xf32>
  return
}

// -----

func.func @theta(%x: tensor<?x64xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{expected a positive theta but got}}
  %0 = strata.rope %x[%batch] {table = #strata.rope<theta = 0.0, layout = half>, offset = 0, width = 8} : tensor<?x64xf32>
  return
}

// -----

func.func @scaling(%x: tensor<?x64xf32>, %batch: !strata.batch) {
  // expected-error@+1 {{expected #strata.yarn or #strata.llama3 as scaling but got 3}}
  %0 = strata.rope %x[%batch] {table = #strata.rope<theta = 1.0e4, layout = half, scaling = 3>, offset = 0, width = 8} : tensor<?x64xf32>
  return
}
