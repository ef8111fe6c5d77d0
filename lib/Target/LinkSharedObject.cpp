//===- LinkSharedObject.cpp - lld, in process -----------------------------===//
#include "strata/lib/Target/LinkSharedObject.h"

#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

using namespace llvm;

Expected<std::string> strata::linkSharedObject(StringRef object) {
  SmallString<128> folder;
  if (std::error_code error = sys::fs::createUniqueDirectory("strata-link", folder))
    return createFileError("temporary folder for the linker", error);
  llvm::scope_exit removeFolder([&] { (void)sys::fs::remove_directories(folder); });

  SmallString<128> input = folder, output = folder;
  sys::path::append(input, "kernels.o");
  sys::path::append(output, "kernels.so");
  std::error_code error;
  raw_fd_ostream stream(input, error);
  if (error)
    return createFileError(input, error);
  stream << object;
  stream.close();
  if (stream.has_error()) {
    error = stream.error();
    stream.clear_error();
    return createFileError(input, error);
  }

  // One thread: the objects are small, and lld's threads would outlive the call. Nothing of the
  // build's time or place gets into the result.
  std::string messages;
  raw_string_ostream errors(messages);
  bool linked = lld::elf::link({"ld.lld", "-shared", "--threads=1", "--build-id=none",
                                "--hash-style=gnu", "-z", "now", "--gc-sections", "--strip-all",
                                "-o", output.c_str(), input.c_str()},
                               errors, errors, /*exitEarly=*/false, /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();
  if (!linked)
    return createStringError("the linker failed: " + StringRef(messages).trim());

  auto buffer = MemoryBuffer::getFile(output);
  if (!buffer)
    return createFileError(output, buffer.getError());
  return (*buffer)->getBuffer().str();
}
