//===- PlacementFlags.cpp - The options of the phase place ----------------===//
#include "PlacementFlags.h"

#include "strata/runtime/core/Executor.h"

#include "llvm/Support/WithColor.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace strata;

PlacementFlags::PlacementFlags(cl::OptionCategory &category)
    : machine("machine", cl::cat(category), cl::value_desc("name or file"),
              cl::desc("the machine to place weights and caches for: a shipped one's name, or a "
                       "description as JSON (default: everything in one memory)")),
      nearBytes("hbm", cl::cat(category), cl::value_desc("size"),
                cl::desc("with --machine: bytes of the near tier, such as 64MiB or 80GB (default: "
                         "what the machine has)")),
      tokens("tokens", cl::cat(category), cl::value_desc("n"),
             cl::desc("with --machine: the most tokens of a step (default: 256, or --batch if that "
                      "is more)")),
      trace("trace", cl::cat(category), cl::value_desc("rows.npy"),
            cl::desc("with --machine: plan for hot sets that miss as often as they would have for "
                     "these rows, which strata-run --rows wrote (default: as published)")),
      readPlan("plan", cl::cat(category), cl::value_desc("file"),
               cl::desc("with --machine: follow this plan, written by --write-plan, instead of "
                        "making one")),
      writePlan("write-plan", cl::cat(category), cl::value_desc("file"),
                cl::desc("with --machine: write the plan as JSON")) {}

/// Bytes of "4096", "64MiB", "1.5GB"; nothing for other texts and for sizes that are not positive.
static std::optional<uint64_t> parseBytes(StringRef text) {
  static constexpr std::pair<StringLiteral, double> kUnits[] = {
      {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"KB", 1e3},
      {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},    {"B", 1},
  };
  double unit = 1, number;
  for (auto [name, bytes] : kUnits)
    if (text.consume_back(name)) {
      unit = bytes;
      break;
    }
  if (text.empty() || text.find_first_not_of("0123456789.") != StringRef::npos ||
      text.getAsDouble(number))
    return std::nullopt;
  double bytes = std::floor(number * unit);
  if (bytes < 1 || bytes > 0x1p62)
    return std::nullopt;
  return uint64_t(bytes);
}

mlir::FailureOr<PlacementOptions> PlacementFlags::get(const ReportFlags &report,
                                                      bool isPlaced) const {
  PlacementOptions options;
  if (!hasMachine()) {
    for (const cl::Option *option : std::initializer_list<const cl::Option *>{
             &nearBytes, &tokens, &trace, &readPlan, &writePlan, &machine})
      if (option->getNumOccurrences()) {
        if (option == &machine)
          WithColor::error() << "--machine: expected a name or a file\n";
        else
          WithColor::error() << "--" << option->ArgStr << " belongs to --machine\n";
        return mlir::failure();
      }
    return options;
  }
  if (!isPlaced) {
    WithColor::error() << "--machine: the phase place, which it is for, is not among those that "
                          "run\n";
    return mlir::failure();
  }
  mlir::FailureOr<std::pair<int64_t, int64_t>> sizes = report.getStepSizes();
  if (failed(sizes))
    return mlir::failure();
  options.machine = machine;
  options.context = sizes->first;
  options.batch = sizes->second;
  if (tokens.getNumOccurrences() && (tokens < 1 || tokens > rt::kMaxStepTokens)) {
    WithColor::error() << "--tokens: expected 1 to " << rt::kMaxStepTokens << " but got "
                       << tokens.getValue() << "\n";
    return mlir::failure();
  }
  if (tokens.getNumOccurrences() && tokens < options.batch) {
    WithColor::error() << "--tokens: expected at least one for each of the " << options.batch
                       << " sequences but got " << tokens.getValue() << "\n";
    return mlir::failure();
  }
  options.tokens = tokens.getNumOccurrences() ? tokens : 0;
  if (nearBytes.getNumOccurrences()) {
    std::optional<uint64_t> bytes = parseBytes(nearBytes);
    if (!bytes) {
      WithColor::error() << "--hbm: expected a size such as 64MiB or 80GB but got '" << nearBytes
                         << "'\n";
      return mlir::failure();
    }
    options.nearBytes = *bytes;
  }
  if (!readPlan.empty() && !writePlan.empty() && readPlan == writePlan) {
    WithColor::error() << "--plan and --write-plan: expected two files but got '" << readPlan
                       << "' for both\n";
    return mlir::failure();
  }
  options.trace = trace;
  options.readPlan = readPlan;
  options.writePlan = writePlan;
  return options;
}
