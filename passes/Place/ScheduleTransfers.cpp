//===- ScheduleTransfers.cpp - Start early, wait late ---------------------===//
#include "strata/passes/Place/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace strata {
#define GEN_PASS_DEF_SCHEDULETRANSFERS
#include "strata/passes/Place/Passes.h.inc"
} // namespace strata

namespace {

struct ScheduleTransfers : strata::impl::ScheduleTransfersBase<ScheduleTransfers> {
  using ScheduleTransfersBase::ScheduleTransfersBase;

  void runOnOperation() override {}
};

} // namespace
