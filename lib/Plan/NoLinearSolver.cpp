//===- NoLinearSolver.cpp - What builds without a solver say --------------===//
#include "strata/lib/Plan/LinearProgram.h"

namespace strata::plan {

bool LinearProgram::isSupported() { return false; }

Expected<LinearProgram::Solution> LinearProgram::solve() const {
  return Status(StatusCode::Unsupported,
                "this build has no solver of linear programs: CLP was not found");
}

} // namespace strata::plan
