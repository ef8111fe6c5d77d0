//===- strata-bench.cpp - Measures times on this machine ------------------===//
#include "Options.h"

#include "strata/lib/Support/File.h"
#include "strata/lib/Support/Program.h"

#include <cstdio>

using namespace strata;
using namespace strata::bench;

static Status printText(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return Status(StatusCode::Io, "writing to standard output failed");
  return Status::success();
}

/// Ceilings come first: everything is a share of them.
static Expected<Ceilings> printCeilings(const CeilingOptions &options) {
  Expected<Ceilings> ceilings = measureCeilings(options);
  if (!ceilings.ok())
    return ceilings.status();
  for (const Line &line : ceilings->lines)
    if (Status status = printText(writeText(line) + "\n"); !status.ok())
      return status;
  return ceilings;
}

static Expected<Placement> runPlacement(const Options &options) {
  Expected<std::unique_ptr<rt::Package>> package = rt::Package::open(options.package);
  if (!package.ok())
    return package.status();
  Expected<Checkpoint> checkpoint = Checkpoint::open(options.weights);
  if (!checkpoint.ok())
    return checkpoint.status();
  Expected<Machine> machine = findMachine(options.machine);
  if (!machine.ok())
    return machine.status();
  return comparePlacement(**package, *checkpoint, *machine, options.placement);
}

static Status runTool(const Options &options) {
  if (options.help)
    return printText(kHelp);
  if (options.version)
    return printText("strata-bench " STRATA_VERSION "\n");
  Expected<Ceilings> ceilings = printCeilings(options.ceilings);
  if (!ceilings.ok())
    return ceilings.status();
  std::string json = writeJson(ceilings->lines);
  if (options.command == Options::Command::Placement) {
    Expected<Placement> placement = runPlacement(options);
    if (!placement.ok())
      return placement.status();
    if (Status status = printText(placement->text(*ceilings)); !status.ok())
      return status;
    json += placement->json(*ceilings);
  }
  return options.json.empty() ? Status::success() : writeFile(options.json, json);
}

int main(int argc, char **argv) {
  beginProgram("strata-bench: ");
  Expected<Options> options = parseOptions(std::vector<std::string>(argv + 1, argv + argc));
  Status status = options.ok() ? runTool(*options) : options.status();
  if (status.ok())
    return 0;
  std::fprintf(stderr, "strata-bench: error: %s\n", status.message().c_str());
  return 1;
}
