//===- TierWeights.cpp - Weights that come through slots ------------------===//
#include "strata/passes/Place/TierWriter.h"

using namespace mlir;
using namespace strata;

void TierWriter::writeWeights() {
  SmallVector<Value> slots;
  for (uint64_t bytes : decisions.weightSlots.bytes)
    slots.push_back(makeSlot(bytes));
  struct Read {
    Operation *command;
    unsigned weight;
  };
  SmallVector<Read> reads;
  DenseMap<unsigned, Value> homes;
  for (unsigned number : llvm::reverse(decisions.streamed)) {
    StepWeight &weight = model.weights[number];
    // Nothing comes before them, so transfers can start as early as their slots allow.
    weight.op->moveBefore(&block, block.begin());
    builder.setInsertionPointAfter(weight.op);
    Type type = tier::AtType::get(step.getContext(), farSpace, weight.op.getType());
    homes[number] = tier::HomeOp::create(builder, weight.op.getLoc(), type, weight.op);
    // Kernels may have been cut in two since the step was looked at.
    SmallVector<Operation *> commands;
    for (OpOperand *use : weight.uses)
      if (Operation *command = block.findAncestorOpInBlock(*use->getOwner());
          !llvm::is_contained(commands, command))
        commands.push_back(command);
    for (Operation *command : commands)
      reads.push_back({command, number});
  }
  llvm::sort(reads, [](const Read &a, const Read &b) {
    return a.command == b.command ? a.weight < b.weight : a.command->isBeforeInBlock(b.command);
  });
  for (const Read &read : reads) {
    StepWeight &weight = model.weights[read.weight];
    Value &slot = slots[decisions.weightSlots.slotOf.lookup(read.weight)];
    Location location = weight.op.getLoc();
    builder.setInsertionPoint(read.command);
    auto reload = tier::ReloadOp::create(
        builder, location, tier::PendingType::get(step.getContext(), weight.op.getType()),
        homes.lookup(read.weight), slot, getEngine(index.ofWeight(read.weight)));
    annotate(reload, double(problem.buffers[index.ofWeight(read.weight)].bytes));
    Value value = tier::WaitOp::create(builder, location, reload.getPending());
    for (OpOperand *use : weight.uses)
      if (read.command->isAncestor(use->getOwner()))
        use->set(value);
    builder.setInsertionPointAfter(read.command);
    slot = tier::ReleaseOp::create(builder, location, slot.getType(), value);
  }
}

/// Homes, tables and hot sets are results, in the order of the arguments.
void TierWriter::finishSignature() {
  Operation *end = block.getTerminator();
  unsigned result = 1 + unsigned(model.caches.size());
  auto insert = [&](Value value) { end->insertOperands(result++, value); };
  for (auto [number, group] : llvm::enumerate(model.groups))
    if (tables[number])
      insert(tables[number]);
  for (auto [number, group] : llvm::enumerate(model.groups))
    if (tables[number])
      for (unsigned cache : group.caches)
        insert(hotSets[cache]);
  step.setFunctionType(
      FunctionType::get(step.getContext(), block.getArgumentTypes(), end->getOperandTypes()));
}
