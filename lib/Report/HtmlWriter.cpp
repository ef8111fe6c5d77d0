//===- HtmlWriter.cpp - A report as one page ------------------------------===//
//
// The page needs nothing but itself: its style and pictures are inline, and it has no script.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Report/HtmlCharts.h"
#include "strata/lib/Report/Numbers.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace strata;

static constexpr llvm::StringLiteral kStyle = R"css(
:root { color-scheme: light dark;
  --page: #f7f7f5; --card: #ffffff; --ink: #1c2024; --soft: #646b73; --line: #e2e3e0;
  --linear: #3b6ea8; --scan: #d9822b; --attention: #2a9d8f; --weights: #6b7687; --latents: #2a9d8f;
  --keys: #d9822b; --leader: #8a4fbf; --follower: #d3bde8; --inside: #ffffff; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14171a; --card: #1d2125; --ink: #e8eaec; --soft: #9aa3ac; --line: #32383e;
  --linear: #5b93d3; --scan: #e99b4a; --attention: #3fbfae; --weights: #8a96a8; --latents: #3fbfae;
  --keys: #e99b4a; --leader: #b184e0; --follower: #54406b; --inside: #14171a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1000px; margin: 0 auto; padding: 32px 20px 48px; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 0 0 4px; }
p { margin: 0 0 12px; color: var(--soft); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 20px; margin-top: 18px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px;
  margin-top: 20px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 14px 16px; }
.tile b { display: block; font-size: 19px; font-weight: 600; white-space: nowrap; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
svg { display: block; width: 100%; height: auto; margin-top: 8px; font-size: 13px; }
.linear { fill: var(--linear); } .scan { fill: var(--scan); } .attention { fill: var(--attention); }
.weights { fill: var(--weights); } .latents { fill: var(--latents); } .keys { fill: var(--keys); }
.leader { fill: var(--leader); } .follower { fill: var(--follower); }
.full { fill: none; stroke: var(--soft); stroke-width: 1; }
.label { fill: var(--ink); } .small { fill: var(--soft); font-size: 11px; }
.strong { font-weight: 600; font-variant-numeric: tabular-nums; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.inside { fill: var(--inside); text-anchor: middle; font-size: 12px; font-weight: 600;
  pointer-events: none; }
.bracket, .axis { fill: none; stroke: var(--soft); stroke-width: 1; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 10px; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { color: var(--soft); font-weight: 500; } th:nth-child(2), td:nth-child(2) { text-align: left; }
summary { cursor: pointer; font-weight: 600; }
)css";

static std::string escape(StringRef text) {
  std::string escaped;
  llvm::raw_string_ostream stream(escaped);
  llvm::printHTMLEscaped(text, stream);
  return escaped;
}

static void writeTile(llvm::raw_ostream &stream, const std::string &value, const Twine &name) {
  stream << "<div class=\"tile\"><b>" << value << "</b><span>" << name << "</span></div>\n";
}

static void writeTiles(llvm::raw_ostream &stream, const Report &report) {
  KindCosts total = report.costs.getTotal();
  stream << "<div class=\"tiles\">\n";
  writeTile(stream, withPrefix(total.getFlops()) + "FLOP", "per token");
  writeTile(stream, withPrefix(total.latentBytes + total.indexKeyBytes) + "B",
            "read from caches per token");
  writeTile(stream, withPrefix(total.weightBytes) + "B", "weights read per token");
  writeTile(stream, withPrefix(report.costs.cacheBytesPerToken) + "B", "kept in caches per token");
  std::string before =
      report.unfused ? ", " + std::to_string(report.unfused->launches) + " before fusion" : "";
  writeTile(stream, std::to_string(report.workspace.launches), "launches per step" + before);
  writeTile(stream, withPrefix(double(report.workspace.getBytes())) + "B", "workspace");
  stream << "</div>\n";
}

/// A card with a picture of shares at each context.
static void writeShares(llvm::raw_ostream &stream, const Report &report, StringRef title,
                        StringRef text, llvm::function_ref<ChartBar(const KindCosts &)> makeBar) {
  SmallVector<ChartBar> bars;
  for (const Report::AtContext &at : report.contexts) {
    bars.push_back(makeBar(at.costs));
    bars.back().label = formatContext(at.context);
  }
  stream << "<section><h2>" << title << "</h2><p>" << text << "</p>\n";
  drawShareBars(stream, title, bars);
  stream << "</section>\n";
}

static void writeAllShares(llvm::raw_ostream &stream, const Report &report) {
  writeShares(stream, report, "Arithmetic by context",
              "Multiply-adds of one token, as two operations each.",
              [](const KindCosts &costs) -> ChartBar {
                return {"",
                        withPrefix(costs.getFlops()) + "FLOP",
                        {{"linear", "linear", costs.linearFlops},
                         {"attention", "attention", costs.attentionFlops},
                         {"scan", "indexer scan", costs.scanFlops}}};
              });
  writeShares(stream, report, "Memory traffic by context",
              "Bytes that one token reads; weights are divided among the tokens of the step.",
              [](const KindCosts &costs) -> ChartBar {
                return {"",
                        withPrefix(costs.getBytes()) + "B",
                        {{"weights", "weights", costs.weightBytes},
                         {"latents", "attended records", costs.latentBytes},
                         {"keys", "index keys", costs.indexKeyBytes}}};
              });
  writeShares(stream, report, "Cache traffic by context", "The same without weights.",
              [](const KindCosts &costs) -> ChartBar {
                return {"",
                        withPrefix(costs.latentBytes + costs.indexKeyBytes) + "B",
                        {{"latents", "attended records", costs.latentBytes},
                         {"keys", "index keys", costs.indexKeyBytes}}};
              });
}

static void writeRow(llvm::raw_ostream &stream, const std::string &name, StringRef role,
                     const std::string &group, const KindCosts &costs, const KindCosts &total) {
  stream << "<tr><td>" << name << "</td><td>" << role << "</td><td>" << group << "</td><td>"
         << withPrefix(costs.linearFlops) << "</td><td>" << withPrefix(costs.scanFlops)
         << "</td><td>" << withPrefix(costs.attentionFlops) << "</td><td>"
         << formatShare(costs.getFlops(), total.getFlops()) << "</td><td>"
         << withPrefix(costs.latentBytes + costs.indexKeyBytes) << "B</td><td>"
         << withPrefix(costs.weightBytes) << "B</td></tr>\n";
}

static void writeTable(llvm::raw_ostream &stream, const Report &report) {
  KindCosts total = report.costs.getTotal();
  stream << "<section><details><summary>All layers as a table</summary><div class=\"scroll\">\n"
            "<table><thead><tr><th>layer</th><th>role</th><th>group</th><th>linear</th>"
            "<th>scan</th><th>attention</th><th>of all FLOPs</th><th>caches</th><th>weights</th>"
            "</tr></thead><tbody>\n";
  for (const LayerCosts &layer : report.costs.layers)
    writeRow(stream, std::to_string(layer.number), getRoleName(layer.role),
             layer.group ? std::to_string(*layer.group) : "–", layer.costs, total);
  writeRow(stream, "–", "embedding, logits", "–", report.costs.outside, total);
  stream << "</tbody></table></div></details></section>\n";
}

std::string strata::writeHtml(const Report &report) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  std::string title = escape(report.modelType) + ": what a token costs";
  stream << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>"
         << title << "</title>\n<style>" << kStyle << "</style></head>\n<body><main>\n<h1>" << title
         << "</h1>\n<p>" << describeModel(report) << "; " << getStepName(report.options.step)
         << ", batch " << report.options.batch << ", context " << report.options.context << "; "
         << describeFormats(report) << "</p>\n";
  writeTiles(stream, report);
  stream << "<section><h2>Layers and groups</h2><p>Each column is a layer at context "
         << formatContext(report.options.context)
         << ". Below it: whether its indexer chooses rows for a group, or it uses the rows of the "
            "group's leader.</p>\n";
  drawLayerStrip(stream, report);
  stream << "</section>\n";
  writeAllShares(stream, report);
  writeTable(stream, report);
  stream << "</main></body></html>\n";
  return text;
}
