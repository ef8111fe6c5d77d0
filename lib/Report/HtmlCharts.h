//===- HtmlCharts.h - Pictures of a report as inline SVG --------*- C++ -*-===//
#ifndef STRATA_LIB_REPORT_HTMLCHARTS_H
#define STRATA_LIB_REPORT_HTMLCHARTS_H

#include "strata/lib/Report/Report.h"

namespace strata {

/// One part of a bar: its CSS class and name, and its value.
struct ChartPart {
  llvm::StringRef style;
  llvm::StringRef name;
  double value;
};

/// A bar, with a label before it and one behind.
struct ChartBar {
  std::string label;
  std::string total;
  llvm::SmallVector<ChartPart, 3> parts;
};

/// Bars of equal length whose parts are shares of the whole, with a legend.
void drawShareBars(llvm::raw_ostream &stream, llvm::StringRef title, llvm::ArrayRef<ChartBar> bars);

/// The model's layers side by side: FLOPs of each by kind, and below them who leads and who
/// follows.
void drawLayerStrip(llvm::raw_ostream &stream, const Report &report);

} // namespace strata

#endif // STRATA_LIB_REPORT_HTMLCHARTS_H
