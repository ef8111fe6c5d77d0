//===- SplitAttention.cpp - May attention be cut in two? ------------------===//
#include "strata/passes/Place/SplitAttention.h"

#include "strata/dialects/Strata/ModelAttributes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace strata;

static constexpr StringLiteral kSplitRounding = "split-rounding";

LogicalResult strata::checkSplitAttention(ModuleOp module, bool isSplit,
                                          ArrayRef<std::string> allowed) {
  for (StringRef name : allowed)
    if (name != kSplitRounding)
      return module.emitError() << "allow-approximate: expected " << kSplitRounding << " but got '"
                                << name << "'";
  if (isSplit && allowed.empty())
    return module.emitError() << "split-attention changes rounding, by what lies in near memory "
                                 "when a token is computed; allow-approximate="
                              << kSplitRounding << " allows it";
  return success();
}

void strata::noteSplitAttention(ModuleOp module, Operation *op) {
  Builder builder(module.getContext());
  SmallVector<StringRef> names;
  if (auto noted = module->getAttrOfType<ArrayAttr>(kApproximateAttr))
    llvm::append_range(names, noted.getAsValueRange<StringAttr>());
  if (!llvm::is_contained(names, kSplitRounding)) {
    names.push_back(kSplitRounding);
    module->setAttr(kApproximateAttr, builder.getStrArrayAttr(names));
  }
  remark::passed(op->getLoc(), remark::RemarkOpts::name("SplitAttention").category("strata-place"))
      << remark::reason(
             "attention to hits and to misses are added up apart: this changes rounding");
}
