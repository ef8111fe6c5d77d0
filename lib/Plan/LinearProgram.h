//===- LinearProgram.h - Linear programs, by CLP where it is ----*- C++ -*-===//
#ifndef STRATA_LIB_PLAN_LINEARPROGRAM_H
#define STRATA_LIB_PLAN_LINEARPROGRAM_H

#include "strata/lib/Support/Status.h"

#include <limits>
#include <vector>

namespace strata::plan {

/// Minimizes a linear cost over columns within bounds, under rows within bounds.
class LinearProgram {
public:
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  struct Entry {
    int row;
    double factor;
  };
  /// Rows come first, empty; a column brings its entries. Both return their number.
  int addRow(double least, double most);
  int addColumn(double cost, double least, double most, const std::vector<Entry> &entries);

  struct Solution {
    double cost = 0;
    std::vector<double> columns;
    std::vector<double> rowPrices; ///< by how much the cost grows with the row's bound
  };
  /// Solves it; the same program has the same solution. NotFound where the least cost can't be
  /// found: no columns satisfy the rows, or the cost has no limit. Unsupported where the build
  /// found no solver.
  Expected<Solution> solve() const;
  /// Whether there is a solver.
  static bool isSupported();

private:
  std::vector<double> rowLeast, rowMost;
  std::vector<double> costs, columnLeast, columnMost;
  std::vector<int> begins{0}, rows; ///< compressed by columns
  std::vector<double> factors;
};

} // namespace strata::plan

#endif // STRATA_LIB_PLAN_LINEARPROGRAM_H
