//===- PrintLayers.cpp - The attention layers as text ---------------------===//
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Analysis/AttentionLayers.h"
#include "strata/passes/Share/Passes.h"

namespace strata {
#define GEN_PASS_DEF_PRINTLAYERS
#include "strata/passes/Share/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

/// The name of the argument that a cache comes from, or its number.
static std::string describeCache(func::FuncOp function, Value cache) {
  BlockArgument argument = findCacheArgument(cache);
  if (!argument || argument.getOwner() != &function.getBody().front())
    return "a cache made here";
  unsigned number = argument.getArgNumber();
  if (auto name = function.getArgAttrOfType<StringAttr>(number, kCacheNameAttr))
    return "\"" + name.str() + "\"";
  return "argument " + std::to_string(number);
}

static void printLayer(func::FuncOp function, const AttentionLayers &layers,
                       const AttentionLayer &layer, llvm::raw_ostream &out) {
  out << describeLayer(layer) << " above ";
  if (layer.below.empty())
    out << "none";
  llvm::interleaveComma(layer.below, out);
  if (layer.stream)
    out << ", stream " << layer.stream;
  out << ": " << describeSources(layer.op);

  SmallVector<std::string> caches;
  for (Value cache : layer.getOp().getCaches())
    if (std::string name = describeCache(function, cache); !llvm::is_contained(caches, name))
      caches.push_back(name);
  if (layer.sparse) {
    if (layer.owner == layer.number)
      out << " of its own";
    else
      out << " of layer " << layer.owner;
    SmallVector<unsigned> group = layers.getGroup(layer);
    out << ", group {";
    llvm::interleaveComma(group, out);
    out << "}, ";
    if (auto select = layer.rows.getDefiningOp<SelectOp>()) {
      auto selects = function.getOps<SelectOp>();
      out << "select " << std::distance(selects.begin(), llvm::find(selects, select)) << " on "
          << describeCache(function, select.getCache());
    } else if (auto argument = dyn_cast<BlockArgument>(layer.rows)) {
      out << "rows from argument " << argument.getArgNumber();
    } else {
      out << "rows from " << layer.rows.getDefiningOp()->getName();
    }
  }
  out << ", keys ";
  llvm::interleaveComma(caches, out);
  out << "\n";
}

namespace {

struct PrintLayers : strata::impl::PrintLayersBase<PrintLayers> {
  using PrintLayersBase::PrintLayersBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      AttentionLayers layers(function);
      llvm::errs() << "@" << function.getName() << ": " << layers.getLayers().size()
                   << " attention layers, " << layers.getSparseLayers().size()
                   << " attend to rows\n";
      for (const AttentionLayer &layer : layers.getLayers())
        printLayer(function, layers, layer, llvm::errs());
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
