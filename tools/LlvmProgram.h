//===- LlvmProgram.h - Programs that link LLVM, the project's messages -*- C++ -*-===//
#ifndef STRATA_TOOLS_LLVMPROGRAM_H
#define STRATA_TOOLS_LLVMPROGRAM_H

#include "strata/lib/Support/Program.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace strata {

/// `beginProgram`; and where LLVM would abort with a trace of its own stack (no memory, no thread),
/// it says why and the program ends with 1.
inline void beginLlvmProgram() {
  beginProgram("");
  auto end = [](void *, const char *reason, bool) {
    llvm::WithColor::error(llvm::errs()) << reason << "\n";
    std::_Exit(1);
  };
  llvm::install_fatal_error_handler(end);
  llvm::install_bad_alloc_error_handler(end);
}

/// What `call` writes to standard error. LLVM's options offer no other way to what their own values
/// are refused for.
template <typename Call> std::string captureErrors(Call call) {
  int capture = ::memfd_create("errors", MFD_CLOEXEC), original = ::dup(STDERR_FILENO);
  ::dup2(capture, STDERR_FILENO);
  call();
  ::dup2(original, STDERR_FILENO);
  std::string text(size_t(std::max<off_t>(::lseek(capture, 0, SEEK_CUR), 0)), '\0');
  text.resize(size_t(std::max<ssize_t>(::pread(capture, text.data(), text.size(), 0), 0)));
  ::close(capture);
  ::close(original);
  return text;
}

/// cl::ParseCommandLineOptions, whose errors look like all others: one line "error: …", lower case,
/// with its advice at the end.
inline bool parseOptions(int argc, char **argv, llvm::StringRef overview) {
  bool parsed = false;
  std::string text = captureErrors(
      [&] { parsed = llvm::cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs()); });
  if (parsed) {
    llvm::errs() << text;
    return true;
  }
  llvm::StringRef line = llvm::StringRef(text).split('\n').first;
  line.consume_front(llvm::sys::path::filename(argv[0]));
  line.consume_front(": ");
  std::string message = line.split(".  Try").first.rtrim("!.").str();
  if (!message.empty())
    message.front() = llvm::toLower(message.front());
  llvm::WithColor::error(llvm::errs()) << message << "; see --help\n";
  return false;
}

} // namespace strata

#endif // STRATA_TOOLS_LLVMPROGRAM_H
