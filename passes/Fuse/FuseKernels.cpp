//===- FuseKernels.cpp - Which ops run in one launch ----------------------===//
#include "strata/dialects/Strata/IR.h"
#include "strata/passes/Fuse/FusionCandidates.h"
#include "strata/passes/Fuse/KernelGroups.h"
#include "strata/passes/Fuse/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace strata {
#define GEN_PASS_DEF_FUSEKERNELS
#include "strata/passes/Fuse/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

static constexpr llvm::StringLiteral kCategory = "strata-fuse";

/// "rms_norm, rope, append": the ops of a kernel without those that only shape.
static std::string listOps(ArrayRef<Operation *> ops) {
  std::string text;
  for (Operation *op : ops)
    if (!KernelOp::isView(op))
      text += (text.empty() ? "" : ", ") + op->getName().stripDialect().str();
  return text;
}

static void remarkMissed(const FusionCandidate &candidate, const Twine &reason) {
  remark::missed(candidate.ops.front()->getLoc(),
                 remark::RemarkOpts::name("FuseKernels").category(kCategory))
      << ("not fused: " + listOps(candidate.ops) + ": " + reason).str()
      << remark::metric("SavedBytes", int64_t(candidate.savedBytes));
}

namespace {

struct FuseKernels : strata::impl::FuseKernelsBase<FuseKernels> {
  using FuseKernelsBase::FuseKernelsBase;

  void runOnOperation() override {
    if (tokens < 1 || onChipBytes < 0) {
      getOperation().emitError()
          << "expected tokens of at least 1 and on-chip-bytes of at least 0 but got "
          << tokens.getValue() << " and " << onChipBytes.getValue();
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && function.getBody().hasOneBlock())
        fuse(function.getBody().front());
  }

private:
  void fuse(Block &block) {
    SmallVector<FusionCandidate> candidates = findFusionCandidates(block, tokens);
    // The greatest saving first; of equal ones the one that stands first.
    std::vector<FusionCandidate *> order;
    for (FusionCandidate &candidate : candidates)
      order.push_back(&candidate);
    llvm::sort(order, [](FusionCandidate *a, FusionCandidate *b) {
      return a->savedBytes != b->savedBytes ? a->savedBytes > b->savedBytes : a < b;
    });
    KernelGroups groups(block);
    llvm::DenseMap<Operation *, double>
        saved; // by the first op of a candidate; summed when kernels are formed
    for (FusionCandidate *candidate : order)
      if (take(groups, *candidate))
        saved[candidate->ops.front()] += candidate->savedBytes;
    for (KernelOp kernel : groups.formKernels()) {
      double bytes = 0;
      SmallVector<Operation *> ops;
      for (Operation &op : kernel.getBody().front().without_terminator()) {
        ops.push_back(&op);
        bytes += saved.lookup(&op);
      }
      remark::passed(kernel.getLoc(), remark::RemarkOpts::name("FuseKernels").category(kCategory))
          << ("fused: " + listOps(ops)) << remark::metric("SavedBytes", int64_t(bytes));
    }
  }

  bool take(KernelGroups &groups, const FusionCandidate &candidate) {
    SmallVector<Operation *> together;
    for (Operation *op : candidate.ops)
      for (Operation *member : groups.getMembers(op))
        if (!llvm::is_contained(together, member))
          together.push_back(member);
    if (candidate.kind == KernelKind::Products && !isProductKernel(together)) {
      remarkMissed(candidate, "a kernel has several products or one product and a residual");
      return false;
    }
    if (double bytes = countKeptBytes(together); bytes > double(onChipBytes)) {
      remarkMissed(candidate, "it would keep " + Twine(int64_t(bytes)) + " bytes for a row");
      return false;
    }
    for (Operation *op : candidate.ops)
      if (std::optional<KernelKind> kind = groups.getKind(op); kind && *kind != candidate.kind) {
        remarkMissed(candidate,
                     Twine(op->getName().stripDialect()) + " saves more in another kernel");
        return false;
      }
    if (failed(groups.merge(candidate.ops, candidate.kind))) {
      remarkMissed(candidate, "a value would leave the kernel and come back");
      return false;
    }
    return true;
  }

  /// Several products of one input, or one product and one sum.
  static bool isProductKernel(ArrayRef<Operation *> ops) {
    size_t sums = llvm::count_if(ops, llvm::IsaPred<arith::AddFOp>);
    return sums == 0 || (sums == 1 && ops.size() == 2);
  }

  /// Bytes that a kernel keeps for a row: values that only it uses.
  static double countKeptBytes(ArrayRef<Operation *> ops) {
    double bytes = 0;
    for (Operation *op : ops)
      for (Value result : op->getResults())
        if (!KernelOp::isView(op) && isa<RankedTensorType>(result.getType()) &&
            llvm::all_of(result.getUsers(),
                         [&](Operation *user) { return llvm::is_contained(ops, user); }))
          bytes += getRowBytes(result);
    return bytes;
  }
};

} // namespace
