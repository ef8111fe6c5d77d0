//===- PrintCuts.cpp - What crosses a cut between two layers --------------===//
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Analysis/LayerCuts.h"
#include "strata/passes/Share/Passes.h"

namespace strata {
#define GEN_PASS_DEF_PRINTCUTS
#include "strata/passes/Share/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

namespace {

struct PrintCuts : strata::impl::PrintCutsBase<PrintCuts> {
  using PrintCutsBase::PrintCutsBase;

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kEntryPoint);
    if (!step || step.isExternal()) {
      getOperation().emitError() << "expected a function @step but there is none";
      return signalPassFailure();
    }
    AttentionLayers layers(step);
    SmallVector<LayerCut> cuts = findLayerCuts(step, layers);
    SmallVector<unsigned> safe{0}; // the first stage has nothing below it
    for (const LayerCut &cut : cuts) {
      llvm::errs() << "cut before layer " << cut.layer << ": activations "
                   << cut.getActivationBytesPerToken() << " bytes per token, rows "
                   << cut.getRowBytesPerToken() << " bytes per token";
      if (!cut.caches.empty())
        llvm::errs() << ", divides " << cut.caches.size() << " caches";
      llvm::errs() << "\n";
      if (cut.isSafe())
        safe.push_back(cut.layer);
    }
    llvm::errs() << "safe starts:";
    for (unsigned layer : safe)
      llvm::errs() << " " << layer;
    llvm::errs() << "\n";
    if (stages > 1) {
      llvm::errs() << stages << " stages: 0";
      for (unsigned layer : proposeStages(cuts, layers.getLayers().size(), stages))
        llvm::errs() << " " << layer;
      llvm::errs() << "\n";
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
