//===- Picture.cpp - The frontier as a drawing ----------------------------===//
//
// One row for each number of indexers: a square for each layer, a bar for the loss on a logarithmic
// scale with the limit as a line, and a bar for the FLOPs.
//
//===----------------------------------------------------------------------===//
#include "Results.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace strata::tune {

constexpr double kRow = 24, kTop = 64, kLeft = 16, kCountWidth = 40, kBarWidth = 200, kGap = 96;

static std::string number(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

static std::string pixels(double value) { return number("%.1f", value); }

static std::string escape(const std::string &text) {
  std::string result;
  for (char letter : text)
    switch (letter) {
    case '<':
      result += "&lt;";
      break;
    case '&':
      result += "&amp;";
      break;
    default:
      result += letter;
    }
  return result;
}

namespace {

/// Appends shapes; sizes are in pixels, colours are classes of the style sheet.
class Drawing {
public:
  void box(const char *kind, double x, double y, double width, double height,
           const std::string &title = "") {
    text_ += "<rect class=\"" + std::string(kind) + "\" x=\"" + pixels(x) + "\" y=\"" + pixels(y) +
             "\" width=\"" + pixels(width) + "\" height=\"" + pixels(height) + "\"";
    text_ += title.empty() ? "/>\n" : "><title>" + title + "</title></rect>\n";
  }
  void line(double x, double top, double bottom) {
    text_ += "<line class=\"limit\" x1=\"" + pixels(x) + "\" x2=\"" + pixels(x) + "\" y1=\"" +
             pixels(top) + "\" y2=\"" + pixels(bottom) + "\"/>\n";
  }
  void label(double x, double y, const std::string &content) {
    text_ += "<text x=\"" + pixels(x) + "\" y=\"" + pixels(y) + "\">" + content + "</text>\n";
  }
  std::string finish(double width, double height) const {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + pixels(width) + "\" height=\"" +
           pixels(height) + "\" viewBox=\"0 0 " + pixels(width) + " " + pixels(height) +
           "\" role=\"img\">\n"
           "<style>text{font:13px sans-serif;fill:#222}.page{fill:#fff}.chosen{fill:#e3eefc}"
           ".leads{fill:#14539a}.shares{fill:#cfd6de}.loss{fill:#c2571a}.flops{fill:#3b7d4f}"
           ".limit{stroke:#222;stroke-dasharray:4 3}</style>\n" +
           text_ + "</svg>\n";
  }

private:
  std::string text_;
};

/// Losses as lengths of bars. What lies at or below the left end has no length.
class LogScale {
public:
  explicit LogScale(const Results &results) {
    double least = results.maxLoss > 0 ? results.maxLoss / 100 : 1e-5, most = 10 * least;
    for (const ScoredSchedule &entry : results.search.frontier)
      if (std::isfinite(entry.loss))
        most = std::max(most, entry.loss);
    low_ = std::log10(least);
    high_ = std::log10(std::max(most, 2 * results.maxLoss));
  }
  double length(double loss) const {
    if (!(loss > 0))
      return 0;
    return kBarWidth * std::clamp((std::log10(loss) - low_) / (high_ - low_), 0.0, 1.0);
  }

private:
  double low_, high_;
};

} // namespace

std::string drawSvg(const Results &results) {
  const std::vector<ScoredSchedule> &frontier = results.search.frontier;
  double layers = double(frontier.front().pattern.size());
  double square = std::clamp(600 / layers, 4.0, 18.0);
  double squares = kLeft + kCountWidth, losses = squares + layers * square + 24;
  double flops = losses + kBarWidth + kGap, width = flops + kBarWidth + kGap;
  double bottom = kTop + kRow * double(frontier.size()), height = bottom + 32;
  double most = *std::max_element(results.flops.begin(), results.flops.end());
  LogScale scale(results);

  Drawing drawing;
  drawing.box("page", 0, 0, width, height);
  drawing.label(kLeft, 24, "Schedules of " + escape(results.checkpoint));
  drawing.label(kLeft, kTop - 12, "layers that lead");
  drawing.label(losses, kTop - 12, "loss, nats per byte (logarithmic)");
  drawing.label(flops, kTop - 12,
                "GFLOP per token at " + std::to_string(results.context) + " tokens of context");
  for (size_t i = 0; i < frontier.size(); ++i) {
    const ScoredSchedule &entry = frontier[i];
    double top = kTop + kRow * double(i), text = top + kRow - 8;
    if (i == results.search.chosen)
      drawing.box("chosen", 0, top, width, kRow);
    drawing.label(kLeft, text, std::to_string(countLeaders(entry.pattern)));
    for (size_t layer = 0; layer < entry.pattern.size(); ++layer) {
      bool leads = entry.pattern[layer] == 'F';
      drawing.box(leads ? "leads" : "shares", squares + double(layer) * square, top + 4, square - 1,
                  kRow - 8,
                  "layer " + std::to_string(layer) + (leads ? " leads" : " uses rows from below"));
    }
    double loss = scale.length(entry.loss), flop = kBarWidth * results.flops[i] / most;
    drawing.box("loss", losses, top + 4, loss, kRow - 8);
    drawing.label(losses + loss + 6, text, number("%.5f", entry.loss));
    drawing.box("flops", flops, top + 4, flop, kRow - 8);
    drawing.label(flops + flop + 6, text, number("%.4g", results.flops[i] / 1e9));
  }
  double limit = losses + scale.length(results.maxLoss);
  drawing.line(limit, kTop - 6, bottom + 6);
  drawing.label(limit + 6, bottom + 20, "limit " + number("%g", results.maxLoss));
  return drawing.finish(width, height);
}

std::string drawHtml(const Results &results) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>strata-tune"
         "</title></head>\n<body>\n" +
         drawSvg(results) + "<pre>" + escape(formatTable(results)) + "</pre>\n</body>\n</html>\n";
}

} // namespace strata::tune
