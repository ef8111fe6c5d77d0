// RUN: strata-opt %s --split-input-file --verify-diagnostics

func.func @plan_of_another_page_space(%records: tensor<?x8xi32>, %own: tensor<?xi32>, %table: !tier.table<slots = 32, pages = "keys">) {
  // expected-error@+1 {{(resolve_c1) expected a plan of '!tier.table<slots = 32, pages = "keys">' but got '!tier.plan<slots = 32, pages = "others">'}}
  %t, %p = tier.resolve %records in %table writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !tier.table<slots = 32, pages = "keys"> -> !tier.plan<slots = 32, pages = "others">
  return
}

// -----

// Indices that are padded to another width than the plan is made for.
func.func @padded_records(%records: tensor<?x9xi32>, %own: tensor<?xi32>, %table: !tier.table<slots = 32, pages = "keys">) {
  // expected-error@+1 {{(resolve_c2) expected k columns of records and 1 to 32 of them but got k = 8 and 'tensor<?x9xi32>'}}
  %t, %p = tier.resolve %records in %table writing %own {k = 8} : tensor<?x9xi32>, tensor<?xi32>, !tier.table<slots = 32, pages = "keys"> -> !tier.plan<slots = 32, pages = "keys">
  return
}

// -----

func.func @fewer_slots_than_records(%records: tensor<?x8xi32>, %own: tensor<?xi32>, %table: !tier.table<slots = 7, pages = "keys">) {
  // expected-error@+1 {{(resolve_c2) expected k columns of records and 1 to 7 of them but got k = 8 and 'tensor<?x8xi32>'}}
  %t, %p = tier.resolve %records in %table writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !tier.table<slots = 7, pages = "keys"> -> !tier.plan<slots = 7, pages = "keys">
  return
}

// -----

func.func @guess_of_another_size(%records: tensor<?x8xi32>, %table: !tier.table<slots = 32, pages = "keys">) {
  // expected-error@+1 {{(speculate_c1) expected a plan of '!tier.table<slots = 32, pages = "keys">' but got '!tier.plan<slots = 16, pages = "keys">'}}
  %t, %p = tier.speculate %records in %table limit 4 : tensor<?x8xi32>, !tier.table<slots = 32, pages = "keys"> -> !tier.plan<slots = 16, pages = "keys">
  return
}

// -----

func.func @guess_of_nothing(%records: tensor<?x8xi32>, %table: !tier.table<slots = 32, pages = "keys">) {
  // expected-error@+1 {{(speculate_c2) expected a positive limit but got 0}}
  %t, %p = tier.speculate %records in %table limit 0 : tensor<?x8xi32>, !tier.table<slots = 32, pages = "keys"> -> !tier.plan<slots = 32, pages = "keys">
  return
}

// -----

func.func @slots_of_a_guess(%records: tensor<?x8xi32>, %table: !tier.table<slots = 32, pages = "keys">) {
  // expected-note@+1 {{but got this one's}}
  %t, %p = tier.speculate %records in %table limit 4 : tensor<?x8xi32>, !tier.table<slots = 32, pages = "keys"> -> !tier.plan<slots = 32, pages = "keys">
  // expected-error@+1 {{(slots_c1) expected a plan that was resolved}}
  %s = tier.slots %p : !tier.plan<slots = 32, pages = "keys"> -> tensor<?x8xi32>
  return
}

// -----

func.func @slots_of_other_records(%records: tensor<?x8xi32>, %own: tensor<?xi32>, %table: !tier.table<slots = 32, pages = "keys">) {
  %t, %p = tier.resolve %records in %table writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !tier.table<slots = 32, pages = "keys"> -> !tier.plan<slots = 32, pages = "keys">
  // expected-error@+1 {{(slots_c1) expected 'tensor<?x8xi32>' but got 'tensor<?x4xi32>'}}
  %s = tier.slots %p : !tier.plan<slots = 32, pages = "keys"> -> tensor<?x4xi32>
  return
}

// -----

func.func @split_of_other_records(%records: tensor<?x8xi32>, %own: tensor<?xi32>, %table: !tier.table<slots = 32, pages = "keys">) {
  %t, %p = tier.resolve %records in %table writing %own {k = 8} : tensor<?x8xi32>, tensor<?xi32>, !tier.table<slots = 32, pages = "keys"> -> !tier.plan<slots = 32, pages = "keys">
  // expected-error@+1 {{(split_c1) expected 'tensor<?x8xi32>' but got 'tensor<?x4xi32>'}}
  %h, %m = tier.split %p : !tier.plan<slots = 32, pages = "keys"> -> tensor<?x8xi32>, tensor<?x4xi32>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
func.func @gather_of_other_rows(%home: !tier.at<"ddr", !strata.cache<key 2xf32, page = 8>>, %hot: !hot, %plan: !tier.plan<slots = 32, pages = "keys">) {
  // expected-error@+1 {{(gather_c1) expected the home of '!tier.hot_set<"ddr", !strata.cache<key 4xf32, page = 8>, slots = 32>' but got '!tier.at<"ddr", !strata.cache<key 2xf32, page = 8>>'}}
  %p = tier.gather %home into %hot by %plan on "gather" : !tier.at<"ddr", !strata.cache<key 2xf32, page = 8>>, !hot, !tier.plan<slots = 32, pages = "keys"> -> !tier.pending<!hot>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
func.func @gather_from_another_tier(%home: !tier.at<"cxl", !keys>, %hot: !hot, %plan: !tier.plan<slots = 32, pages = "keys">) {
  // expected-error@+1 {{(gather_c1) expected the home of '!tier.hot_set<"ddr", !strata.cache<key 4xf32, page = 8>, slots = 32>' but got '!tier.at<"cxl", !strata.cache<key 4xf32, page = 8>>'}}
  %p = tier.gather %home into %hot by %plan on "gather" : !tier.at<"cxl", !keys>, !hot, !tier.plan<slots = 32, pages = "keys"> -> !tier.pending<!hot>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
func.func @gather_from_a_stage_of_other_rows(%home: !tier.at<"ddr", !keys>, %hot: !hot, %stage: !strata.cache<key 2xf32, page = 8>, %plan: !tier.plan<slots = 32, pages = "keys">) {
  // expected-error@+1 {{(gather_c1) expected '!strata.cache<key 4xf32, page = 8>' but got '!strata.cache<key 2xf32, page = 8>'}}
  %p = tier.gather %home into %hot by %plan stage %stage on "gather" : !tier.at<"ddr", !keys>, !hot, !tier.plan<slots = 32, pages = "keys">, !strata.cache<key 2xf32, page = 8> -> !tier.pending<!hot>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
func.func @gather_by_a_plan_of_other_slots(%home: !tier.at<"ddr", !keys>, %hot: !hot, %plan: !tier.plan<slots = 64, pages = "keys">) {
  // expected-error@+1 {{(gather_c2) expected a plan of 32 slots but got '!tier.plan<slots = 64, pages = "keys">'}}
  %p = tier.gather %home into %hot by %plan on "gather" : !tier.at<"ddr", !keys>, !hot, !tier.plan<slots = 64, pages = "keys"> -> !tier.pending<!hot>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!hot = !tier.hot_set<"ddr", !keys, slots = 32, stride = 32>
func.func @rows_that_differ_in_stride(%home: !tier.at<"ddr", !keys>, %hot: !hot, %plan: !tier.plan<slots = 32, pages = "keys">) {
  // expected-error@+1 {{(gather_c3) expected rows of one stride and alignment but got 16 bytes at multiples of 0 at home and 32 at multiples of 0 in the hot set}}
  %p = tier.gather %home into %hot by %plan on "gather" : !tier.at<"ddr", !keys>, !hot, !tier.plan<slots = 32, pages = "keys"> -> !tier.pending<!hot>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
func.func @gather_without_the_hot_set(%home: !tier.at<"ddr", !keys>, %hot: !hot, %plan: !tier.plan<slots = 32, pages = "keys">) {
  // expected-error@+1 {{(gather_c4) expected '!tier.pending<!tier.hot_set<"ddr", !strata.cache<key 4xf32, page = 8>, slots = 32>>' but got '!tier.pending<!strata.cache<key 4xf32, page = 8>>'}}
  %p = tier.gather %home into %hot by %plan on "gather" : !tier.at<"ddr", !keys>, !hot, !tier.plan<slots = 32, pages = "keys"> -> !tier.pending<!keys>
  return
}

// -----

func.func @wait_for_something_else(%p: !tier.pending<tensor<4xf32>>) {
  // expected-error@+1 {{(wait_c1) expected 'tensor<4xf32>' but got 'tensor<8xf32>'}}
  %v = tier.wait %p : !tier.pending<tensor<4xf32>> -> tensor<8xf32>
  return
}

// -----

// Without a wait a transfer's result is no value of the model.
// expected-note@+1 {{prior use here}}
func.func @no_wait(%p: !tier.pending<tensor<4xf32>>, %x: tensor<4xf32>) {
  // expected-error@+1 {{use of value '%p' expects different type than prior uses: 'tensor<4xf32>' vs '!tier.pending<tensor<4xf32>>'}}
  %y = arith.addf %x, %p : tensor<4xf32>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
func.func @view_of_other_rows(%hot: !hot, %plan: !tier.plan<slots = 32, pages = "keys">) {
  // expected-error@+1 {{(view_c1) expected '!strata.cache<key 4xf32, page = 8>' but got '!strata.cache<key 2xf32, page = 8>'}}
  %v = tier.view %hot of %plan : !hot, !tier.plan<slots = 32, pages = "keys"> -> !strata.cache<key 2xf32, page = 8>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
func.func @view_by_a_plan_of_other_slots(%hot: !hot, %plan: !tier.plan<slots = 16, pages = "keys">) {
  // expected-error@+1 {{(view_c2) expected a plan of 32 slots but got '!tier.plan<slots = 16, pages = "keys">'}}
  %v = tier.view %hot of %plan : !hot, !tier.plan<slots = 16, pages = "keys"> -> !keys
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
func.func @present_of_other_rows(%hot: !hot, %plan: !tier.plan<slots = 32, pages = "keys">) {
  // expected-error@+1 {{(present_c1) expected '!strata.cache<key 4xf32, page = 8>' but got '!strata.cache<key 2xf32, page = 8>'}}
  %v = tier.present %hot of %plan : !hot, !tier.plan<slots = 32, pages = "keys"> -> !strata.cache<key 2xf32, page = 8>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
!hot = !tier.hot_set<"ddr", !keys, slots = 32>
func.func @present_by_a_plan_of_other_slots(%hot: !hot, %plan: !tier.plan<slots = 16, pages = "keys">) {
  // expected-error@+1 {{(present_c2) expected a plan of 32 slots but got '!tier.plan<slots = 16, pages = "keys">'}}
  %v = tier.present %hot of %plan : !hot, !tier.plan<slots = 16, pages = "keys"> -> !keys
  return
}

// -----

func.func @home_of_something_else(%x: tensor<4xf32>) {
  // expected-error@+1 {{(home_c1) expected 'tensor<4xf32>' but got 'tensor<8xf32>'}}
  %h = tier.home %x : tensor<4xf32> -> !tier.at<"ddr", tensor<8xf32>>
  return
}

// -----

func.func @stage_of_other_rows(%home: !tier.at<"ddr", !strata.cache<key 4xf32, page = 8>>) {
  // expected-error@+1 {{(stage_c1) expected '!strata.cache<key 4xf32, page = 8>' but got '!strata.cache<key 2xf32, page = 8>'}}
  %s = tier.stage of %home : !tier.at<"ddr", !strata.cache<key 4xf32, page = 8>> -> !strata.cache<key 2xf32, page = 8>
  return
}

// -----

func.func @stage_of_a_tensor(%home: !tier.at<"ddr", tensor<4xf32>>) {
  // expected-error@+1 {{(stage_c1) expected the home of a row store but got '!tier.at<"ddr", tensor<4xf32>>'}}
  %s = tier.stage of %home : !tier.at<"ddr", tensor<4xf32>> -> tensor<4xf32>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
func.func @write_back_of_other_rows(%s: !strata.cache<key 2xf32, page = 8>, %home: !tier.at<"ddr", !keys>, %own: tensor<?xi32>) {
  // expected-error@+1 {{(write_back_c1) expected '!strata.cache<key 4xf32, page = 8>' but got '!strata.cache<key 2xf32, page = 8>'}}
  %p = tier.write_back %s to %home at %own on "copy" : !strata.cache<key 2xf32, page = 8>, !tier.at<"ddr", !keys>, tensor<?xi32> -> !tier.pending<!tier.at<"ddr", !keys>>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
func.func @write_back_of_rows_alone(%s: !keys, %home: !tier.at<"ddr", !keys>, %own: tensor<?xi32>) {
  // expected-error@+1 {{(write_back_c2) expected '!tier.pending<!tier.at<"ddr", !strata.cache<key 4xf32, page = 8>>>' but got '!tier.pending<!strata.cache<key 4xf32, page = 8>>'}}
  %p = tier.write_back %s to %home at %own on "copy" : !keys, !tier.at<"ddr", !keys>, tensor<?xi32> -> !tier.pending<!keys>
  return
}

// -----

func.func @reload_of_something_else(%home: !tier.at<"ddr", tensor<4xf32>>, %slot: !tier.slot<bytes = 16>) {
  // expected-error@+1 {{(reload_c1) expected '!tier.pending<tensor<4xf32>>' but got '!tier.pending<tensor<8xf32>>'}}
  %p = tier.reload %home into %slot on "copy" : !tier.at<"ddr", tensor<4xf32>>, !tier.slot<bytes = 16> -> !tier.pending<tensor<8xf32>>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
func.func @reload_into_less_than_a_page(%home: !tier.at<"ddr", !keys>, %slot: !tier.slot<bytes = 127>) {
  // expected-error@+1 {{(reload_c2) expected a slot of at least a page, 128 bytes, but got '!tier.slot<bytes = 127>'}}
  %p = tier.reload %home into %slot on "copy" : !tier.at<"ddr", !keys>, !tier.slot<bytes = 127> -> !tier.pending<!keys>
  return
}

// -----

func.func @stream_of_a_tensor(%home: !tier.at<"ddr", tensor<4xf32>>, %a: !tier.slot<bytes = 16>, %b: !tier.slot<bytes = 16>) {
  // expected-error@+1 {{(stream_c1) expected the home of a row store but got '!tier.at<"ddr", tensor<4xf32>>'}}
  %v = tier.stream %home blocks of 1 rows through %a, %b on "copy" : !tier.at<"ddr", tensor<4xf32>>, !tier.slot<bytes = 16>, !tier.slot<bytes = 16> -> tensor<4xf32>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
func.func @stream_of_other_rows(%home: !tier.at<"ddr", !keys>, %a: !tier.slot<bytes = 16>, %b: !tier.slot<bytes = 16>) {
  // expected-error@+1 {{(stream_c1) expected '!strata.cache<key 4xf32, page = 8>' but got '!strata.cache<key 2xf32, page = 8>'}}
  %v = tier.stream %home blocks of 1 rows through %a, %b on "copy" : !tier.at<"ddr", !keys>, !tier.slot<bytes = 16>, !tier.slot<bytes = 16> -> !strata.cache<key 2xf32, page = 8>
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
func.func @stream_of_no_rows(%home: !tier.at<"ddr", !keys>, %a: !tier.slot<bytes = 16>, %b: !tier.slot<bytes = 16>) {
  // expected-error@+1 {{(stream_c2) expected blocks of at least 1 row but got 0}}
  %v = tier.stream %home blocks of 0 rows through %a, %b on "copy" : !tier.at<"ddr", !keys>, !tier.slot<bytes = 16>, !tier.slot<bytes = 16> -> !keys
  return
}

// -----

!keys = !strata.cache<key 4xf32, page = 8>
func.func @stream_through_a_small_buffer(%home: !tier.at<"ddr", !keys>, %a: !tier.slot<bytes = 32>, %b: !tier.slot<bytes = 16>) {
  // expected-error@+1 {{(stream_c2) expected buffers for blocks of 2 rows, 32 bytes, but got '!tier.slot<bytes = 16>'}}
  %v = tier.stream %home blocks of 2 rows through %a, %b on "copy" : !tier.at<"ddr", !keys>, !tier.slot<bytes = 32>, !tier.slot<bytes = 16> -> !keys
  return
}

// -----

func.func @offload_of_something_else(%v: tensor<4xf32>, %home: !tier.at<"ddr", tensor<8xf32>>) {
  // expected-error@+1 {{(offload_c1) expected 'tensor<8xf32>' but got 'tensor<4xf32>'}}
  %p = tier.offload %v to %home on "copy" : tensor<4xf32>, !tier.at<"ddr", tensor<8xf32>> -> !tier.pending<!tier.at<"ddr", tensor<8xf32>>>
  return
}

// -----

func.func @offload_of_the_value_alone(%v: tensor<4xf32>, %home: !tier.at<"ddr", tensor<4xf32>>) {
  // expected-error@+1 {{(offload_c2) expected '!tier.pending<!tier.at<"ddr", tensor<4xf32>>>' but got '!tier.pending<tensor<4xf32>>'}}
  %p = tier.offload %v to %home on "copy" : tensor<4xf32>, !tier.at<"ddr", tensor<4xf32>> -> !tier.pending<tensor<4xf32>>
  return
}
