//===- ShareIndex.cpp - One indexer for several layers --------------------===//
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Analysis/AttentionLayers.h"
#include "strata/passes/Share/HoistIndexers.h"
#include "strata/passes/Share/Passes.h"
#include "strata/passes/Share/RemoveIndexer.h"
#include "strata/passes/Share/Schedule.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/Remarks.h"

namespace strata {
#define GEN_PASS_DEF_SHAREINDEX
#include "strata/passes/Share/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

static constexpr StringLiteral kSharing = "sharing";

static remark::RemarkOpts shareRemark() {
  return remark::RemarkOpts::name("ShareIndex").category("strata-share");
}

namespace {

/// Carries out one schedule on a step.
class Sharing {
public:
  explicit Sharing(func::FuncOp step) : step(step), dominance(step), layers(step) {}

  const AttentionLayers &getLayers() const { return layers; }
  const AttentionLayer &getSparse(unsigned number) const {
    return layers[layers.getSparseLayers()[number]];
  }
  /// The schedule that the module has.
  Leaders getDeclared() const {
    Leaders leaders;
    for (unsigned number : layers.getSparseLayers())
      leaders.push_back(*layers[layers[number].owner].sparse);
    return leaders;
  }
  /// Each leader must have an indexer.
  LogicalResult checkLeaders(const Leaders &leaders, StringRef schedule);
  void run(const Leaders &leaders);

private:
  /// Why a layer can't use the rows of another; nothing if it can.
  std::optional<std::string> findObstacle(const AttentionLayer &leader,
                                          const AttentionLayer &follower) const;

  func::FuncOp step;
  DominanceInfo dominance;
  AttentionLayers layers;
};

} // namespace

static SelectOp getSelect(const AttentionLayer &layer) {
  return layer.rows.getDefiningOp<SelectOp>();
}

LogicalResult Sharing::checkLeaders(const Leaders &leaders, StringRef schedule) {
  for (unsigned number = 0; number < leaders.size(); ++number) {
    const AttentionLayer &layer = getSparse(number);
    if (leaders[number] != number || (layer.owner == layer.number && getSelect(layer)))
      continue;
    InFlightDiagnostic error = step.emitError()
                               << "schedule '" << schedule << "' lets " << describeLayer(layer)
                               << " lead, but its indexer is not in the module: it uses rows ";
    if (layer.owner != layer.number)
      error << "of " << describeLayer(layers[layer.owner]);
    else
      error << "that no strata.select makes";
    error.attachNote(layer.getOp().getLoc()) << "the layer's attention";
    return error;
  }
  return success();
}

std::optional<std::string> Sharing::findObstacle(const AttentionLayer &leader,
                                                 const AttentionLayer &follower) const {
  SelectOp select = getSelect(leader);
  AttentionOp attention = follower.op;
  if (follower.hasSeveralRows)
    return "it attends to the rows of several indexers";
  if (attention.getBatch() != select.getBatch())
    return "they work on different batches";
  int64_t wanted = cast<ShapedType>(follower.rows.getType()).getDimSize(1);
  if (wanted != int64_t(select.getK()))
    return "it selects " + std::to_string(wanted) + " rows, the leader " +
           std::to_string(int64_t(select.getK()));

  // Positions mean the same where both caches get the records of the same batch.
  Value keys;
  for (const AttentionOp::Source &source : attention.getSources())
    if (source.rows)
      keys = source.cache;
  AppendOp own = findAppend(keys), other = findAppend(select.getCache());
  if (!own != !other || (own && own.getBatch() != other.getBatch()))
    return "its tokens see other keys than the leader's indexer: the caches were not appended to "
           "with the same batch";
  int64_t ownPage = cast<CacheType>(keys.getType()).getPageSize(),
          otherPage = select.getCache().getType().getPageSize();
  if (ownPage != otherPage)
    return "its cache has pages of " + std::to_string(ownPage) + " tokens, the leader's of " +
           std::to_string(otherPage);

  if (!layers.isBelow(leader.number, follower.number))
    return "the leader is not below it in the residual stream";
  if (!dominance.properlyDominates(select.getOperation(), attention.getOperation()))
    return "the leader's indexer does not dominate it";
  return std::nullopt;
}

void Sharing::run(const Leaders &leaders) {
  struct Shared {
    unsigned leader, follower;
    SelectOp ownIndexer; ///< null if it used another layer's rows already
  };
  SmallVector<Shared> shared;
  for (unsigned number = 0; number < leaders.size(); ++number) {
    const AttentionLayer &leader = getSparse(leaders[number]), &follower = getSparse(number);
    if (leader.rows == follower.rows)
      continue;
    if (std::optional<std::string> obstacle = findObstacle(leader, follower)) {
      remark::missed(follower.getOp().getLoc(), shareRemark())
          << remark::reason("{0} keeps its rows instead of those of {1}: {2}",
                            describeLayer(follower), describeLayer(leader), *obstacle);
      continue;
    }
    shared.push_back({leader.number, follower.number,
                      follower.owner == follower.number ? getSelect(follower) : SelectOp()});
  }
  // All at once: an indexer is without users only when its whole group has moved.
  for (const Shared &share : shared)
    layers[share.follower].getOp().getRowsMutable()[0].set(layers[share.leader].rows);
  for (const Shared &share : shared) {
    const AttentionLayer &follower = layers[share.follower];
    Savings savings;
    if (share.ownIndexer && share.ownIndexer->use_empty())
      savings = removeIndexer(step, share.ownIndexer);
    remark::passed(follower.getOp().getLoc(), shareRemark())
        << remark::reason("{0} uses the rows of {1}", describeLayer(follower),
                          describeLayer(layers[share.leader]))
        << remark::metric("FlopsPerToken", int64_t(savings.flops))
        << remark::metric("FlopsPerTokenAndKey", int64_t(savings.flopsPerKey))
        << remark::metric("BytesPerTokenAndKey", int64_t(savings.bytesPerKey))
        << remark::metric("WeightBytes", int64_t(savings.weightBytes))
        << remark::metric("CacheBytesPerToken", savings.cacheBytes);
  }
}

namespace {

struct ShareIndex : strata::impl::ShareIndexBase<ShareIndex> {
  using ShareIndexBase::ShareIndexBase;

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kEntryPoint);
    if (!step || step.isExternal() || !step.getBody().hasOneBlock()) {
      getOperation().emitError() << "expected a function @step with one block but there is none";
      return signalPassFailure();
    }
    if (failed(checkAllowed()) || (schedule != "declared" && failed(share(step))))
      return signalPassFailure();
    hoistIndexers(step.getBody().front());
  }

private:
  LogicalResult checkAllowed() {
    for (StringRef name : allowApproximate)
      if (name != kSharing)
        return getOperation().emitError()
               << "allow-approximate: expected " << kSharing << " but got '" << name << "'";
    return success();
  }

  LogicalResult share(func::FuncOp step) {
    Sharing sharing(step);
    Expected<Leaders> leaders =
        parseSchedule(schedule, sharing.getLayers().getSparseLayers().size());
    if (!leaders.ok())
      return step.emitError() << leaders.status().message();
    if (failed(sharing.checkLeaders(*leaders, schedule)))
      return failure();
    Leaders declared = sharing.getDeclared();
    if (*leaders == declared)
      return success();
    if (!llvm::is_contained(allowApproximate, kSharing)) {
      size_t first = std::mismatch(leaders->begin(), leaders->end(), declared.begin()).first -
                     leaders->begin();
      const AttentionLayer &layer = sharing.getSparse(first);
      InFlightDiagnostic error =
          step.emitError() << "schedule '" << schedule
                           << "' changes what the model computes: " << describeLayer(layer)
                           << " would use the rows of "
                           << describeLayer(sharing.getSparse((*leaders)[first])) << " instead of "
                           << (declared[first] == first
                                   ? "its own"
                                   : "those of " +
                                         describeLayer(sharing.getSparse(declared[first])))
                           << "; allow-approximate=" << kSharing << " allows it";
      error.attachNote(layer.getOp().getLoc()) << "the layer's attention";
      return error;
    }
    sharing.run(*leaders);
    getOperation()->setAttr(kApproximateAttr, Builder(&getContext()).getStrArrayAttr({kSharing}));
    return success();
  }
};

} // namespace
