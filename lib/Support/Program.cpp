//===- Program.cpp - How the project's programs begin ---------------------===//
#include "strata/lib/Support/Program.h"

#include <csignal>
#include <cstring>
#include <initializer_list>
#include <new>
#include <unistd.h>

namespace strata {

static const char *messagePrefix = "";

/// Nothing here may need memory.
static void endOutOfMemory() {
  for (const char *text : {messagePrefix, "error: out of memory\n"})
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0)
      break;
  ::_exit(1);
}

void beginProgram(const char *prefix) {
  messagePrefix = prefix;
  std::set_new_handler(endOutOfMemory);
  std::signal(SIGXFSZ, SIG_IGN);
}

} // namespace strata
