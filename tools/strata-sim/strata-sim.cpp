//===- strata-sim.cpp - Predicts a package's steps on a machine -----------===//
#include "Options.h"

#include "strata/lib/Sim/PerfettoWriter.h"
#include "strata/lib/Sim/Writers.h"
#include "strata/lib/Support/File.h"
#include "strata/lib/Support/Program.h"

#include <cstdio>

using namespace strata;
using namespace strata::sim;

static Status printText(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return Status(StatusCode::Io, "writing to standard output failed");
  return Status::success();
}

static Expected<Simulation> runSimulation(const rt::Package &package, const Options &options,
                                          rt::Trace &trace) {
  Expected<Machine> machine = findMachine(options.machine);
  if (!machine.ok())
    return machine.status();
  if (options.rows.empty()) {
    Expected<Simulation> simulation = simulate(package.manifest(), *machine, options.simulation);
    if (simulation.ok()) {
      trace.beginStep(0, simulation->step.tokens);
      writeStep(*simulation, simulation->step, 0, trace);
    }
    return simulation;
  }
  RunOptions run;
  run.promptTokens = options.promptTokens;
  run.chunk = options.chunk;
  run.program = options.simulation.program;
  for (const std::string &path : options.rows) {
    Expected<RunOptions::Prompt> prompt = readRows(package.model(), path);
    if (!prompt.ok())
      return prompt.status();
    run.prompts.push_back(std::move(*prompt));
  }
  return simulateRun(package, *machine, std::move(run),
                     options.perfetto.empty() ? nullptr : &trace);
}

static Status writeReports(const Simulation &simulation, const Options &options,
                           const rt::Trace &trace) {
  std::string report = options.report == Options::Report::Json   ? writeJson(simulation)
                       : options.report == Options::Report::Html ? writeHtml(simulation)
                                                                 : writeText(simulation);
  if (!options.json.empty())
    if (Status status = writeFile(options.json, writeJson(simulation)); !status.ok())
      return status;
  if (!options.perfetto.empty())
    if (Status status = trace.write(options.perfetto); !status.ok())
      return status;
  return options.output.empty() ? printText(report) : writeFile(options.output, report);
}

static Status runTool(const Options &options) {
  if (options.help)
    return printText(kHelp);
  if (options.version)
    return printText("strata-sim " STRATA_VERSION "\n");
  Expected<std::unique_ptr<rt::Package>> package = rt::Package::open(options.package);
  if (!package.ok())
    return package.status();
  if (options.sizes)
    return printText(writeSizes((*package)->manifest(), options.simulation.program.formats.caches,
                                options.slots));
  rt::Trace trace;
  Expected<Simulation> simulation = runSimulation(**package, options, trace);
  if (!simulation.ok())
    return simulation.status();
  return writeReports(*simulation, options, trace);
}

int main(int argc, char **argv) {
  beginProgram("strata-sim: ");
  Expected<Options> options = parseOptions(std::vector<std::string>(argv + 1, argv + argc));
  Status status = options.ok() ? runTool(*options) : options.status();
  if (status.ok())
    return 0;
  std::fprintf(stderr, "strata-sim: error: %s\n", status.message().c_str());
  return 1;
}
