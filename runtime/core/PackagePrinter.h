//===- PackagePrinter.h - A package as text ---------------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_PACKAGEPRINTER_H
#define STRATA_RUNTIME_CORE_PACKAGEPRINTER_H

#include "strata/runtime/core/Package.h"

#include <string>

namespace strata::rt {

/// Manifest and command list, for people: one entry a line, everything that the manifest says. The
/// same package always gives the same text.
std::string printPackage(const Package &package);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_PACKAGEPRINTER_H
