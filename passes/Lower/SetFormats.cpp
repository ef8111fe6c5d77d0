//===- SetFormats.cpp - Number formats and page size ----------------------===//
#include "strata/dialects/Strata/IR.h"
#include "strata/passes/Lower/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"

namespace strata {
#define GEN_PASS_DEF_SETFORMATS
#include "strata/passes/Lower/Passes.h.inc"
} // namespace strata

using namespace mlir;

namespace {

struct SetFormats : strata::impl::SetFormatsBase<SetFormats> {
  using SetFormatsBase::SetFormatsBase;

  void runOnOperation() override {
    // Strides and slots were chosen for the formats that it has.
    if (getOperation()->hasAttr("tier.machine"))
      return;
    Type computeType = getFormat("compute", compute), cacheType = getFormat("cache", cache);
    if (!computeType || !cacheType)
      return signalPassFailure();
    if (pageSize < 1) {
      getOperation().emitError() << "expected a page-size of at least 1 but got "
                                 << pageSize.getValue();
      return signalPassFailure();
    }
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](strata::CacheType type) -> Type {
      return type.withElementType(cacheType).withPageSize(pageSize);
    });
    replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    getOperation()->setAttr("strata.compute", TypeAttr::get(computeType));
  }

  /// The type of an option's word; null, with an error, for another word.
  Type getFormat(StringRef option, StringRef word) {
    if (word == "f32")
      return Float32Type::get(&getContext());
    if (word == "bf16")
      return BFloat16Type::get(&getContext());
    getOperation().emitError() << "expected " << option << " to be f32 or bf16 but got " << word;
    return {};
  }
};

} // namespace
