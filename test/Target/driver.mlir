// The phases one by one give the same package as all at once, and the same input gives the same bytes.
// RUN: strata-compile %s -o %t.strata
// RUN: cp %s %t.copy.mlir
// RUN: strata-compile %t.copy.mlir -o - > %t.second.strata
// RUN: cmp %t.strata %t.second.strata
// RUN: strata-compile %s --no-input-module -o %t.small.strata
// RUN: strata-compile %s --to=lower --emit-bytecode -o %t.lower.mlirbc
// RUN: strata-compile %t.lower.mlirbc --from=lower -o %t.phases.strata
// RUN: cmp %t.small.strata %t.phases.strata
// RUN: strata-compile %s --to=lower -o - | strata-compile - --from=lower -o %t.text.strata
// RUN: cmp %t.small.strata %t.text.strata

// The default formats are those of the weights.
// RUN: strata-run --print %t.strata | FileCheck %s --check-prefix=BF16
// BF16: products round to bf16
// BF16: object for x86-64:
// BF16: object for x86-64-v3:
// BF16: input module: {{[1-9]}}
// BF16: cache 0: keys, pages of 64, interleaved, rope None, Key 1 x 8 bf16
// BF16: command 1 (layer 0 rms_norm + append)
// RUN: strata-compile %s --compute=f32 --cache=f32 --page-size=16 --cpu=x86-64-v2 -o %t.strata
// RUN: strata-run --print %t.strata | FileCheck %s --check-prefix=F32
// F32: products round to f32
// F32: object for x86-64-v2:
// F32-NEXT: input module
// F32: cache 0: keys, pages of 16, interleaved, rope None, Key 1 x 8 f32

// RUN: strata-compile --version | FileCheck %s --check-prefix=VERSION
// VERSION: strata {{.*}} (LLVM 22.1
// VERSION: x86-64

// Every refusal is one line, exit status 1, and no file.
// RUN: not strata-compile %s -o %t.none --nonsense 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: {{[Uu]}}nknown command line argument '--nonsense'
// RUN: not strata-compile %s -o %t.none --cpu=i386 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: --cpu: expected one of x86-64, x86-64-v2, x86-64-v3, x86-64-v4, native but got 'i386'
// RUN: not strata-compile %s -o %t.none --cpu=x86-64-v3,x86-64-v3 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --cpu: x86-64-v3 stands for x86-64-v3, which is asked for already
// RUN: not strata-compile %s -o %t.none --page-size=0 2>&1 | FileCheck %s --check-prefix=PAGE
// PAGE: error: --page-size: expected 1 to 65536 but got 0
// RUN: not strata-compile %s -o %t.none --from=lower --to=input 2>&1 | FileCheck %s --check-prefix=PHASES
// PHASES: error: --from lower --to input: there is nothing to do
// RUN: not strata-compile %t.nowhere.mlir -o %t.none 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: error: cannot open input file
// RUN: not strata-compile %s -o %t.no/folder 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: {{.*}}.no/folder: can't be written: No such file or directory
// RUN: not strata-compile %s -o /dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: error: /dev/full: writing failed: No space left on device
// RUN: not strata-compile %t.strata -o %t.none 2>&1 | FileCheck %s --check-prefix=PARSE
// PARSE: error: {{.*}}.strata: expected a module but got a package
// RUN: not ls %t.none

module attributes {strata.model_type = "test", strata.max_positions = 64 : i64} {
  func.func @step(%batch: !strata.batch, %keys: !strata.cache<key 8xf32, page = 64, rope = none> {strata.name = "keys"})
      -> (tensor<?x16xf32>, !strata.cache<key 8xf32, page = 64, rope = none>) {
    %ids = strata.token_ids %batch : tensor<?xi32>
    %table = strata.weight "table" stored bf16 : tensor<16x8xf32>
    %x = strata.embedding %ids, %table : (tensor<?xi32>, tensor<16x8xf32>) -> tensor<?x8xf32>
    %norm = strata.weight "norm" stored bf16 : tensor<8xf32>
    %y = strata.rms_norm %x weight %norm {epsilon = 1.0e-5, strata.layer = 0 : i64} : tensor<?x8xf32>, tensor<8xf32>
    %next = strata.append %keys[%batch], %y : !strata.cache<key 8xf32, page = 64, rope = none>, tensor<?x8xf32>
    %logits = strata.logits %y, %table[%batch] : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
    return %logits, %next : tensor<?x16xf32>, !strata.cache<key 8xf32, page = 64, rope = none>
  }
}
