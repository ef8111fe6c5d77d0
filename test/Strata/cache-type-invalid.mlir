// RUN: strata-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected a cache with at least one field}}
func.func private @no_field(!strata.cache<page = 64>)

// -----

// expected-error@+1 {{expected a cache with at least one key field}}
func.func private @no_key(!strata.cache<value 64xf32, page = 64>)

// -----

// expected-error@+1 {{expected a page of at least 1 token but got 0}}
func.func private @no_page(!strata.cache<key 64xf32>)

// -----

// expected-error@+1 {{expected all fields to have 2 heads}}
func.func private @other_heads(!strata.cache<key 2x16xf32, value 16xf32, page = 64>)

// -----

// expected-error@+1 {{expected a floating-point element type but got 'i32'}}
func.func private @integers(!strata.cache<key 16xi32, page = 64>)

// -----

// expected-error@+1 {{expected [heads x] width x type but got 3 dimensions}}
func.func private @three_dimensions(!strata.cache<key 2x2x16xf32, page = 64>)

// -----

// expected-error@+1 {{expected none, interleaved or half but got quarter}}
func.func private @unknown_rope(!strata.cache<key 16xf32, page = 64, rope = quarter>)

// -----

// expected-error@+1 {{expected a field, page, rope, planar or hadamard but got colour}}
func.func private @unknown_option(!strata.cache<key 16xf32, page = 64, colour>)

// -----

// Two layouts never mix: an append gives the type that it takes.
func.func @mixed(%cache: !strata.cache<key 8xf32, page = 64>, %batch: !strata.batch, %k: tensor<?x8xf32>) -> !strata.cache<key 8xf32, page = 64, hadamard> {
  %next = strata.append %cache[%batch], %k : !strata.cache<key 8xf32, page = 64>, tensor<?x8xf32>
  // expected-error@+1 {{type of return operand 0}}
  return %next : !strata.cache<key 8xf32, page = 64>
}
