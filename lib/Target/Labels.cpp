//===- Labels.cpp - What commands are called in traces --------------------===//
#include "strata/lib/Target/Labels.h"

#include "strata/dialects/Strata/IR.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace strata;

/// "rms_norm" of "rms_norm_64_e1em5": the words up to the first that holds a digit.
static StringRef getKernelKind(StringRef kernel) {
  size_t end = 0;
  for (StringRef rest = kernel; !rest.empty();) {
    auto [word, tail] = rest.split('_');
    if (llvm::any_of(word, llvm::isDigit))
      break;
    end = size_t(word.end() - kernel.begin());
    rest = tail;
  }
  return end == 0 ? kernel : kernel.take_front(end);
}

/// The kinds of a kernel, or of those that it calls one after the other: "rms_norm + append".
static std::string getKernelKinds(Operation *command, SymbolRefAttr name) {
  std::string kinds;
  if (auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(command, name))
    kernel.walk([&](func::CallOp call) {
      kinds += (kinds.empty() ? "" : " + ") + getKernelKind(call.getCallee()).str();
    });
  return kinds.empty() ? getKernelKind(name.getLeafReference()).str() : kinds;
}

/// "q_a_proj" of "model.layers.3.self_attn.q_a_proj.weight".
static StringRef getWeightKind(Value weight) {
  auto op = weight.getDefiningOp<WeightOp>();
  StringRef name = op ? op.getName() : StringRef();
  name.consume_back(".weight");
  return name.substr(name.rfind('.') + 1); // all of it without a dot
}

/// "product q_proj + k_proj + v_proj".
static std::string getProductKind(ValueRange weights) {
  return "product " + llvm::join(llvm::map_range(weights, getWeightKind), " + ");
}

std::string strata::getCommandLabel(Operation *command) {
  std::string kind = llvm::TypeSwitch<Operation *, std::string>(command)
                         .Case<LaunchOp, LaunchHeadAttentionOp, LaunchPartialScoresOp>(
                             [](auto op) { return getKernelKinds(op, op.getKernel()); })
                         .Case([](LaunchProductOp op) { return getProductKind(op.getWeights()); })
                         .Case([](LaunchGatedProductOp op) {
                           return getProductKind(ValueRange{op.getGate(), op.getUp()});
                         })
                         .Case([](LaunchGroupedProductOp op) {
                           return op.getUp() ? getProductKind({op.getWeight(), op.getUp()})
                                             : getProductKind(op.getWeight());
                         })
                         .Case([](LaunchReloadOp op) {
                           return "reload " + (op.getWeight() ? getWeightKind(op.getWeight()).str()
                                                              : std::string("pages"));
                         })
                         .Default([](Operation *op) {
                           StringRef name = op->getName().stripDialect();
                           name.consume_front("launch_");
                           return name.str();
                         });
  if (auto layer = command->getAttrOfType<IntegerAttr>("strata.layer"))
    return "layer " + std::to_string(layer.getInt()) + " " + kind;
  return kind;
}
