// RUN: strata-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected the name of a tier but got an empty one}}
func.func private @nowhere(!tier.at<"", tensor<4xf32>>)

// -----

// expected-error@+1 {{expected a row store or a ranked tensor but got 'i32'}}
func.func private @no_rows(!tier.at<"ddr", i32>)

// -----

// expected-error@+1 {{expected a stride of at least the 16 bytes of a row but got 15}}
func.func private @rows_that_overlap(!tier.at<"ddr", !strata.cache<key 4xf32, page = 8>, stride = 15>)

// -----

// expected-error@+1 {{expected a stride of at least the 8 bytes of a row but got 4}}
func.func private @tensor_rows_that_overlap(!tier.at<"ddr", tensor<3x2xf32>, stride = 4>)

// -----

// expected-error@+1 {{expected an alignment that is a power of two but got 48}}
func.func private @odd_alignment(!tier.at<"ddr", !strata.cache<key 4xf32, page = 8>, stride = 96, align = 48>)

// -----

// expected-error@+1 {{expected a stride that is a multiple of the alignment 64 but got 96}}
func.func private @rows_off_their_alignment(!tier.at<"ddr", !strata.cache<key 4xf32, page = 8>, stride = 96, align = 64>)

// -----

// A record of 656 bytes is not aligned to 64; that has to be said with a stride.
// expected-error@+1 {{expected a stride that is a multiple of the alignment 64 but got 656}}
func.func private @unaligned_records(!tier.at<"ddr", !strata.cache<key 164xf32, page = 64>, align = 64>)

// -----

// expected-error@+1 {{expected a row store but got 'tensor<4x4xf32>'}}
func.func private @hot_tensor(!tier.hot_set<"ddr", tensor<4x4xf32>, slots = 4>)

// -----

// expected-error@+1 {{expected at least 1 slot but got 0}}
func.func private @no_slots(!tier.hot_set<"ddr", !strata.cache<key 4xf32, page = 8>, slots = 0>)

// -----

// expected-error@+1 {{expected at least 1 slot but got 0}}
func.func private @empty_table(!tier.table<slots = 0, pages = "keys">)

// -----

// expected-error@+1 {{expected the name of a page space but got an empty one}}
func.func private @nameless_plan(!tier.plan<slots = 1, pages = "">)

// -----

// expected-error@+1 {{expected at least 1 byte but got 0}}
func.func private @no_room(!tier.slot<bytes = 0>)

// -----

// expected-error@+1 {{expected a value that can be waited for but got '!tier.pending<tensor<4xf32>>'}}
func.func private @twice(!tier.pending<!tier.pending<tensor<4xf32>>>)
