//===- HtmlWriter.cpp - A simulation as one page --------------------------===//
//
// The page needs nothing but itself: its style and pictures are inline, and it has no script.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Sim/HtmlPictures.h"
#include "strata/lib/Sim/Numbers.h"
#include "strata/lib/Sim/Writers.h"

#include <algorithm>

namespace strata::sim {

static constexpr char kStyle[] = R"css(
:root { color-scheme: light dark;
  --page: #f7f7f5; --card: #ffffff; --ink: #1c2024; --soft: #646b73; --line: #e2e3e0;
  --linear: #3b6ea8; --experts: #86aed6; --scan: #d9822b; --attention: #2a9d8f; --collective: #b8bdc4;
  --stall: #c8402f; --leader: #8a4fbf; --follower: #c3a3e0; --keys: #e0a24e; --weights: #6b7687;
  --back: #a9b665; --hidden: #b9d8c2; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14171a; --card: #1d2125; --ink: #e8eaec; --soft: #9aa3ac; --line: #32383e;
  --linear: #5b93d3; --experts: #3f648a; --scan: #e99b4a; --attention: #3fbfae; --collective: #59616a;
  --stall: #e8604f; --leader: #b184e0; --follower: #6d5488; --keys: #c98b36; --weights: #8a96a8;
  --back: #8a9650; --hidden: #3d6b4b; } }
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
.tile b { display: block; font-size: 19px; font-weight: 600; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
svg { display: block; width: 100%; height: auto; margin-top: 8px; font-size: 13px; }
.linear { fill: var(--linear); } .experts { fill: var(--experts); } .scan { fill: var(--scan); }
.attention { fill: var(--attention); } .collective { fill: var(--collective); }
.stall { fill: var(--stall); } .leader { fill: var(--leader); } .follower { fill: var(--follower); }
.keys { fill: var(--keys); } .weights { fill: var(--weights); } .back { fill: var(--back); }
.hidden { fill: var(--hidden); }
.label { fill: var(--ink); } .small { fill: var(--soft); font-size: 11px; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.grid { fill: none; stroke: var(--line); stroke-width: 1; }
.limit { fill: none; stroke: var(--stall); stroke-width: 1.5; stroke-dasharray: 5 4; }
table { border-collapse: collapse; width: 100%; margin-top: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 10px; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { color: var(--soft); font-weight: 500; } th:first-child, td:first-child { text-align: left; }
)css";

static std::string tile(const std::string &value, const std::string &name) {
  return "<div class=\"tile\"><b>" + value + "</b><span>" + name + "</span></div>\n";
}

static std::string card(const std::string &title, const std::string &words,
                        const std::string &content) {
  return "<section><h2>" + title + "</h2><p>" + words + "</p>\n" + content + "</section>\n";
}

static std::string row(const std::vector<std::string> &cells, const char *element = "td") {
  std::string text = "<tr>";
  for (const std::string &cell : cells)
    text += "<" + std::string(element) + ">" + cell + "</" + element + ">";
  return text + "</tr>\n";
}

static std::string writeTiles(const Simulation &simulation) {
  const StepResult &step = simulation.step;
  std::string text = "<div class=\"tiles\">\n";
  text += tile(formatTime(double(step.nanoseconds)), simulation.isRun ? "all steps" : "a step");
  text += tile(format("%.1f", simulation.tokensPerSecond()), "tokens per second");
  if (!simulation.engines.empty()) {
    text += tile(formatShare(step.hiddenShare()),
                 "of " + formatTime(double(step.transferNanoseconds)) + " of transfers hidden");
    text += tile(withPrefix(double(step.traffic.toNear())) + "B", "brought to near memory");
    double all = double(std::max<int64_t>(step.hits + step.misses, 1));
    text += tile(formatShare(double(step.hits) / all), "of records in hot sets");
  }
  std::string of =
      simulation.capacity(0) > 0 ? " of " + withPrefix(double(simulation.capacity(0))) + "B" : "";
  text += tile(withPrefix(double(simulation.memory.total(0))) + "B", "near memory" + of);
  return text + "</div>\n";
}

static std::string writeStalls(const Simulation &simulation) {
  std::string table = "<table>" + row({"compute waits for", "time", "of the step"}, "th");
  int64_t all = 0;
  for (int cause = 0; cause < rt::kStallCauses; ++cause)
    if (int64_t time = simulation.step.stalls[size_t(cause)]) {
      all += time;
      table += row({std::string(rt::getStallName(rt::StallCause(cause))), formatTime(double(time)),
                    formatShare(double(time) / double(simulation.step.nanoseconds))});
    }
  if (all == 0)
    table += row({"nothing", "0", "0.0 %"});
  table += "</table>\n<table>" + row({"traffic", "bytes"}, "th");
  for (auto [name, bytes] : listTraffic(simulation.step.traffic))
    if (bytes > 0)
      table += row({name, withPrefix(double(bytes)) + "B"});
  return card("Stalls and traffic", "What compute waits for, and what moves.",
              table + "</table>\n");
}

static std::string writeWhatIfs(const Simulation &simulation) {
  std::string table = "<table>" + row({"If …", "a step takes", "change", "hidden"}, "th");
  for (const Simulation::WhatIf &each : simulation.whatIfs) {
    double change = double(each.nanoseconds) / double(simulation.step.nanoseconds) - 1;
    table += row({each.condition, formatTime(double(each.nanoseconds)),
                  format("%+.1f %%", 100 * change), formatShare(each.hiddenShare)});
  }
  return card("What if", "The same step, with one thing changed.", table + "</table>\n");
}

std::string writeHtml(const Simulation &simulation) {
  std::string title = escapeHtml(describe(simulation));
  std::string text = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<title>" +
                     title + "</title>\n<style>" + kStyle + "</style></head>\n<body><main>\n<h1>" +
                     title + "</h1>\n<p>Predicted by strata-sim, for one device.</p>\n" +
                     writeTiles(simulation);
  Interval all{0, simulation.step.timeline.nanoseconds};
  text += card(simulation.isRun ? "The last step" : "The step",
               "Compute above, a track for each engine below.", drawTimeline(simulation, all));
  if (Interval group = findBusiestGroup(simulation); group.length() > 0)
    text += card("One share group",
                 "The one that brings most: from the choice of rows in its leading layer to the "
                 "next choice.",
                 drawTimeline(simulation, group));
  text += card("Near memory", "Bytes in use over the step, by what they are for.",
               drawMemory(simulation));
  if (!simulation.engines.empty()) {
    text += card("Layers", "Time of each layer's transfers: hidden behind compute, or exposed.",
                 drawLayers(simulation));
    text += writeStalls(simulation);
  }
  if (!simulation.whatIfs.empty())
    text += writeWhatIfs(simulation);
  return text + "</main></body></html>\n";
}

} // namespace strata::sim
