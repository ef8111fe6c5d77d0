//===- Processor.h - The processors that kernels are compiled for -*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_PROCESSOR_H
#define STRATA_LIB_TARGET_PROCESSOR_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace strata {

/// What kernels may use, and what they are scheduled for.
struct Processor {
  /// A level of the x86-64 psABI: x86-64, x86-64-v2, x86-64-v3 or x86-64-v4. The runtime checks it
  /// before it takes a variant.
  std::string level;
  /// LLVM's name of the processor that instructions are chosen and ordered for; "generic": all.
  std::string tuning = "generic";
};

/// A level by its name. `native` is the highest level that this machine has, tuned for its
/// processor. Nothing when the name is unknown.
std::optional<Processor> getProcessorByName(llvm::StringRef name);

/// The names that `getProcessorByName` knows, for messages: "x86-64, …".
llvm::StringRef getProcessorNames();

} // namespace strata

#endif // STRATA_LIB_TARGET_PROCESSOR_H
