// Masks that are computed: what a token sees stays as it is.
// RUN: strata-opt %s --split-input-file --strata-join-select | FileCheck %s
// RUN: strata-opt %s --split-input-file --strata-join-select --remarks-filter=strata-join --verify-diagnostics -o /dev/null

!keys = !strata.cache<key 8xf32, page = 4>

// One value for each element: the score, or −∞ behind the token's position.
// CHECK-LABEL: @chosen
// CHECK-NEXT: %[[ROWS:.*]] = strata.select
// CHECK-NEXT: return %[[ROWS]]
func.func @chosen(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  %positions = strata.positions %batch : tensor<?xi32>
  %hidden = arith.constant 0xFF800000 : f32
  %m = linalg.generic {indexing_maps = [affine_map<(n, s) -> (n, s)>, affine_map<(n, s) -> (n)>, affine_map<(n, s) -> (n, s)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%s, %positions : tensor<?x?xf32>, tensor<?xi32>) outs(%s : tensor<?x?xf32>) {
  ^bb0(%score: f32, %position: i32, %out: f32):
    %column = linalg.index 1 : index
    %limit = arith.index_cast %position : i32 to index
    %behind = arith.cmpi sgt, %column, %limit : index
    %value = arith.select %behind, %hidden, %score : f32
    linalg.yield %value : f32
  } -> tensor<?x?xf32>
  // expected-remark@+1 {{[Passed] JoinSelect}}
  %r = strata.top_k %m[%batch] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}

// -----

// A mask that is added, as a tensor of its own.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @added
// CHECK: strata.select
// CHECK-NOT: tensor.generate
// CHECK-NOT: strata.index_scores
func.func @added(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  %positions = strata.positions %batch : tensor<?xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tokens = tensor.dim %s, %c0 : tensor<?x?xf32>
  %length = tensor.dim %s, %c1 : tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %large = arith.constant -1.0e9 : f32
  %mask = tensor.generate %tokens, %length {
  ^bb0(%token: index, %column: index):
    %position = tensor.extract %positions[%token] : tensor<?xi32>
    %narrow = arith.index_cast %column : index to i32
    %seen = arith.cmpi uge, %position, %narrow : i32
    %value = arith.select %seen, %zero, %large : f32
    tensor.yield %value : f32
  } : tensor<?x?xf32>
  %m = arith.addf %mask, %s : tensor<?x?xf32>
  // expected-remark@+1 {{[Passed] JoinSelect}}
  %r = strata.top_k %m[%batch] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}

// -----

// Op by op on tensors: columns and positions are spread over both dimensions, compared, and choose.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @op_by_op
// CHECK: strata.select
// CHECK-NOT: strata.index_scores
func.func @op_by_op(%batch: !strata.batch, %keys: !keys, %q: tensor<4x4x8xf32>, %w: tensor<4x4xf32>) -> tensor<4x2xi32> {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<4x4x8xf32>, tensor<4x4xf32>, !keys) -> tensor<4x16xf32>
  %positions = strata.positions %batch : tensor<4xi32>
  %empty = tensor.empty() : tensor<16xi32>
  %columns = linalg.generic {indexing_maps = [affine_map<(s) -> (s)>], iterator_types = ["parallel"]} outs(%empty : tensor<16xi32>) {
  ^bb0(%out: i32):
    %column = linalg.index 0 : index
    %value = arith.index_cast %column : index to i32
    linalg.yield %value : i32
  } -> tensor<16xi32>
  %wide = tensor.empty() : tensor<4x16xi32>
  %c = linalg.broadcast ins(%columns : tensor<16xi32>) outs(%wide : tensor<4x16xi32>) dimensions = [0]
  %p = linalg.broadcast ins(%positions : tensor<4xi32>) outs(%wide : tensor<4x16xi32>) dimensions = [1]
  %seen = arith.cmpi sle, %c, %p : tensor<4x16xi32>
  %hidden = arith.constant dense<0xFF800000> : tensor<4x16xf32>
  %m = arith.select %seen, %s, %hidden : tensor<4x16xi1>, tensor<4x16xf32>
  // expected-remark@+1 {{[Passed] JoinSelect}}
  %r = strata.top_k %m[%batch] {k = 2} : tensor<4x16xf32> -> tensor<4x2xi32>
  return %r : tensor<4x2xi32>
}

// -----

// Blocks of tokens.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @token_blocks
// CHECK-NEXT: strata.select
// CHECK-NEXT: return
func.func @token_blocks(%batch: !strata.batch, %keys: !keys, %q: tensor<4x4x8xf32>, %w: tensor<4x4xf32>) -> tensor<4x2xi32> {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<4x4x8xf32>, tensor<4x4xf32>, !keys) -> tensor<4x16xf32>
  %a = tensor.extract_slice %s[0, 0] [1, 16] [1, 1] : tensor<4x16xf32> to tensor<1x16xf32>
  %b = tensor.extract_slice %s[1, 0] [3, 16] [1, 1] : tensor<4x16xf32> to tensor<3x16xf32>
  %m = tensor.concat dim(0) %a, %b : (tensor<1x16xf32>, tensor<3x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{[Passed] JoinSelect}}
  %r = strata.top_k %m[%batch] {k = 2} : tensor<4x16xf32> -> tensor<4x2xi32>
  return %r : tensor<4x2xi32>
}

// -----

// A token sees its own position, which this mask hides.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @own_position_hidden
// CHECK: strata.top_k
func.func @own_position_hidden(%batch: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> tensor<?x2xi32> {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  %positions = strata.positions %batch : tensor<?xi32>
  %hidden = arith.constant 0xFF800000 : f32
  %m = linalg.generic {indexing_maps = [affine_map<(n, s) -> (n, s)>, affine_map<(n, s) -> (n)>, affine_map<(n, s) -> (n, s)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%s, %positions : tensor<?x?xf32>, tensor<?xi32>) outs(%s : tensor<?x?xf32>) {
  ^bb0(%score: f32, %position: i32, %out: f32):
    %column = linalg.index 1 : index
    %limit = arith.index_cast %position : i32 to index
    %seen = arith.cmpi slt, %column, %limit : index
    %value = arith.select %seen, %score, %hidden : f32
    linalg.yield %value : f32
  } -> tensor<?x?xf32>
  // expected-remark@+1 {{a mask that may hide what a token sees}}
  %r = strata.top_k %m[%batch] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}

// -----

// Positions of another batch, and those of another token: neither says what a token sees.
!keys = !strata.cache<key 8xf32, page = 4>
// CHECK-LABEL: @other_positions
// CHECK-COUNT-2: strata.top_k
func.func @other_positions(%batch: !strata.batch, %other: !strata.batch, %keys: !keys, %q: tensor<?x4x8xf32>, %w: tensor<?x4xf32>) -> (tensor<?x2xi32>, tensor<?x2xi32>) {
  %s = strata.index_scores %q, %w, %keys[%batch] {scale = 0.5} : (tensor<?x4x8xf32>, tensor<?x4xf32>, !keys) -> tensor<?x?xf32>
  %foreign = strata.positions %other : tensor<?xi32>
  %own = strata.positions %batch : tensor<?xi32>
  %hidden = arith.constant 0xFF800000 : f32
  %a = linalg.generic {indexing_maps = [affine_map<(n, s) -> (n, s)>, affine_map<(n, s) -> (n)>, affine_map<(n, s) -> (n, s)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%s, %foreign : tensor<?x?xf32>, tensor<?xi32>) outs(%s : tensor<?x?xf32>) {
  ^bb0(%score: f32, %position: i32, %out: f32):
    %column = linalg.index 1 : index
    %limit = arith.index_cast %position : i32 to index
    %seen = arith.cmpi sle, %column, %limit : index
    %value = arith.select %seen, %score, %hidden : f32
    linalg.yield %value : f32
  } -> tensor<?x?xf32>
  // expected-remark@+1 {{a mask that may hide what a token sees}}
  %r = strata.top_k %a[%batch] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
  %b = linalg.generic {indexing_maps = [affine_map<(n, s) -> (n, s)>, affine_map<(n, s) -> (s)>, affine_map<(n, s) -> (n, s)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%s, %own : tensor<?x?xf32>, tensor<?xi32>) outs(%s : tensor<?x?xf32>) {
  ^bb0(%score: f32, %position: i32, %out: f32):
    %token = linalg.index 0 : index
    %limit = arith.index_cast %position : i32 to index
    %seen = arith.cmpi sle, %token, %limit : index
    %value = arith.select %seen, %score, %hidden : f32
    linalg.yield %value : f32
  } -> tensor<?x?xf32>
  // expected-remark@+1 {{a mask that may hide what a token sees}}
  %t = strata.top_k %b[%batch] {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>
  return %r, %t : tensor<?x2xi32>, tensor<?x2xi32>
}
