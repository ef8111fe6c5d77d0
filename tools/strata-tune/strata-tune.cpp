//===- strata-tune.cpp - Finds which layers can share an index ------------===//
#include "CommandLine.h"
#include "Results.h"
#include "TunedModel.h"

#include "strata/lib/Support/File.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

using namespace strata;
using namespace strata::tune;

/// Fails before hours of runs, not after them.
static Status checkOutputs(const CommandLine &commandLine) {
  for (const std::string *path : {&commandLine.json, &commandLine.picture, &commandLine.schedule})
    if (!path->empty())
      if (Expected<AtomicFile> file = AtomicFile::create(*path); !file.ok())
        return file.status();
  return Status::success();
}

static Status writeOutputs(const CommandLine &commandLine, const Results &results) {
  if (!commandLine.json.empty())
    if (Status status = writeFile(commandLine.json, formatJson(results)); !status.ok())
      return status;
  if (!commandLine.picture.empty()) {
    bool isPage = llvm::StringRef(commandLine.picture).ends_with(".html");
    if (Status status =
            writeFile(commandLine.picture, isPage ? drawHtml(results) : drawSvg(results));
        !status.ok())
      return status;
  }
  if (commandLine.schedule.empty())
    return Status::success();
  return writeFile(commandLine.schedule, results.chosenSchedule() + "\n");
}

static void showRun(const std::string &pattern, int64_t windows, double loss, int64_t runs) {
  llvm::errs() << llvm::formatv("run {0}: {1}, {2} windows, loss {3:F5}\n", runs, pattern, windows,
                                loss);
}

static Status tuneModel(const CommandLine &commandLine) {
  if (Status status = checkOutputs(commandLine); !status.ok())
    return status;
  Expected<std::unique_ptr<TunedModel>> opened = TunedModel::open(commandLine);
  if (!opened.ok())
    return opened.status();
  TunedModel &model = **opened;
  Results results{commandLine.checkpoint,
                  commandLine.text,
                  commandLine.window,
                  model.windows(),
                  commandLine.maxLoss,
                  model.context(),
                  {},
                  {},
                  {}};
  Expected<std::vector<double>> baseline = model.scoreDeclared(results.recall);
  if (!baseline.ok())
    return baseline.status();
  showRun(model.declared(), model.windows(), 0, 1);

  SearchInput input{model.declared(), *baseline, results.recall, commandLine.maxLoss,
                    commandLine.screening};
  auto run = [&](const std::string &pattern, const std::vector<int64_t> &windows) {
    return model.score(pattern, windows);
  };
  Expected<SearchResult> search = ScheduleSearch(std::move(input), run, showRun).search();
  if (!search.ok())
    return search.status();
  results.search = std::move(*search);
  for (const ScoredSchedule &entry : results.search.frontier) {
    Expected<double> flops = model.flops(entry.pattern);
    if (!flops.ok())
      return flops.status();
    results.flops.push_back(*flops);
  }
  llvm::outs() << formatTable(results);
  return writeOutputs(commandLine, results);
}

int main(int argc, char **argv) {
  std::optional<CommandLine> commandLine = parseCommandLine(argc, argv);
  if (!commandLine)
    return EXIT_FAILURE;
  Status status = tuneModel(*commandLine);
  if (status.ok())
    return EXIT_SUCCESS;
  llvm::WithColor::error(llvm::errs(), "strata-tune") << status.message() << "\n";
  return EXIT_FAILURE;
}
