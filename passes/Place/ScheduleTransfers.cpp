//===- ScheduleTransfers.cpp - Start early, wait late ---------------------===//
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/dialects/Tier/IR.h"
#include "strata/passes/Place/Passes.h"
#include "strata/passes/Place/PlaceRemarks.h"
#include "strata/passes/Place/PredictedTimes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace strata {
#define GEN_PASS_DEF_SCHEDULETRANSFERS
#include "strata/passes/Place/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

namespace {

/// A reload that may start anywhere between two ops.
struct MovableReload {
  tier::ReloadOp op;
  int64_t ready = 0;    ///< number of the op behind which its operands are known
  int64_t deadline = 0; ///< number of its wait
  bool isStarted = false;
};

/// An engine of the machine, and what it has done so far in the predicted step.
struct EngineState {
  double bandwidth = 0, operationSeconds = 0;
  double freeAt = 0, busySeconds = 0, exposedSeconds = 0;
  SmallVector<MovableReload *> waiting;

  double getSeconds(Operation *transfer) const {
    auto bytes = transfer->getAttrOfType<IntegerAttr>("tier.bytes");
    // A gather that is expected to bring nothing is not started.
    if (bytes && bytes.getInt() == 0)
      return 0;
    double seconds = operationSeconds;
    if (bytes && bandwidth > 0)
      seconds += double(bytes.getInt()) / bandwidth;
    return seconds;
  }
};

/// Walks through the step once, in order.
class Scheduler {
public:
  Scheduler(ModuleOp module, func::FuncOp step);
  void run();
  void remark();

private:
  void collect();
  /// Starts reloads in front of op `number`, at time `now`.
  void startReloads(int64_t number, Operation *before);
  void start(EngineState &engine, Operation *transfer);

  func::FuncOp step;
  PredictedTimes times;
  std::map<std::string, EngineState> engines;
  std::vector<std::unique_ptr<MovableReload>> reloads;
  SmallVector<Operation *> ops;         ///< that stay where they are
  DenseMap<Operation *, double> doneAt; ///< of started transfers
  double now = 0;
};

} // namespace

Scheduler::Scheduler(ModuleOp module, func::FuncOp step) : step(step), times(module) {
  if (auto described = module->getAttrOfType<ArrayAttr>("tier.engines"))
    for (auto engine : described.getAsRange<DictionaryAttr>()) {
      EngineState &state = engines[engine.getAs<StringAttr>("name").str()];
      state.bandwidth = engine.getAs<FloatAttr>("bandwidth").getValueAsDouble();
      state.operationSeconds = engine.getAs<FloatAttr>("operation_seconds").getValueAsDouble();
    }
}

void Scheduler::collect() {
  DenseMap<Operation *, int64_t> numbers;
  for (Operation &op : step.getBody().front()) {
    if (isa<tier::ReloadOp>(op))
      continue;
    numbers[&op] = int64_t(ops.size());
    ops.push_back(&op);
  }
  for (auto op : step.getBody().front().getOps<tier::ReloadOp>()) {
    auto reload = std::make_unique<MovableReload>();
    reload->op = op;
    for (Value operand : op->getOperands())
      if (Operation *definition = operand.getDefiningOp())
        reload->ready = std::max(reload->ready, numbers.lookup(definition) + 1);
    reload->deadline = int64_t(ops.size());
    for (Operation *user : op.getPending().getUsers())
      reload->deadline = std::min(reload->deadline, numbers.lookup(user));
    engines[op.getEngine().str()].waiting.push_back(reload.get());
    reloads.push_back(std::move(reload));
  }
  for (auto &[name, engine] : engines)
    llvm::sort(engine.waiting, [](MovableReload *a, MovableReload *b) {
      return a->deadline != b->deadline ? a->deadline < b->deadline : a->op->isBeforeInBlock(b->op);
    });
}

void Scheduler::start(EngineState &engine, Operation *transfer) {
  double seconds = engine.getSeconds(transfer);
  engine.busySeconds += seconds;
  engine.freeAt = std::max(engine.freeAt, now) + seconds;
  doneAt[transfer] = engine.freeAt;
}

void Scheduler::startReloads(int64_t number, Operation *before) {
  for (auto &[name, engine] : engines)
    for (MovableReload *reload : engine.waiting) {
      if (reload->isStarted || reload->ready > number)
        continue;
      // Later ones stay behind while the engine is busy: an earlier deadline may turn up.
      if (reload->deadline > number && engine.freeAt > now)
        continue;
      reload->op->moveBefore(before);
      reload->isStarted = true;
      start(engine, reload->op);
    }
}

void Scheduler::run() {
  collect();
  for (auto [number, op] : llvm::enumerate(ops)) {
    startReloads(int64_t(number), op);
    if (auto wait = dyn_cast<tier::WaitOp>(op)) {
      Operation *transfer = wait.getPending().getDefiningOp();
      double done = transfer ? doneAt.lookup(transfer) : 0;
      if (done > now) {
        if (auto engine = transfer->getAttrOfType<StringAttr>("engine"))
          engines[engine.str()].exposedSeconds += done - now;
        now = done;
      }
    } else if (auto engine = op->getAttrOfType<StringAttr>("engine")) {
      start(engines[engine.str()], op);
    }
    now += times.getSeconds(op);
  }
}

void Scheduler::remark() {
  for (auto &[name, engine] : engines)
    if (engine.busySeconds > 0)
      remark::analysis(step.getLoc(), remark::RemarkOpts::name("Engine").category(kPlaceCategory))
          << llvm::formatv("engine {0}: transfers of {1:F3} ms, of which {2:F1} % are hidden", name,
                           1e3 * engine.busySeconds,
                           100 * (1 - std::min(1.0, engine.exposedSeconds / engine.busySeconds)))
                 .str();
}

namespace {

struct ScheduleTransfers : strata::impl::ScheduleTransfersBase<ScheduleTransfers> {
  using ScheduleTransfersBase::ScheduleTransfersBase;

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kEntryPoint);
    if (!step || step.isExternal() || !step.getBody().hasOneBlock()) {
      getOperation().emitError() << "expected a function @step with one block but there is none";
      return signalPassFailure();
    }
    Scheduler scheduler(getOperation(), step);
    scheduler.run();
    scheduler.remark();
  }
};

} // namespace
