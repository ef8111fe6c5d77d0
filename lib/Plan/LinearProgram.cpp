//===- LinearProgram.cpp - Rows and columns, for whatever solver ----------===//
#include "strata/lib/Plan/LinearProgram.h"

namespace strata::plan {

int LinearProgram::addRow(double least, double most) {
  rowLeast.push_back(least);
  rowMost.push_back(most);
  return int(rowLeast.size()) - 1;
}

int LinearProgram::addColumn(double cost, double least, double most,
                             const std::vector<Entry> &entries) {
  costs.push_back(cost);
  columnLeast.push_back(least);
  columnMost.push_back(most);
  for (const Entry &entry : entries) {
    rows.push_back(entry.row);
    factors.push_back(entry.factor);
  }
  begins.push_back(int(rows.size()));
  return int(costs.size()) - 1;
}

} // namespace strata::plan
