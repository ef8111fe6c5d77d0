//===- JsonWriter.cpp - A report for programs -----------------------------===//
#include "strata/lib/Report/Numbers.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace strata;

/// Whole numbers without a fraction or an exponent.
static llvm::json::Value number(double value) {
  if (std::abs(value) < 0x1p53 && value == std::trunc(value))
    return int64_t(value);
  return value;
}

static void writeCosts(llvm::json::OStream &json, const KindCosts &costs) {
  json.attributeObject("flops", [&] {
    json.attribute("linear", number(costs.linearFlops));
    json.attribute("scan", number(costs.scanFlops));
    json.attribute("attention", number(costs.attentionFlops));
    json.attribute("total", number(costs.getFlops()));
  });
  json.attributeObject("bytes", [&] {
    json.attribute("weights", number(costs.weightBytes));
    json.attribute("latents", number(costs.latentBytes));
    json.attribute("index_keys", number(costs.indexKeyBytes));
    json.attribute("total", number(costs.getBytes()));
  });
  json.attribute("elementwise_flops", number(costs.elementwiseFlops));
  json.attribute("cache_bytes_written", number(costs.cacheBytesWritten));
  json.attribute("score_row_bytes", number(costs.scoreRowBytes));
}

/// Parts of the layer's own FLOPs, then of the model's FLOPs and bytes.
static void writeShares(llvm::json::OStream &json, const KindCosts &costs, const KindCosts &total) {
  json.attributeObject("shares", [&] {
    json.attribute("linear", number(getShare(costs.linearFlops, costs.getFlops())));
    json.attribute("scan", number(getShare(costs.scanFlops, costs.getFlops())));
    json.attribute("attention", number(getShare(costs.attentionFlops, costs.getFlops())));
    json.attribute("flops", number(getShare(costs.getFlops(), total.getFlops())));
    json.attribute("bytes", number(getShare(costs.getBytes(), total.getBytes())));
  });
}

static void writeLayer(llvm::json::OStream &json, const LayerCosts &layer, const KindCosts &total) {
  auto optional = [](std::optional<int64_t> value) {
    return value ? llvm::json::Value(*value) : llvm::json::Value(nullptr);
  };
  json.object([&] {
    json.attribute("layer", layer.number);
    json.attribute("role", getRoleName(layer.role));
    json.attribute("group", optional(layer.group));
    json.attribute("leader", optional(layer.leader));
    writeShares(json, layer.costs, total);
    writeCosts(json, layer.costs);
  });
}

std::string strata::writeJson(const Report &report) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, /*IndentSize=*/2);
  KindCosts total = report.costs.getTotal();
  const Workspace &workspace = report.workspace;
  json.object([&] {
    json.attribute("model_type", report.modelType);
    json.attribute("step", getStepName(report.options.step));
    json.attribute("context", report.options.context);
    json.attribute("batch", report.options.batch);
    json.attribute("tokens", report.options.getTokens());
    json.attributeObject("formats", [&] {
      json.attribute("weights", getWeightFormatName(report.options.weights));
      json.attribute("caches", getCacheFormatName(report.options.caches));
      json.attribute("record_bytes", number(report.recordBytes));
      json.attribute("index_record_bytes", number(report.indexRecordBytes));
    });
    writeCosts(json, total);
    json.attribute("cache_bytes_per_token", number(report.costs.cacheBytesPerToken));
    json.attribute("launches", workspace.launches);
    json.attribute("workspace_bytes", int64_t(workspace.getBytes()));
    json.attribute("arena_bytes", int64_t(workspace.arenaBytes));
    json.attribute("scratch_bytes_per_thread", int64_t(workspace.scratchBytes));
    json.attribute("activation_bytes", number(workspace.activationBytes));
    if (report.unfused)
      json.attributeObject("before_fusion", [&] {
        json.attribute("launches", report.unfused->launches);
        json.attribute("activation_bytes", number(report.unfused->activationBytes));
      });
    json.attribute("indexers", report.costs.indexers);
    json.attributeArray("layers", [&] {
      for (const LayerCosts &layer : report.costs.layers)
        writeLayer(json, layer, total);
    });
    json.attributeObject("outside_layers", [&] { writeCosts(json, report.costs.outside); });
  });
  stream << '\n';
  return text;
}
