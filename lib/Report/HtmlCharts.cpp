//===- HtmlCharts.cpp - Pictures of a report as inline SVG ----------------===//
#include "strata/lib/Report/HtmlCharts.h"

#include "strata/lib/Report/Numbers.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace strata;
using llvm::formatv;

/// Units of all pictures: the width of the page's column.
static constexpr double kWidth = 920;

static void drawRect(llvm::raw_ostream &stream, StringRef style, double x, double y, double width,
                     double height, const std::string &tooltip) {
  stream << formatv("<rect class=\"{0}\" x=\"{1:f2}\" y=\"{2:f2}\" width=\"{3:f2}\" "
                    "height=\"{4:f2}\"><title>{5}</title></rect>\n",
                    style, x, y, width, height, tooltip);
}

static void drawText(llvm::raw_ostream &stream, StringRef style, double x, double y,
                     const std::string &text) {
  stream << formatv("<text class=\"{0}\" x=\"{1:f2}\" y=\"{2:f2}\">{3}</text>\n", style, x, y,
                    text);
}

/// A swatch and a name for each entry, from x on.
static void drawLegend(llvm::raw_ostream &stream, double x, double y,
                       ArrayRef<std::pair<StringRef, StringRef>> entries) {
  for (auto [style, name] : entries) {
    drawRect(stream, style, x, y - 10, 12, 12, name.str());
    drawText(stream, "label", x + 18, y, name.str());
    x += 40 + 7.5 * double(name.size());
  }
}

void strata::drawShareBars(llvm::raw_ostream &stream, StringRef title, ArrayRef<ChartBar> bars) {
  constexpr double kLeft = 64, kRight = 110, kTop = 36, kBar = 24, kStep = 32;
  double length = kWidth - kLeft - kRight, height = kTop + kStep * double(bars.size());
  stream << formatv("<svg viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"{2}\">\n", kWidth,
                    height, title);
  if (!bars.empty()) {
    SmallVector<std::pair<StringRef, StringRef>> legend;
    for (const ChartPart &part : bars.front().parts)
      legend.push_back({part.style, part.name});
    drawLegend(stream, kLeft, 16, legend);
  }
  double y = kTop;
  for (const ChartBar &bar : bars) {
    double sum = 0, x = kLeft;
    for (const ChartPart &part : bar.parts)
      sum += part.value;
    drawText(stream, "label end", kLeft - 10, y + 16.5, bar.label);
    for (const ChartPart &part : bar.parts) {
      double width = length * getShare(part.value, sum);
      drawRect(stream, part.style, x, y, width, kBar,
               part.name.str() + " at " + bar.label + ": " + withPrefix(part.value) + "(" +
                   formatShare(part.value, sum) + ")");
      if (width > 52)
        drawText(stream, "inside", x + width / 2, y + 16.5, formatShare(part.value, sum));
      x += width;
    }
    drawText(stream, "label strong", kLeft + length + 12, y + 16.5, bar.total);
    y += kStep;
  }
  stream << "</svg>\n";
}

static std::string describe(const LayerCosts &layer) {
  std::string text = "layer " + std::to_string(layer.number) + ", " + getRoleName(layer.role).str();
  if (layer.leader && layer.role == LayerRole::Follower)
    text += " of layer " + std::to_string(*layer.leader);
  const KindCosts &costs = layer.costs;
  return text + ": linear " + withPrefix(costs.linearFlops) + "FLOP, scan " +
         withPrefix(costs.scanFlops) + "FLOP, attention " + withPrefix(costs.attentionFlops) +
         "FLOP, caches " + withPrefix(costs.latentBytes + costs.indexKeyBytes) + "B";
}

/// One column of FLOPs, from the bottom up.
static void drawColumn(llvm::raw_ostream &stream, const LayerCosts &layer, double x, double width,
                       double bottom, double scale) {
  const KindCosts &costs = layer.costs;
  std::pair<StringRef, double> parts[] = {{"linear", costs.linearFlops},
                                          {"attention", costs.attentionFlops},
                                          {"scan", costs.scanFlops}};
  for (auto [style, value] : parts) {
    bottom -= value * scale;
    drawRect(stream, style, x, bottom, width, value * scale, describe(layer));
  }
}

/// Lines under the groups that several layers share.
static void drawGroups(llvm::raw_ostream &stream, ArrayRef<LayerCosts> layers, double left,
                       double step, double y) {
  for (size_t first = 0, end; first < layers.size(); first = end) {
    end = first + 1;
    if (!layers[first].group)
      continue;
    while (end < layers.size() && layers[end].group == layers[first].group)
      ++end;
    double from = left + step * double(first) + 1, to = left + step * double(end) - 1;
    stream << formatv("<path class=\"bracket\" d=\"M{0:f2} {1:f2}v4H{2:f2}v-4\"/>\n", from, y, to);
    if (to - from > 16)
      drawText(stream, "small middle", (from + to) / 2, y + 17,
               std::to_string(layers[first].number) +
                   (end > first + 1 ? "–" + std::to_string(layers[end - 1].number) : ""));
  }
}

void strata::drawLayerStrip(llvm::raw_ostream &stream, const Report &report) {
  ArrayRef<LayerCosts> layers = report.costs.layers;
  if (layers.empty())
    return;
  constexpr double kLeft = 64, kTop = 40, kColumns = 150, kGap = 8, kCell = 22;
  double step = (kWidth - kLeft) / double(layers.size()), width = std::max(step - 1.5, step * 0.7);
  double most = 1;
  for (const LayerCosts &layer : layers)
    most = std::max(most, layer.costs.getFlops());
  double bottom = kTop + kColumns, cells = bottom + kGap, brackets = cells + kCell + 4;
  stream << formatv("<svg viewBox=\"0 0 {0} {1}\" role=\"img\" aria-label=\"layers and groups\">\n",
                    kWidth, brackets + 24);
  drawLegend(stream, kLeft, 16,
             {{"linear", "linear"},
              {"attention", "attention"},
              {"scan", "indexer scan"},
              {"leader", "leads a group"},
              {"follower", "follows"},
              {"full", "no rows"}});
  drawText(stream, "label end", kLeft - 10, kTop + 10, withPrefix(most));
  drawText(stream, "small end", kLeft - 10, kTop + 24, "FLOP");
  drawText(stream, "label end", kLeft - 10, cells + 15, "rows");
  stream << formatv("<path class=\"axis\" d=\"M{0} {1:f2}H{2}\"/>\n", kLeft, bottom + 0.5, kWidth);
  double x = kLeft;
  for (const LayerCosts &layer : layers) {
    drawColumn(stream, layer, x, width, bottom, kColumns / most);
    StringRef style = layer.role == LayerRole::Leader     ? "leader"
                      : layer.role == LayerRole::Follower ? "follower"
                                                          : "full";
    drawRect(stream, style, x, cells, width, kCell, describe(layer));
    x += step;
  }
  drawGroups(stream, layers, kLeft, step, brackets);
  stream << "</svg>\n";
}
