//===- ArenaBytes.cpp - What a step's activations need --------------------===//
#include "strata/passes/Place/ArenaBytes.h"

#include "strata/dialects/Strata/IR.h"
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/passes/Lower/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace strata;

/// The runtime lets slots begin at multiples of this.
static constexpr uint64_t kSlotAlignment = 64;

FailureOr<uint64_t> strata::computeArenaBytes(ModuleOp module, int64_t tokens, int64_t wanted) {
  OwningOpRef<ModuleOp> lowered = module.clone();
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.addPass(createLowerToCommands());
  manager.addPass(createPlanArena());
  if (failed(manager.run(*lowered)))
    return failure();

  // A slot is as large as the largest of its buffers, each number by itself.
  std::map<uint64_t, SmallVector<int64_t, 3>> slots;
  for (auto buffer : lowered->lookupSymbol<func::FuncOp>(kEntryPoint).getOps<BufferOp>()) {
    auto type = cast<MemRefType>(buffer.getBuffer().getType());
    int64_t rowBytes = type.getElementTypeBitWidth() / 8;
    for (int64_t size : type.getShape().drop_front())
      rowBytes *= size;
    SizeAttr rows = buffer.getRows();
    SmallVector<int64_t, 3> &slot =
        slots.try_emplace(*buffer.getSlot(), SmallVector<int64_t, 3>{0, 0, 0}).first->second;
    slot[0] = std::max(slot[0], rows.getTokens() * rowBytes);
    slot[1] = std::max(slot[1], rows.getWanted() * rowBytes);
    slot[2] = std::max(slot[2], rows.getFixed() * rowBytes);
  }
  uint64_t bytes = 0;
  for (const auto &[number, slot] : slots)
    bytes += llvm::alignTo(uint64_t(slot[0] * tokens + slot[1] * wanted + slot[2]), kSlotAlignment);
  return bytes;
}
