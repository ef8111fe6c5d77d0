//===- Workspace.cpp - What a lowered step launches and needs -------------===//
#include "strata/lib/Report/Workspace.h"

#include "strata/dialects/Strata/IR.h"
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Target/ManifestBuilder.h"
#include "strata/runtime/core/Package.h"
#include "strata/runtime/cpu/Scratch.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace strata;

static uint64_t getProductScratchBytes(const package::Product *product) {
  uint64_t bytes = 0;
  if (product)
    for (const package::ProductPart *part : *product->parts())
      bytes = std::max(bytes, rt::productScratchBytes(product->inputs(), part->outputs(),
                                                      product->transposed()));
  return bytes;
}

/// Bytes of each thread's scratch for the products of a command; 0 for one without.
static uint64_t getProductScratchBytes(const package::CommandEntry &entry) {
  if (const package::HeadAttention *heads = entry.command_as_HeadAttention())
    return std::max(getProductScratchBytes(heads->absorb()),
                    getProductScratchBytes(heads->expand()));
  if (const package::PartialScores *partial = entry.command_as_PartialScores())
    return getProductScratchBytes(partial->absorb());
  // A gated product needs the room of both of its products.
  if (const package::GatedProduct *product = entry.command_as_GatedProduct())
    return 2 * rt::productScratchBytes(product->inputs(), product->outputs(), /*transposed=*/false);
  if (const package::GroupedProduct *product = entry.command_as_GroupedProduct())
    return (product->up() >= 0 ? 2 : 1) *
           rt::productScratchBytes(product->inputs(), product->outputs(), /*transposed=*/false);
  return getProductScratchBytes(entry.command_as_Product());
}

/// Bytes of a buffer or a view of one; 0 for what is none.
static double getBufferBytes(Value value, int64_t tokens, int64_t wanted) {
  auto type = dyn_cast<MemRefType>(value.getType());
  Value base = value;
  while (auto view = base.getDefiningOp<ViewOp>())
    base = view.getSource();
  auto buffer = base.getDefiningOp<BufferOp>();
  if (!type || !buffer)
    return 0;
  SizeAttr rows = buffer.getRows();
  double bytes = double(rows.getTokens() * tokens + rows.getWanted() * wanted + rows.getFixed()) *
                 type.getElementTypeBitWidth() / 8;
  for (int64_t size : type.getShape().drop_front())
    bytes *= double(size);
  return bytes;
}

FailureOr<Workspace> strata::computeWorkspace(ModuleOp lowered, int64_t tokens, int64_t wanted,
                                              int64_t positions) {
  FailureOr<Manifest> built = buildManifest(lowered, {});
  if (failed(built))
    return failure();
  const package::Manifest &manifest = *package::GetManifest(built->bytes.data());
  Workspace workspace;
  workspace.launches = manifest.commands()->size();
  for (const package::Slot *slot : *manifest.slots())
    workspace.arenaBytes += rt::roundUpTo64(uint64_t(rt::evaluate(*slot->bytes(), tokens, wanted)));
  uint64_t scratch = 0, shared = 0;
  for (const package::CommandEntry *entry : *manifest.commands()) {
    scratch = std::max(scratch, getProductScratchBytes(*entry));
    const package::Select *select = entry->command_as_Select();
    if (!select || select->k() >= positions)
      continue; // nothing is scored where all is taken
    scratch = std::max(scratch, rt::selectScratchBytes(select->k()));
    shared = std::max(shared, rt::selectSharedBytes(select->k(), /*threads=*/1));
  }
  // What threads share grows with their number, so a part of it is each one's.
  workspace.scratchBytes = rt::roundUpTo64(scratch) + shared;

  auto step = lowered.lookupSymbol<func::FuncOp>(kEntryPoint);
  for (Operation &op : step.getBody().front())
    if (op.getNumResults() == 0 && !op.hasTrait<OpTrait::IsTerminator>())
      for (Value operand : op.getOperands())
        workspace.activationBytes += getBufferBytes(operand, tokens, wanted);
  return workspace;
}
