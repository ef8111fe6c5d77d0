//===- StrataFusion.td - Kernels of several ops ------------*- tablegen -*-===//
//
// What the phase `fuse` adds: regions of ops that run in one launch, and the parts that gated MLPs and mixtures are taken apart into, so
// that each part can run with its neighbours.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_DIALECTS_STRATA_STRATAFUSION_TD
#define STRATA_DIALECTS_STRATA_STRATAFUSION_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "strata/dialects/Interfaces/CostInterface.td"
include "strata/dialects/Strata/StrataTypes.td"

def Strata_KernelOp : Op<Strata_Dialect, "kernel",
    [SingleBlock, NoRegionArguments, RecursiveMemoryEffects, DeclareOpInterfaceMethods<CostOpInterface>]> {
  let summary = "run several ops in one launch";
  let description = [{
    The ops of the body, with the values of `strata.yield` as results. What only the body uses never leaves the kernel. `kind` says how
    the ops run together: `rows` one after the other for each row, `products` as products of one input (or a product
    and its residual), `heads` for each block of tokens and each head.

    Constraints:
    - (kernel_c1) the yielded values have the types of the results.
    - (kernel_c2) the body has ops of the kernel's kind only, besides weights, slices, reshapes and concatenations.

    ```mlir
    func.func @fused(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>, %w: tensor<64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
      %sum, %normed = strata.kernel rows {
        %0 = arith.addf %x, %y : tensor<?x64xf32>
        %1 = strata.rms_norm %0 weight %w {epsilon = 1.0e-5} : tensor<?x64xf32>, tensor<64xf32>
        strata.yield %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
      } : tensor<?x64xf32>, tensor<?x64xf32>
      return %sum, %normed : tensor<?x64xf32>, tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins Strata_KernelKindAttr:$kind);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind $body attr-dict (`:` type($outputs)^)?";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether an op may stand in a kernel of this kind.
    static bool allows(KernelKind kind, ::mlir::Operation *op);
    /// Slices, reshapes, concatenations, weights and sizes: they make no kernel of their own.
    static bool isView(::mlir::Operation *op);
  }];
}

def Strata_YieldOp : Op<Strata_Dialect, "yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "give a kernel's results";
  let description = [{
    Ends the body of `strata.kernel`. The test test/Fuse/fuse-kernels.mlir shows kernels.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Strata_GatedLinearOp : Strata_ComputeOp<"gated_linear"> {
  let summary = "multiply by gate and up, and combine them";
  let description = [{
    `activation(gate · x) ⊙ (up · x)` for each token: a `gated_mlp` without its last product.

    Constraints:
    - (gated_linear_c1) gate and up are [width, features], and the result has `width` features.

    ```mlir
    func.func @gated(%x: tensor<?x64xf32>, %gate: tensor<96x64xf32>, %up: tensor<96x64xf32>) -> tensor<?x96xf32> {
      %y = strata.gated_linear %x, %gate, %up activation = silu : (tensor<?x64xf32>, tensor<96x64xf32>, tensor<96x64xf32>) -> tensor<?x96xf32>
      return %y : tensor<?x96xf32>
    }
    ```
  }];
  let arguments = (ins Strata_Matrix:$input, Strata_WeightMatrix:$gate, Strata_WeightMatrix:$up, Strata_ActivationAttr:$activation);
  let results = (outs Strata_Matrix:$result);
  let assemblyFormat = "$input `,` $gate `,` $up `activation` `=` $activation attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Strata_ExpertOutputsOp : Strata_ComputeOp<"expert_outputs"> {
  let summary = "apply the chosen experts, apart";
  let description = [{
    `result[n, j] = mlp_e(x[n])` with e = experts[n, j]: a `mixture_of_experts` before its sum.

    Constraints:
    - (expert_outputs_c1) gate and up are [experts, width, features], down is [experts, features, width].
    - (expert_outputs_c2) the result is [tokens, k, features].

    ```mlir
    func.func @outputs(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %gate: tensor<4x32x64xf32>, %up: tensor<4x32x64xf32>,
                       %down: tensor<4x64x32xf32>) -> tensor<?x2x64xf32> {
      %y = strata.expert_outputs %x, %e, %gate, %up, %down activation = silu
          : (tensor<?x64xf32>, tensor<?x2xi32>, tensor<4x32x64xf32>, tensor<4x32x64xf32>, tensor<4x64x32xf32>) -> tensor<?x2x64xf32>
      return %y : tensor<?x2x64xf32>
    }
    ```
  }];
  let arguments = (ins Strata_Matrix:$input, Strata_Rows:$experts, Strata_WeightStack:$gate, Strata_WeightStack:$up,
                       Strata_WeightStack:$down, Strata_ActivationAttr:$activation);
  let results = (outs Strata_HeadMatrix:$result);
  let assemblyFormat = [{
    $input `,` $experts `,` $gate `,` $up `,` $down `activation` `=` $activation attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Strata_CombineExpertsOp : Strata_ComputeOp<"combine_experts"> {
  let summary = "add up the outputs of the chosen experts";
  let description = [{
    `result[n] = Σ_j weights[n, j] · outputs[n, j]`, j ascending: the sum of a `mixture_of_experts`.

    Constraints:
    - (combine_experts_c1) outputs is [tokens, k, features], weights is [tokens, k] and the result is [tokens, features].

    ```mlir
    func.func @combine(%y: tensor<?x2x64xf32>, %w: tensor<?x2xf32>) -> tensor<?x64xf32> {
      %z = strata.combine_experts %y, %w : (tensor<?x2x64xf32>, tensor<?x2xf32>) -> tensor<?x64xf32>
      return %z : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins Strata_HeadMatrix:$outputs, Strata_Matrix:$weights);
  let results = (outs Strata_Matrix:$result);
  let assemblyFormat = "$outputs `,` $weights attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // STRATA_DIALECTS_STRATA_STRATAFUSION_TD
