//===- CommandLine.cpp - The options of strata-compile --------------------===//
#include "CommandLine.h"

#include "../LlvmProgram.h"

#include "strata/lib/Target/ManifestBuilder.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace strata;

static void printVersion(raw_ostream &stream) {
  stream << getProducer() << "\n";
  LLVMInitializeX86TargetInfo();
  TargetRegistry::printRegisteredTargetsForVersion(stream);
}

/// Named processors whose levels differ.
static std::optional<std::vector<Processor>> getProcessors(ArrayRef<std::string> names) {
  std::vector<Processor> processors;
  for (StringRef name : names) {
    std::optional<Processor> processor = getProcessorByName(name);
    if (!processor) {
      WithColor::error() << "--cpu: expected one of " << getProcessorNames() << " but got '" << name
                         << "'\n";
      return std::nullopt;
    }
    for (const Processor &other : processors)
      if (other.level == processor->level) {
        WithColor::error() << "--cpu: " << name << " stands for " << other.level
                           << ", which is asked for already\n";
        return std::nullopt;
      }
    processors.push_back(*processor);
  }
  return processors;
}

namespace {

/// LLVM's registry of options keeps pointers to them, and lld resets all that are registered; so
/// they live as long as the program.
struct Flags {
  cl::OptionCategory category{"Options of strata-compile"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<model.mlir>"), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::cat(category), cl::value_desc("file"),
                              cl::desc("where the result goes; a report goes to standard output")};
  cl::ValuesClass formats = cl::values(clEnumValN(NumberFormat::F32, "f32", "single precision"),
                                       clEnumValN(NumberFormat::BF16, "bf16", "bfloat16"));
  cl::opt<NumberFormat> compute{
      "compute", formats, cl::cat(category),
      cl::desc("what products round their operands to (default: by the weights' types)")};
  cl::opt<CacheChoice> cache{
      "cache", cl::cat(category), cl::desc("what caches hold (default: by the weights' types)"),
      cl::values(
          clEnumValN(CacheChoice::F32, "f32", "single precision"),
          clEnumValN(CacheChoice::BF16, "bf16", "bfloat16; in reports with index keys of e4m3"),
          clEnumValN(CacheChoice::FP8, "fp8", "e4m3 with scales; in reports alone"))};
  cl::opt<int64_t> pageSize{"page-size", cl::init(64),
                            cl::desc("tokens in a page of the caches (default: 64)"),
                            cl::value_desc("n"), cl::cat(category)};
  cl::opt<std::string> schedule{
      "schedule", cl::init("declared"), cl::cat(category), cl::value_desc("schedule"),
      cl::desc("which layers use whose rows (default: declared, what the model was trained for): "
               "pattern:FSSS, every:N,offset:M or groups:0;1;2-5")};
  cl::list<Approximation> allowed{
      "allow-approximate", cl::CommaSeparated, cl::cat(category),
      cl::desc("what may change results"),
      cl::values(clEnumValN(Approximation::Sharing, "sharing",
                            "a schedule that the model was not trained for"),
                 clEnumValN(Approximation::SplitRounding, "split-rounding",
                            "sums in another order: what --split-attention does"))};
  cl::opt<bool> importRows{"import-rows", cl::cat(category),
                           cl::desc("take rows as an input: the program has no indexer")};
  cl::opt<bool> exportRows{"export-rows", cl::cat(category),
                           cl::desc("make rows a result of the program")};
  cl::opt<std::string> remarks{
      "remarks-filter", cl::value_desc("regex"), cl::cat(category),
      cl::desc("show what passes decided, by category: strata-share, strata-join, …")};
  cl::list<std::string> cpu{
      "cpu", cl::CommaSeparated, cl::value_desc("name,…"), cl::cat(category),
      cl::desc("processors to compile for (default: x86-64,x86-64-v3): x86-64, x86-64-v2, "
               "x86-64-v3, x86-64-v4, native")};
  cl::opt<Phase> from{"from", cl::init(Phase::Input), cl::cat(category),
                      cl::desc("the phase whose end the module is at")};
  cl::opt<Phase> to{"to", cl::init(Phase::Emit), cl::cat(category),
                    cl::desc("the phase to stop after")};
  cl::opt<bool> noInputModule{"no-input-module", cl::cat(category),
                              cl::desc("leave out what --device=reference needs")};
  cl::opt<bool> bytecode{"emit-bytecode", cl::cat(category),
                         cl::desc("write bytecode instead of text before emit")};

  ReportFlags report{category};
  PlacementFlags placement{category};
  cl::opt<bool> splitAttention{
      "split-attention", cl::cat(category),
      cl::desc("with --machine: where the first layer of a group waits for rows from far memory, "
               "attend to those that are there meanwhile and to the others afterwards. Hides more "
               "of the transfer than computing their scores alone, which is the default; but the "
               "last bits of results change with what is there, so it needs "
               "--allow-approximate=split-rounding")};

  Flags() {
    for (Phase phase : getPhases()) {
      from.getParser().addLiteralOption(getPhaseName(phase), phase, "");
      to.getParser().addLiteralOption(getPhaseName(phase), phase, "");
    }
  }
};

} // namespace

std::optional<CommandLine> strata::parseCommandLine(int argc, char **argv) {
  static Flags flags;
  cl::HideUnrelatedOptions(flags.category);
  cl::SetVersionPrinter(printVersion);
  if (!parseOptions(argc, argv, "compiles a model to a package\n"))
    return std::nullopt;
  if (flags.input.empty()) {
    WithColor::error() << "expected a model.mlir; see --help\n";
    return std::nullopt;
  }

  CommandLine result{flags.input, flags.output, flags.from, flags.to};
  if (result.from > result.to || result.from == Phase::Emit) {
    WithColor::error() << "--from " << getPhaseName(result.from) << " --to "
                       << getPhaseName(result.to) << ": there is nothing to do\n";
    return std::nullopt;
  }
  bool isShared = result.from < Phase::Share && result.to >= Phase::Share;
  for (const cl::Option *option : {static_cast<const cl::Option *>(&flags.schedule),
                                   static_cast<const cl::Option *>(&flags.importRows),
                                   static_cast<const cl::Option *>(&flags.exportRows)})
    if (option->getNumOccurrences() && !isShared) {
      WithColor::error() << "--" << option->ArgStr
                         << ": the phase share, which it is for, is not "
                            "between --from "
                         << getPhaseName(result.from) << " and --to " << getPhaseName(result.to)
                         << "\n";
      return std::nullopt;
    }
  if (flags.importRows && flags.exportRows) {
    WithColor::error() << "--import-rows and --export-rows exclude each other: a program without "
                          "indexers has no rows of its own\n";
    return std::nullopt;
  }
  if (!flags.remarks.empty() && !llvm::Regex(flags.remarks).isValid()) {
    WithColor::error() << "--remarks-filter: expected a regular expression but got '"
                       << flags.remarks << "'\n";
    return std::nullopt;
  }
  if (flags.pageSize < 1 || flags.pageSize > 65536) {
    WithColor::error() << "--page-size: expected 1 to 65536 but got " << flags.pageSize << "\n";
    return std::nullopt;
  }
  std::vector<std::string> names(flags.cpu.begin(), flags.cpu.end());
  std::optional<std::vector<Processor>> processors =
      getProcessors(names.empty() ? std::vector<std::string>{"x86-64", "x86-64-v3"} : names);
  if (!processors)
    return std::nullopt;
  result.processors = std::move(*processors);
  if (flags.compute.getNumOccurrences())
    result.compute = flags.compute;
  std::optional<CacheChoice> cache;
  if (flags.cache.getNumOccurrences())
    cache = flags.cache;
  if (cache && cache != CacheChoice::FP8)
    result.cache = cache == CacheChoice::F32 ? NumberFormat::F32 : NumberFormat::BF16;
  mlir::FailureOr<std::optional<ReportRequest>> report =
      flags.report.get(cache, flags.placement.hasMachine());
  if (failed(report))
    return std::nullopt;
  result.report = *report;
  if (result.output.empty() && !result.report) {
    WithColor::error() << "-o: expected a file for the result\n";
    return std::nullopt;
  }
  if (result.report && (result.from >= Phase::Lower || flags.to.getNumOccurrences())) {
    WithColor::error() << "--report: expected a module of a phase before lower, and no --to\n";
    return std::nullopt;
  }
  if (result.report && result.output.empty())
    result.output = "-";
  if (result.report && flags.placement.hasMachine()) {
    WithColor::error() << "--report and --machine exclude each other: reports count what a step "
                          "costs wherever its data lie; strata-sim reports on a placed package\n";
    return std::nullopt;
  }
  bool isPlaced = result.from < Phase::Place && result.to >= Phase::Place;
  mlir::FailureOr<PlacementOptions> placement = flags.placement.get(flags.report, isPlaced);
  if (failed(placement))
    return std::nullopt;
  result.placement = *placement;
  if (flags.splitAttention && !flags.placement.hasMachine()) {
    WithColor::error() << "--split-attention belongs to --machine\n";
    return std::nullopt;
  }
  if (flags.splitAttention && !is_contained(flags.allowed, Approximation::SplitRounding)) {
    WithColor::error() << "--split-attention changes rounding, by what lies in near memory when a "
                          "token is computed; --allow-approximate=split-rounding allows it\n";
    return std::nullopt;
  }
  result.splitAttention = flags.splitAttention;
  result.pageSize = flags.pageSize;
  for (const cl::Option *option : {static_cast<const cl::Option *>(&flags.compute),
                                   static_cast<const cl::Option *>(&flags.cache),
                                   static_cast<const cl::Option *>(&flags.pageSize)})
    result.hasFormats |= option->getNumOccurrences() > 0;
  result.schedule = flags.schedule;
  result.allowed.assign(flags.allowed.begin(), flags.allowed.end());
  result.importRows = flags.importRows;
  result.exportRows = flags.exportRows;
  result.remarks = flags.remarks;
  result.keepInputModule = !flags.noInputModule;
  result.bytecode = flags.bytecode;
  return result;
}

PipelineOptions strata::getPipelineOptions(const CommandLine &commandLine, mlir::ModuleOp module) {
  NumberFormat format = getDefaultFormat(module);
  PipelineOptions options;
  options.compute = commandLine.compute.value_or(format);
  options.cache = commandLine.cache.value_or(format);
  options.pageSize = commandLine.pageSize;
  options.schedule = commandLine.schedule;
  options.allowed = commandLine.allowed;
  options.importRows = commandLine.importRows;
  options.exportRows = commandLine.exportRows;
  options.placement = commandLine.placement;
  options.splitAttention = commandLine.splitAttention;
  return options;
}
