//===- PlanArena.cpp - Slots for buffers ----------------------------------===//
#include "strata/dialects/Strata/IR.h"
#include "strata/passes/Lower/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace strata {
#define GEN_PASS_DEF_PLANARENA
#include "strata/passes/Lower/Passes.h.inc"
} // namespace strata

using namespace mlir;

namespace {

/// Bytes of a buffer, or of a slot, as a linear function of the step's sizes.
struct Bytes {
  int64_t tokens = 0, wanted = 0, fixed = 0;

  explicit Bytes(strata::BufferOp buffer) {
    auto type = cast<MemRefType>(buffer.getBuffer().getType());
    int64_t rowBytes = type.getElementTypeBitWidth() / 8;
    for (int64_t size : type.getShape().drop_front())
      rowBytes *= size;
    strata::SizeAttr rows = buffer.getRows();
    tokens = rows.getTokens() * rowBytes;
    wanted = rows.getWanted() * rowBytes;
    fixed = rows.getFixed() * rowBytes;
  }

  /// By how much this slot grows when it must also hold `other`. Bytes per token count as one
  /// another's equal.
  int64_t growthFor(const Bytes &other) const {
    auto more = [](int64_t have, int64_t need) { return std::max<int64_t>(need - have, 0); };
    return more(tokens, other.tokens) + more(wanted, other.wanted) + more(fixed, other.fixed);
  }
  int64_t total() const { return tokens + wanted + fixed; }
  void grow(const Bytes &other) {
    tokens = std::max(tokens, other.tokens);
    wanted = std::max(wanted, other.wanted);
    fixed = std::max(fixed, other.fixed);
  }
};

/// The commands, by number, between which a buffer holds something.
struct Lifetime {
  strata::BufferOp buffer;
  int64_t first, last;
};

struct PlanArena : strata::impl::PlanArenaBase<PlanArena> {
  using PlanArenaBase::PlanArenaBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        plan(function.getBody().front());
  }

  static void plan(Block &body) {
    SmallVector<Lifetime> lifetimes = findLifetimes(body);
    llvm::sort(lifetimes, [](Lifetime a, Lifetime b) {
      return a.first != b.first ? a.first < b.first : a.buffer->isBeforeInBlock(b.buffer);
    });

    struct Slot {
      Bytes bytes;
      int64_t busyUntil;
    };
    SmallVector<Slot> slots;
    for (Lifetime &lifetime : lifetimes) {
      Bytes need(lifetime.buffer);
      Slot *best = nullptr;
      for (Slot &slot : slots) {
        if (slot.busyUntil >= lifetime.first)
          continue;
        // Less growth first; of equal ones the smaller slot, so that large ones stay for large
        // buffers.
        if (!best || std::pair(slot.bytes.growthFor(need), slot.bytes.total()) <
                         std::pair(best->bytes.growthFor(need), best->bytes.total()))
          best = &slot;
      }
      // A new slot costs as much as the buffer; growing one costs less, if anything of it is
      // reused.
      if (!best || best->bytes.growthFor(need) >= need.total()) {
        slots.push_back({need, lifetime.last});
        best = &slots.back();
      } else {
        best->bytes.grow(need);
        best->busyUntil = lifetime.last;
      }
      lifetime.buffer.setSlot(best - slots.data());
    }
  }

  static SmallVector<Lifetime> findLifetimes(Block &body) {
    DenseMap<Operation *, int64_t> numbers;
    for (Operation &op : body)
      numbers[&op] = int64_t(numbers.size());
    SmallVector<Lifetime> lifetimes;
    for (auto buffer : llvm::make_early_inc_range(body.getOps<strata::BufferOp>())) {
      int64_t first = std::numeric_limits<int64_t>::max(), last = -1;
      SmallVector<Value> views{buffer.getBuffer()};
      while (!views.empty())
        for (Operation *user : views.pop_back_val().getUsers()) {
          if (auto view = dyn_cast<strata::ViewOp>(user)) {
            views.push_back(view.getResult());
            continue;
          }
          first = std::min(first, numbers[user]);
          last = std::max(last, numbers[user]);
        }
      if (last < 0)
        buffer.setSlot(0); // nothing uses it: any slot will do
      else
        lifetimes.push_back({buffer, first, last});
    }
    return lifetimes;
  }
};

} // namespace
