//===- strata-run.cpp - Continues prompts with a compiled model -----------===//
#include "Generate.h"
#include "Score.h"

#include "strata-rt/kernel-abi.h"
#include "strata/lib/Support/Program.h"
#include "strata/runtime/core/PackagePrinter.h"

#include <cstdio>

using namespace strata;

static Status printText(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return Status(StatusCode::Io, "writing to standard output failed");
  return Status::success();
}

static Status runTool(const run::Options &options) {
  if (options.help)
    return printText(run::kHelp);
  if (options.version)
    return printText("strata-run " STRATA_VERSION ", packages of version " +
                     std::to_string(STRATA_RT_PACKAGE_VERSION) + "\n");
  if (!options.print)
    return options.score.empty() ? run::generate(options) : run::score(options);
  Expected<std::unique_ptr<rt::Package>> package = rt::Package::open(options.input);
  if (!package.ok())
    return package.status();
  return printText(rt::printPackage(**package));
}

int main(int argc, char **argv) {
  beginProgram("strata-run: ");
  Expected<run::Options> options =
      run::parseOptions(std::vector<std::string>(argv + 1, argv + argc));
  Status status = options.ok() ? runTool(*options) : options.status();
  if (status.ok())
    return 0;
  std::fprintf(stderr, "strata-run: error: %s\n", status.message().c_str());
  return 1;
}
