// RUN: strata-opt %s --split-input-file --verify-diagnostics

func.func @router(%x: tensor<?x64xf32>, %r: tensor<8x32xf32>) {
  // expected-error@+1 {{(route_c1) expected the router's inputs to be 64 but got 32}}
  %e, %w = strata.route %x, %r scoring = sigmoid groups = 1 top_groups = 1 group_score = top_two_sum {scale = 1.0} : (tensor<?x64xf32>, tensor<8x32xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @correction(%x: tensor<?x64xf32>, %r: tensor<8x64xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{(route_c1) expected the correction's size to be 8 but got 4}}
  %e, %w = strata.route %x, %r correction %b scoring = sigmoid groups = 1 top_groups = 1 group_score = top_two_sum {scale = 1.0} : (tensor<?x64xf32>, tensor<8x64xf32>, tensor<4xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @columns(%x: tensor<?x64xf32>, %r: tensor<8x64xf32>) {
  // expected-error@+1 {{(route_c2) expected experts and weights with the same number of columns, at least 1, but got 2 and 3}}
  %e, %w = strata.route %x, %r scoring = softmax groups = 1 top_groups = 1 group_score = maximum {scale = 1.0} : (tensor<?x64xf32>, tensor<8x64xf32>) -> (tensor<?x2xi32>, tensor<?x3xf32>)
  return
}

// -----

func.func @groups(%x: tensor<?x64xf32>, %r: tensor<8x64xf32>) {
  // expected-error@+1 {{(route_c3) expected groups that divide 8 experts and hold 3 in the chosen ones but got 4 groups, 1 chosen}}
  %e, %w = strata.route %x, %r scoring = sigmoid groups = 4 top_groups = 1 group_score = top_two_sum {scale = 1.0} : (tensor<?x64xf32>, tensor<8x64xf32>) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  return
}

// -----

func.func @small_groups(%x: tensor<?x64xf32>, %r: tensor<8x64xf32>) {
  // expected-error@+1 {{(route_c4) expected at least 2 experts in a group but got 1}}
  %e, %w = strata.route %x, %r scoring = sigmoid groups = 8 top_groups = 4 group_score = top_two_sum {scale = 1.0} : (tensor<?x64xf32>, tensor<8x64xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @stack(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>, %gate: tensor<4x32x64xf32>, %up: tensor<3x32x64xf32>, %down: tensor<4x64x32xf32>) {
  // expected-error@+1 {{(mixture_c1) expected up of shape [4, 32, 64] but got [3, 32, 64]}}
  %y = strata.mixture_of_experts %x, %e, %w, %gate, %up, %down activation = silu : (tensor<?x64xf32>, tensor<?x2xi32>, tensor<?x2xf32>, tensor<4x32x64xf32>, tensor<3x32x64xf32>, tensor<4x64x32xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @weights(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %w: tensor<?x3xf32>, %gate: tensor<4x32x64xf32>, %down: tensor<4x64x32xf32>) {
  // expected-error@+1 {{(mixture_c2) expected the columns of weights to be 2 but got 3}}
  %y = strata.mixture_of_experts %x, %e, %w, %gate, %gate, %down activation = silu : (tensor<?x64xf32>, tensor<?x2xi32>, tensor<?x3xf32>, tensor<4x32x64xf32>, tensor<4x32x64xf32>, tensor<4x64x32xf32>) -> tensor<?x64xf32>
  return
}
