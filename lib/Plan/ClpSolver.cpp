//===- ClpSolver.cpp - Linear programs by CLP -----------------------------===//
//
// Through CLP's C interface: its C++ headers need exceptions.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Plan/LinearProgram.h"

#include <coin/Clp_C_Interface.h>

#include <memory>

namespace strata::plan {

bool LinearProgram::isSupported() { return true; }

Expected<LinearProgram::Solution> LinearProgram::solve() const {
  std::unique_ptr<Clp_Simplex, void (*)(Clp_Simplex *)> model(Clp_newModel(), Clp_deleteModel);
  Clp_setLogLevel(model.get(), 0);
  Clp_loadProblem(model.get(), int(costs.size()), int(rowLeast.size()), begins.data(), rows.data(),
                  factors.data(), columnLeast.data(), columnMost.data(), costs.data(),
                  rowLeast.data(), rowMost.data());
  // Programs here are scaled by who writes them; CLP's own scaling takes three times as many steps.
  Clp_scaling(model.get(), 0);
  Clp_dual(model.get(), 0);
  if (Clp_status(model.get()) != 0)
    return Status(StatusCode::NotFound, "the linear program has no least cost: its status is " +
                                            std::to_string(Clp_status(model.get())));
  Solution solution;
  solution.cost = Clp_getObjValue(model.get());
  const double *columns = Clp_primalColumnSolution(model.get());
  const double *prices = Clp_dualRowSolution(model.get());
  solution.columns.assign(columns, columns + costs.size());
  solution.rowPrices.assign(prices, prices + rowLeast.size());
  return solution;
}

} // namespace strata::plan
