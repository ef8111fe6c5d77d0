//===- RowsInAndOut.cpp - Rows as results and as arguments ----------------===//
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/passes/Share/Passes.h"
#include "strata/passes/Share/RemoveIndexer.h"

namespace strata {
#define GEN_PASS_DEF_EXPORTROWS
#define GEN_PASS_DEF_IMPORTROWS
#include "strata/passes/Share/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

/// The step and its indexers, if it has any.
static FailureOr<func::FuncOp> findStep(ModuleOp module, SmallVectorImpl<SelectOp> &selects) {
  auto step = module.lookupSymbol<func::FuncOp>(kEntryPoint);
  if (!step || step.isExternal() || !step.getBody().hasOneBlock())
    return module.emitError() << "expected a function @step with one block but there is none";
  llvm::append_range(selects, step.getOps<SelectOp>());
  if (selects.empty())
    return step.emitError() << "expected an indexer, whose rows could go in or out, but the module "
                               "has none";
  return step;
}

namespace {

struct ExportRows : strata::impl::ExportRowsBase<ExportRows> {
  using ExportRowsBase::ExportRowsBase;

  void runOnOperation() override {
    SmallVector<SelectOp> selects;
    FailureOr<func::FuncOp> step = findStep(getOperation(), selects);
    if (failed(step))
      return signalPassFailure();
    Operation *result = step->getBody().front().getTerminator();
    for (SelectOp select : selects) {
      if (failed(step->insertResult(step->getNumResults(), select.getType(), {})))
        return signalPassFailure();
      result->insertOperands(result->getNumOperands(), select.getRows());
    }
  }
};

struct ImportRows : strata::impl::ImportRowsBase<ImportRows> {
  using ImportRowsBase::ImportRowsBase;

  void runOnOperation() override {
    SmallVector<SelectOp> selects;
    FailureOr<func::FuncOp> step = findStep(getOperation(), selects);
    if (failed(step))
      return signalPassFailure();
    Builder builder(&getContext());
    for (auto [number, select] : llvm::enumerate(selects)) {
      unsigned argument = step->getNumArguments();
      auto name = builder.getNamedAttr(kCacheNameAttr,
                                       builder.getStringAttr("rows " + llvm::Twine(number)));
      if (failed(step->insertArgument(argument, select.getType(), builder.getDictionaryAttr(name),
                                      select.getLoc())))
        return signalPassFailure();
      select.getRows().replaceAllUsesWith(step->getArgument(argument));
      removeIndexer(*step, select);
    }
  }
};

} // namespace
