//===- Processor.cpp - The processors that kernels are compiled for -------===//
#include "strata/lib/Target/Processor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/TargetParser/Host.h"

using namespace strata;

/// The highest level whose instructions this machine has.
static const char *getNativeLevel() {
  if (__builtin_cpu_supports("x86-64-v4"))
    return "x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3"))
    return "x86-64-v3";
  return __builtin_cpu_supports("x86-64-v2") ? "x86-64-v2" : "x86-64";
}

std::optional<Processor> strata::getProcessorByName(llvm::StringRef name) {
  if (name == "native")
    return Processor{getNativeLevel(), llvm::sys::getHostCPUName().str()};
  if (llvm::is_contained({"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}, name))
    return Processor{name.str()};
  return std::nullopt;
}

llvm::StringRef strata::getProcessorNames() {
  return "x86-64, x86-64-v2, x86-64-v3, x86-64-v4, native";
}
