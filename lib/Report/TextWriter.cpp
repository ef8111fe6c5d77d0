//===- TextWriter.cpp - A report for a terminal ---------------------------===//
#include "strata/lib/Report/Numbers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace strata;

/// One line of the layers' table for each run of layers that cost the same and play the same part.
static bool isAlike(const LayerCosts &a, const LayerCosts &b) {
  return a.role == b.role && a.group == b.group && a.costs.getFlops() == b.costs.getFlops() &&
         a.costs.getBytes() == b.costs.getBytes();
}

static void writeLayers(llvm::raw_ostream &stream, const Report &report) {
  stream << llvm::formatv("{0,-9}{1,-10}{2,6}{3,10}{4,10}{5,10}{6,11}{7,11}\n", "layers", "role",
                          "group", "linear", "scan", "attention", "cache B", "weight B");
  ArrayRef<LayerCosts> layers = report.costs.layers;
  for (size_t first = 0, end; first < layers.size(); first = end) {
    for (end = first + 1; end < layers.size() && isAlike(layers[first], layers[end]);)
      ++end;
    const LayerCosts &layer = layers[first];
    std::string range = std::to_string(layer.number);
    if (end > first + 1)
      range += "-" + std::to_string(layers[end - 1].number);
    stream << llvm::formatv("{0,-9}{1,-10}{2,6}{3,10}{4,10}{5,10}{6,11}{7,11}\n", range,
                            getRoleName(layer.role),
                            layer.group ? std::to_string(*layer.group) : std::string("-"),
                            withPrefix(layer.costs.linearFlops), withPrefix(layer.costs.scanFlops),
                            withPrefix(layer.costs.attentionFlops),
                            withPrefix(layer.costs.latentBytes + layer.costs.indexKeyBytes),
                            withPrefix(layer.costs.weightBytes));
  }
  const KindCosts &outside = report.costs.outside;
  stream << llvm::formatv("{0,-25}{1,10}{2,10}{3,10}{4,11}{5,11}\n", "embedding and logits",
                          withPrefix(outside.linearFlops), withPrefix(outside.scanFlops),
                          withPrefix(outside.attentionFlops),
                          withPrefix(outside.latentBytes + outside.indexKeyBytes),
                          withPrefix(outside.weightBytes));
}

static void writeContexts(llvm::raw_ostream &stream, const Report &report) {
  stream << llvm::formatv("{0,-9}{1,10}{2,10}{3,11}{4,10}{5,12}{6,12}{7,12}\n", "context", "linear",
                          "scan", "attention", "GFLOP", "latents MB", "index MB", "weights MB");
  for (const Report::AtContext &at : report.contexts) {
    const KindCosts &costs = at.costs;
    stream << llvm::formatv(
        "{0,-9}{1,10}{2,10}{3,11}{4,10:f2}{5,12:f1}{6,12:f1}{7,12:f1}\n", formatContext(at.context),
        formatShare(costs.linearFlops, costs.getFlops()),
        formatShare(costs.scanFlops, costs.getFlops()),
        formatShare(costs.attentionFlops, costs.getFlops()), costs.getFlops() / 1e9,
        costs.latentBytes / 1e6, costs.indexKeyBytes / 1e6, costs.weightBytes / 1e6);
  }
}

std::string strata::writeText(const Report &report) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  KindCosts total = report.costs.getTotal();
  const ReportOptions &options = report.options;
  const Workspace &workspace = report.workspace;
  stream << report.modelType << ": " << describeModel(report) << "\n";
  stream << getStepName(options.step) << ", batch " << options.batch << ", context "
         << options.context << ": costs of one token; " << describeFormats(report) << "\n";
  if (options.context > report.maxPositions)
    stream << "note: the model has " << report.maxPositions << " positions\n";
  auto share = [](double part, double whole) { return " (" + formatShare(part, whole) + ")"; };
  stream << "\nFLOPs       " << withPrefix(total.getFlops()) << ": linear "
         << withPrefix(total.linearFlops) << share(total.linearFlops, total.getFlops()) << ", scan "
         << withPrefix(total.scanFlops) << share(total.scanFlops, total.getFlops())
         << ", attention " << withPrefix(total.attentionFlops)
         << share(total.attentionFlops, total.getFlops()) << "; not counted: elementwise "
         << withPrefix(total.elementwiseFlops) << "\n";
  stream << "bytes read  " << withPrefix(total.getBytes()) << "B: weights "
         << withPrefix(total.weightBytes) << "B" << share(total.weightBytes, total.getBytes())
         << ", latents " << withPrefix(total.latentBytes) << "B"
         << share(total.latentBytes, total.getBytes()) << ", index keys "
         << withPrefix(total.indexKeyBytes) << "B" << share(total.indexKeyBytes, total.getBytes())
         << "\n";
  stream << "caches      " << int64_t(report.costs.cacheBytesPerToken) << " bytes a token, "
         << withPrefix(report.costs.cacheBytesPerToken * double(options.context))
         << "B a sequence\n";
  stream << "a step      " << workspace.launches << " launches, workspace " << workspace.getBytes()
         << " bytes: arena " << workspace.arenaBytes << ", scratch of one thread "
         << workspace.scratchBytes << "\n";
  stream << "fusion      ";
  if (report.unfused)
    stream << report.unfused->launches << " launches before, " << workspace.launches << " after; "
           << withPrefix(report.unfused->activationBytes) << "B of buffers touched before, "
           << withPrefix(workspace.activationBytes) << "B after\n\n";
  else
    stream << withPrefix(workspace.activationBytes) << "B of buffers touched\n\n";
  writeContexts(stream, report);
  stream << "\n";
  writeLayers(stream, report);
  return text;
}
