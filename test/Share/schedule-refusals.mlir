// What is wrong with a schedule is said, naming the layer; the module stays as it was.

// RUN: not strata-opt %s --strata-share-index="schedule=pattern:FS" 2>&1 | FileCheck %s --check-prefix=APPROXIMATE
// APPROXIMATE: error: schedule 'pattern:FS' changes what the model computes: layer 1 would use the rows of layer 0 instead of its own; allow-approximate=sharing allows it
// APPROXIMATE: note: the layer's attention
// RUN: not strata-opt %s --strata-share-index="schedule=pattern:FS allow-approximate=shearing" 2>&1 | FileCheck %s --check-prefix=ALLOW
// ALLOW: error: allow-approximate: expected sharing but got 'shearing'
// RUN: strata-opt %s --strata-share-index="schedule=pattern:FS allow-approximate=sharing" -o %t.shared.mlir
// RUN: not strata-opt %t.shared.mlir --strata-share-index="schedule=pattern:FF allow-approximate=sharing" 2>&1 | FileCheck %s --check-prefix=LEAD
// LEAD: error: schedule 'pattern:FF' lets layer 1 lead, but its indexer is not in the module: it uses rows of layer 0
// LEAD: note: the layer's attention
// The shared module declares what it has.
// RUN: strata-opt %t.shared.mlir --strata-share-index="schedule=pattern:FS" -o /dev/null
// RUN: strata-opt %s --strata-import-rows -o %t.imported.mlir
// RUN: not strata-opt %t.imported.mlir --strata-share-index="schedule=pattern:FF allow-approximate=sharing" 2>&1 | FileCheck %s --check-prefix=IMPORTED
// IMPORTED: error: schedule 'pattern:FF' lets layer 0 lead, but its indexer is not in the module: it uses rows that no strata.select makes

// RUN: not strata-opt %s --strata-share-index="schedule=FS" 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: schedule 'FS': expected declared, pattern:FSSS, every:N,offset:M or groups:0;1;2-5
// RUN: not strata-opt %s --strata-share-index="schedule=pattern:FSS" 2>&1 | FileCheck %s --check-prefix=LENGTH
// LENGTH: error: schedule 'pattern:FSS': expected 2 letters, one for each layer that attends to rows, but got 3
// RUN: not strata-opt %s --strata-share-index="schedule=pattern:FX" 2>&1 | FileCheck %s --check-prefix=LETTER
// LETTER: error: schedule 'pattern:FX': expected F or S for layer 1 but got 'X'
// RUN: not strata-opt %s --strata-share-index="schedule=pattern:SF" 2>&1 | FileCheck %s --check-prefix=FIRST
// FIRST: error: schedule 'pattern:SF': layer 0 is shared, but no layer is below it
// RUN: not strata-opt %s --strata-share-index="schedule=every:0,offset:1" 2>&1 | FileCheck %s --check-prefix=EVERY
// RUN: not strata-opt %s --strata-share-index="schedule=every:2" 2>&1 | FileCheck %s --check-prefix=EVERY
// EVERY: expected every:N,offset:M with N at least 1
// RUN: not strata-opt %s --strata-share-index="schedule=every:2,offset:0" 2>&1 | FileCheck %s --check-prefix=OFFSET
// OFFSET: error: schedule 'every:2,offset:0': layer 0 is shared, but no layer is below it
// RUN: not strata-opt %s --strata-share-index="schedule=groups:0;x" 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not strata-opt %s --strata-share-index="schedule=groups:0;2-1" 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: expected groups such as 0;1;2-5 but got '{{x|2-1}}'
// RUN: not strata-opt %s --strata-share-index="schedule=groups:1" 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: schedule 'groups:1': expected a group that begins with layer 0 but got '1'
// RUN: not strata-opt %s --strata-share-index="schedule=groups:0-2" 2>&1 | FileCheck %s --check-prefix=BEYOND
// BEYOND: error: schedule 'groups:0-2': expected layers below 2 but got '0-2'
// RUN: not strata-opt %s --strata-share-index="schedule=groups:0" 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: schedule 'groups:0': expected a group for layer 1, since the module has 2 that attend to rows
// RUN: echo 'func.func @step(%%b: !strata.batch) { return }' | not strata-opt --strata-share-index="schedule=pattern:F" 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: schedule 'pattern:F': the module has no layer that attends to rows
// RUN: echo 'module {}' | not strata-opt --strata-share-index 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: error: expected a function @step with one block but there is none

!kv = !strata.cache<key_value 8xf32, page = 4>
!keys = !strata.cache<key 8xf32, page = 4>
func.func @step(%batch: !strata.batch, %kv0: !kv, %keys0: !keys, %kv1: !kv, %keys1: !keys, %q: tensor<?x1x8xf32>, %w: tensor<?x1xf32>)
    -> (tensor<?x1x8xf32>, !kv, !keys, !kv, !keys) {
  %r0 = strata.select %q, %w, %keys0[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  %o0 = strata.attention %q over (%kv0 rows %r0)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  %r1 = strata.select %o0, %w, %keys1[%batch] {k = 2, scale = 1.0} : (tensor<?x1x8xf32>, tensor<?x1xf32>, !keys) -> tensor<?x2xi32>
  %o1 = strata.attention %o0 over (%kv1 rows %r1)[%batch] {scale = 1.0} : (tensor<?x1x8xf32>, !kv, tensor<?x2xi32>) -> tensor<?x1x8xf32>
  return %o1, %kv0, %keys0, %kv1, %keys1 : tensor<?x1x8xf32>, !kv, !keys, !kv, !keys
}
