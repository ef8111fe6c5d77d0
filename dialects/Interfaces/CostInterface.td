//===- CostInterface.td - What an op costs in a step -------*- tablegen -*-===//
#ifndef STRATA_DIALECTS_INTERFACES_COSTINTERFACE_TD
#define STRATA_DIALECTS_INTERFACES_COSTINTERFACE_TD

include "mlir/IR/OpBase.td"

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::strata";
  let description = [{
    An op that says what it costs as a formula in a step's sizes: floating-point operations (one multiply-add is two) and
    bytes moved, apart by what they belong to. Bytes are those that a kernel without reuse across ops must move: each
    operand once, each result once; a selected or visible cache record once per token.
  }];
  let methods = [
    InterfaceMethod<"The cost of one execution in a step of the given sizes.",
                    "::strata::Cost", "getCost", (ins "const ::strata::StepSizes &":$sizes)>,
    InterfaceMethod<"What most of the op's work is for; reports add up costs by it.",
                    "::strata::CostKind", "getCostKind", (ins), "", "return ::strata::CostKind::Linear;">
  ];
}

#endif // STRATA_DIALECTS_INTERFACES_COSTINTERFACE_TD
