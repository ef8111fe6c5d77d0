//===- Diagnostics.h - Diagnostics without lines of a whole model -*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATA_COMPILE_DIAGNOSTICS_H
#define STRATA_TOOLS_STRATA_COMPILE_DIAGNOSTICS_H

#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

namespace strata {

/// The line of a step's signature names every cache of a model: kilobytes that would push the
/// message out of sight.
constexpr size_t kLongestShownLine = 200;

/// Prints a diagnostic, and its source line unless that is longer than `kLongestShownLine`.
inline void printDiagnostic(const llvm::SMDiagnostic &diagnostic, void *) {
  if (diagnostic.getLineContents().size() <= kLongestShownLine) {
    diagnostic.print(/*ProgName=*/nullptr, llvm::errs());
    return;
  }
  // Without a source manager there is no place, so it becomes part of the file's name.
  std::string place = (diagnostic.getFilename() + ":" + llvm::Twine(diagnostic.getLineNo()) + ":" +
                       llvm::Twine(diagnostic.getColumnNo() + 1))
                          .str();
  llvm::SMDiagnostic(place, diagnostic.getKind(), diagnostic.getMessage())
      .print(/*ProgName=*/nullptr, llvm::errs());
}

} // namespace strata

#endif // STRATA_TOOLS_STRATA_COMPILE_DIAGNOSTICS_H
