// Attention in two parts changes rounding: it is never done unasked.
//
// RUN: not strata-compile %s --machine=cpu-two-tier --split-attention -o %t 2>&1 | FileCheck %s --check-prefix=DRIVER
// DRIVER: error: --split-attention changes rounding, by what lies in near memory when a token is computed; --allow-approximate=split-rounding allows it
//
// RUN: not strata-compile %s --split-attention --allow-approximate=split-rounding -o %t 2>&1 | FileCheck %s --check-prefix=MACHINE
// MACHINE: error: --split-attention belongs to --machine
//
// RUN: not strata-compile %s --machine=cpu-two-tier --split-attention --allow-approximate=sharing -o %t 2>&1 | FileCheck %s --check-prefix=DRIVER

func.func @step() {
  return
}
