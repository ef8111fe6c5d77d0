//===- HtmlPictures.cpp - Pictures of a simulated step as SVG -------------===//
#include "strata/lib/Sim/HtmlPictures.h"

#include "strata/lib/Sim/Numbers.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace strata::sim {

/// Units of all pictures: the width of the page's column, and where drawings begin and end.
static constexpr double kWidth = 920, kLeft = 92, kRight = 24, kLegendLine = 18;

std::string escapeHtml(std::string_view text) {
  std::string escaped;
  for (char character : text) {
    switch (character) {
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '&':
      escaped += "&amp;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += character;
    }
  }
  return escaped;
}

static std::string begin(double height, const char *label) {
  return format("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\">\n", kWidth, height,
                label);
}

static std::string rect(const char *style, double x, double y, double width, double height,
                        const std::string &tooltip) {
  return format("<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">", style,
                x, y, width, height) +
         "<title>" + escapeHtml(tooltip) + "</title></rect>\n";
}

static std::string text(const char *style, double x, double y, const std::string &content) {
  return format("<text class=\"%s\" x=\"%.2f\" y=\"%.2f\">", style, x, y) + escapeHtml(content) +
         "</text>\n";
}

using LegendEntries = std::vector<std::pair<const char *, std::string>>;

/// A swatch and a name for each entry, from line `y` on; how many lines more than one it takes.
static std::pair<std::string, int> drawLegend(double y, const LegendEntries &entries) {
  std::string result;
  double x = kLeft;
  int lines = 0;
  for (const auto &[style, name] : entries) {
    double width = 34 + 7.2 * double(name.size());
    if (x + width > kWidth) {
      x = kLeft;
      ++lines;
    }
    double line = y + kLegendLine * lines;
    result += rect(style, x, line - 10, 12, 12, name) + text("label", x + 18, line, name);
    x += width;
  }
  return {result, lines};
}

static std::string legend(double y, const LegendEntries &entries) {
  return drawLegend(y, entries).first;
}

/// The largest of 1, 2, 5 × 10^n that divides a length into at least `parts`.
static double roundStep(double length, double parts) {
  double step = std::pow(10, std::floor(std::log10(length / parts)));
  for (double factor : {5.0, 2.0})
    if (length / (step * factor) >= parts)
      return step * factor;
  return step;
}

static std::string drawTimeAxis(Interval range, double top, double bottom) {
  std::string result;
  double length = double(std::max<int64_t>(range.length(), 1)), step = roundStep(length, 5);
  double scale = (kWidth - kLeft - kRight) / length;
  for (double time = std::ceil(double(range.begin) / step) * step; time <= double(range.end);
       time += step) {
    double x = kLeft + (time - double(range.begin)) * scale;
    result += format("<path class=\"grid\" d=\"M%.2f %.2fV%.2f\"/>\n", x, top, bottom);
    result += text("small middle", x, bottom + 15, formatTime(time));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Timeline
//===----------------------------------------------------------------------===//

namespace {

struct Bar {
  const char *style;
  Interval time;
  std::string tooltip;
};

} // namespace

static const char *styleOf(const package::CommandEntry &entry, bool isCollective) {
  if (isCollective)
    return "collective";
  switch (entry.command_type()) {
  case package::Command::Select:
    return "scan";
  case package::Command::HeadAttention:
  case package::Command::PartialScores:
    return "attention";
  case package::Command::GroupedProduct:
    return "experts";
  default:
    return "linear";
  }
}

static const char *styleOf(const Transfer &transfer) {
  if (!transfer.toNear)
    return "back";
  switch (transfer.cause) {
  case rt::StallCause::LeaderRows:
    return "leader";
  case rt::StallCause::FollowerRows:
  case rt::StallCause::FurtherRows:
    return "follower";
  case rt::StallCause::IndexKeys:
    return "keys";
  default:
    return "weights";
  }
}

/// Names of those styles that occur.
static std::pair<std::string, int> timelineLegend(const std::vector<std::vector<Bar>> &tracks) {
  std::set<std::string_view> used;
  for (const std::vector<Bar> &track : tracks)
    for (const Bar &bar : track)
      used.insert(bar.style);
  LegendEntries entries;
  for (auto [style, name] : {std::pair("linear", "products"),
                             {"experts", "experts"},
                             {"attention", "attention"},
                             {"scan", "scan"},
                             {"collective", "collectives"},
                             {"stall", "stall"},
                             {"leader", "leader's rows"},
                             {"follower", "followers' rows"},
                             {"keys", "index keys"},
                             {"weights", "weights, pages"},
                             {"back", "write-back"}})
    if (used.count(style))
      entries.push_back({style, name});
  return drawLegend(16, entries);
}

/// One track. Bars of one style that would touch in the picture become one.
static std::string drawTrack(std::vector<Bar> bars, Interval range, double y, double height) {
  double scale = (kWidth - kLeft - kRight) / double(std::max<int64_t>(range.length(), 1));
  std::string result;
  for (size_t i = 0; i < bars.size();) {
    Bar bar = bars[i];
    size_t count = 1;
    while (i + count < bars.size() && bars[i + count].style == bar.style &&
           double(bars[i + count].time.begin - bar.time.end) * scale < 0.3 &&
           double(bars[i + count].time.length()) * scale < 1)
      bar.time.end = bars[i + count++].time.end;
    i += count;
    Interval shown{std::max(bar.time.begin, range.begin), std::min(bar.time.end, range.end)};
    if (shown.length() <= 0)
      continue;
    if (count > 1)
      bar.tooltip += " and " + std::to_string(count - 1) + " more";
    result += rect(bar.style, kLeft + double(shown.begin - range.begin) * scale, y,
                   std::max(double(shown.length()) * scale, 0.2), height,
                   bar.tooltip + ": " + formatTime(double(bar.time.length())));
  }
  return result;
}

static std::vector<Bar> listCompute(const Simulation &simulation) {
  const StepResult &step = simulation.step;
  std::vector<Bar> bars;
  for (size_t i = 0; i < step.program.operations.size(); ++i) {
    const Operation &operation = step.program.operations[i];
    const Interval &time = step.timeline.operations[i];
    if (operation.kind == Operation::Kind::Start || time.length() == 0)
      continue;
    const package::CommandEntry &entry =
        *simulation.manifest().commands()->Get(uint32_t(operation.command));
    std::string label = entry.label()->str();
    if (operation.kind == Operation::Kind::Wait) {
      const Transfer &transfer = step.program.transfers[size_t(operation.transfer)];
      bars.push_back(
          {"stall", time, label + ": wait for " + std::string(rt::getStallName(transfer.cause))});
    } else {
      bars.push_back({styleOf(entry, operation.isCollective), time,
                      operation.isCollective ? label + ", collective" : label});
    }
  }
  return bars;
}

static std::vector<Bar> listTransfers(const Simulation &simulation, int engine) {
  const StepResult &step = simulation.step;
  std::vector<Bar> bars;
  for (size_t i = 0; i < step.program.transfers.size(); ++i) {
    const Transfer &transfer = step.program.transfers[i];
    if (transfer.engine != engine)
      continue;
    const package::CommandEntry &entry =
        *simulation.manifest().commands()->Get(uint32_t(transfer.command));
    bars.push_back({styleOf(transfer), step.timeline.transfers[i],
                    entry.label()->str() + ", " + withPrefix(double(transfer.bytes)) + "B"});
  }
  std::sort(bars.begin(), bars.end(),
            [](const Bar &a, const Bar &b) { return a.time.begin < b.time.begin; });
  return bars;
}

std::string drawTimeline(const Simulation &simulation, Interval range) {
  std::vector<std::vector<Bar>> tracks{listCompute(simulation)};
  std::vector<std::string> names{"compute"};
  for (size_t engine = 0; engine < simulation.engines.size(); ++engine) {
    std::vector<Bar> bars = listTransfers(simulation, int(engine));
    if (bars.empty())
      continue;
    tracks.push_back(std::move(bars));
    names.push_back(simulation.manifest().engines()->Get(uint32_t(engine))->name()->str());
  }
  auto [legendText, lines] = timelineLegend(tracks);
  constexpr double kTrack = 26, kStep = 36;
  double top = 34 + kLegendLine * lines;
  double bottom = top + kStep * double(tracks.size()) - (kStep - kTrack) + 6;
  std::string result =
      begin(bottom + 22, "timeline") + legendText + drawTimeAxis(range, top - 4, bottom);
  for (size_t i = 0; i < tracks.size(); ++i) {
    double y = top + kStep * double(i);
    result += text("label end", kLeft - 10, y + 17, names[i]) +
              drawTrack(std::move(tracks[i]), range, y, kTrack);
  }
  return result + "</svg>\n";
}

/// Time of the transfers to near memory that begin within.
static int64_t getTransferTime(const StepResult &step, const Interval &range) {
  int64_t time = 0;
  for (size_t i = 0; i < step.program.transfers.size(); ++i) {
    const Interval &transfer = step.timeline.transfers[i];
    if (step.program.transfers[i].toNear && transfer.begin >= range.begin &&
        transfer.begin < range.end)
      time += transfer.length();
  }
  return time;
}

Interval findBusiestGroup(const Simulation &simulation) {
  const StepResult &step = simulation.step;
  std::vector<int64_t> begins;
  int last = -1;
  for (size_t i = 0; i < step.program.operations.size(); ++i) {
    int command = step.program.operations[i].command;
    const auto *resolve =
        simulation.manifest().commands()->Get(uint32_t(command))->command_as_Resolve();
    if (resolve && resolve->limit() == 0 && command != last)
      begins.push_back(step.timeline.operations[i].begin);
    last = command;
  }
  if (begins.size() < 2)
    return {};
  size_t middle = begins.size() / 2;
  Interval best{begins[middle - 1], begins[middle]};
  for (size_t i = 1; i < begins.size(); ++i)
    if (Interval group{begins[i - 1], begins[i]};
        getTransferTime(step, group) > getTransferTime(step, best))
      best = group;
  int64_t margin = best.length() / 10;
  return {std::max<int64_t>(best.begin - margin, 0), best.end + margin};
}

//===----------------------------------------------------------------------===//
// Memory and layers
//===----------------------------------------------------------------------===//

static const char *const kClassStyles[kMemoryClasses] = {"weights", "attention", "keys",
                                                         "collective", "back"};

std::string drawMemory(const Simulation &simulation) {
  const StepResult &step = simulation.step;
  std::vector<MemoryAtCommand> use =
      computeMemoryOverTime(simulation.manifest(), simulation.limits, simulation.machine.partition,
                            simulation.options.program.formats);
  constexpr double kTop = 34, kHeight = 170;
  double capacity = double(simulation.capacity(0)), most = double(simulation.memory.total(0));
  double full = std::max(most, capacity > 0 && capacity < 4 * most ? capacity : most) * 1.04;
  std::string result = begin(kTop + kHeight + 24, "memory over time");
  LegendEntries entries;
  for (int i = 0; i < kMemoryClasses; ++i)
    entries.push_back({kClassStyles[i], std::string(getMemoryClassName(MemoryClass(i)))});
  Interval range{0, step.timeline.nanoseconds};
  result += legend(16, entries) + drawTimeAxis(range, kTop, kTop + kHeight);
  // When each command begins; those that take no time begin where the next one does.
  std::vector<int64_t> begins(use.size(), -1);
  for (size_t i = step.program.operations.size(); i-- > 0;)
    begins[size_t(step.program.operations[i].command)] = step.timeline.operations[i].begin;
  for (size_t i = begins.size(); i-- > 0;)
    if (begins[i] < 0)
      begins[i] = i + 1 < begins.size() ? begins[i + 1] : step.timeline.nanoseconds;
  double scale = (kWidth - kLeft - kRight) / double(std::max<int64_t>(range.length(), 1));
  std::vector<double> below(use.size(), 0);
  for (int memoryClass = 0; memoryClass < kMemoryClasses; ++memoryClass) {
    std::string upper, lower;
    double lastX = -1;
    for (size_t i = 0; i < use.size(); ++i) {
      double x = kLeft + double(begins[i]) * scale;
      double end = i + 1 < use.size() ? kLeft + double(begins[i + 1]) * scale : kWidth - kRight;
      double from = below[i], to = from + double(use[i].bytes[size_t(memoryClass)]);
      below[i] = to;
      if (end - lastX < 0.25 && i + 1 < use.size())
        continue;
      lastX = end;
      auto y = [&](double bytes) { return kTop + kHeight * (1 - bytes / full); };
      upper += format("%c%.2f %.2fH%.2f", upper.empty() ? 'M' : 'L', x, y(to), end);
      lower = format("L%.2f %.2fH%.2f", end, y(from), x) + lower;
    }
    result += format("<path class=\"%s\" d=\"", kClassStyles[memoryClass]) + upper + lower +
              "Z\"><title>" + std::string(getMemoryClassName(MemoryClass(memoryClass))) +
              "</title></path>\n";
  }
  double step2 = roundStep(full, 3);
  for (double bytes = 0; bytes <= full; bytes += step2) {
    double y = kTop + kHeight * (1 - bytes / full);
    result += format("<path class=\"grid\" d=\"M%.2f %.2fH%.2f\"/>\n", kLeft, y, kWidth - kRight) +
              text("small end", kLeft - 8, y + 4, withPrefix(bytes) + "B");
  }
  if (capacity > 0 && capacity <= full) {
    double y = kTop + kHeight * (1 - capacity / full);
    result += format("<path class=\"limit\" d=\"M%.2f %.2fH%.2f\"/>\n", kLeft, y, kWidth - kRight);
  }
  return result + "</svg>\n";
}

std::string drawLayers(const Simulation &simulation) {
  std::vector<LayerResult> layers;
  int64_t most = 1;
  for (const LayerResult &layer : simulation.step.layers)
    if (layer.layer >= 0) {
      layers.push_back(layer);
      most = std::max(most, layer.transferNanoseconds);
    }
  if (layers.empty())
    return "";
  constexpr double kTop = 34, kHeight = 120;
  std::string result = begin(kTop + kHeight + 40, "layers");
  result += legend(
      16,
      {{"hidden", "hidden"}, {"stall", "exposed"}, {"leader", "leader"}, {"follower", "follower"}});
  double step = (kWidth - kLeft - kRight) / double(layers.size());
  double scale = kHeight / double(most);
  result += text("small end", kLeft - 8, kTop + 6, formatTime(double(most))) +
            text("small end", kLeft - 8, kTop + kHeight, "0");
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerResult &layer = layers[i];
    double x = kLeft + step * double(i), width = std::max(step - 1.5, step * 0.7);
    double exposed = double(layer.exposedNanoseconds) * scale;
    double all = double(layer.transferNanoseconds) * scale, bottom = kTop + kHeight;
    std::string name = "layer " + std::to_string(layer.layer) + ": " +
                       formatTime(double(layer.transferNanoseconds)) + " of transfers, " +
                       formatTime(double(layer.exposedNanoseconds)) + " exposed";
    result += rect("hidden", x, bottom - all, width, all - exposed, name) +
              rect("stall", x, bottom - exposed, width, exposed, name);
    if (layer.leads || layer.follows)
      result += rect(layer.leads ? "leader" : "follower", x, bottom + 6, width, 10, name);
    if (i == 0 || i + 1 == layers.size() ||
        (layers.size() > 20 && i % 10 == 0 && i + 4 < layers.size()))
      result += text("small middle", x + width / 2, bottom + 31, std::to_string(layer.layer));
  }
  return result + "</svg>\n";
}

} // namespace strata::sim
