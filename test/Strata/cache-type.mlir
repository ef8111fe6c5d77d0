// RUN: strata-opt %s | FileCheck %s

// CHECK-LABEL: func.func private @latent(!strata.cache<key_value 512xbf16, key 64xbf16, page = 64, rope = interleaved>)
func.func private @latent(!strata.cache<key_value 512xbf16, key 64xbf16, page = 64, rope = interleaved>)

// One head is left out; the order of the options doesn't matter.
// CHECK-LABEL: func.func private @heads(!strata.cache<key 2x16xf32, value 2x24xf32, page = 4, rope = half, planar, hadamard>)
func.func private @heads(!strata.cache<key 2x16xf32, value 2x24xf32, hadamard, planar, rope = half, page = 4>)

// CHECK-LABEL: func.func private @one_head(!strata.cache<key 128xf32, page = 1>)
func.func private @one_head(!strata.cache<key 1x128xf32, rope = none, page = 1>)
