//===- LinkSharedObject.h - lld, in process ---------------------*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_LINKSHAREDOBJECT_H
#define STRATA_LIB_TARGET_LINKSHAREDOBJECT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace strata {

/// Links a relocatable ELF object into a shared object without dependencies: same input, same
/// bytes. lld works on files; they lie in a folder of their own below the system's temporary folder
/// that is removed in any case. May be called again and again, by one thread at a time.
llvm::Expected<std::string> linkSharedObject(llvm::StringRef object);

} // namespace strata

#endif // STRATA_LIB_TARGET_LINKSHAREDOBJECT_H
