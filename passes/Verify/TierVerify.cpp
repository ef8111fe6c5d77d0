//===- TierVerify.cpp - Is a movement of data free of races? --------------===//
#include "strata/passes/Verify/Passes.h"
#include "strata/passes/Verify/TierCapacity.h"
#include "strata/passes/Verify/TierFlow.h"

namespace strata {
#define GEN_PASS_DEF_TIERVERIFY
#include "strata/passes/Verify/Passes.h.inc"
} // namespace strata

using namespace mlir;

namespace {

struct TierVerify : strata::impl::TierVerifyBase<TierVerify> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && (failed(strata::tier::TierFlow(function).run()) ||
                                     failed(strata::tier::checkCapacity(module, function))))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
