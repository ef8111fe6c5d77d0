//===- CommandLine.cpp - The options of strata-compile --------------------===//
#include "CommandLine.h"

#include "strata/lib/Target/ManifestBuilder.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
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
  cl::opt<std::string> input{cl::Positional, cl::Required, cl::desc("<model.mlir>"),
                             cl::cat(category)};
  cl::opt<std::string> output{"o", cl::Required, cl::desc("where the result goes"),
                              cl::value_desc("file"), cl::cat(category)};
  cl::ValuesClass formats = cl::values(clEnumValN(NumberFormat::F32, "f32", "single precision"),
                                       clEnumValN(NumberFormat::BF16, "bf16", "bfloat16"));
  cl::opt<NumberFormat> compute{
      "compute", formats, cl::cat(category),
      cl::desc("what products round their operands to (default: by the weights' types)")};
  cl::opt<NumberFormat> cache{"cache", formats, cl::cat(category),
                              cl::desc("what caches hold (default: by the weights' types)")};
  cl::opt<int64_t> pageSize{"page-size", cl::init(64),
                            cl::desc("tokens in a page of the caches (default: 64)"),
                            cl::value_desc("n"), cl::cat(category)};
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
  if (!cl::ParseCommandLineOptions(argc, argv, "compiles a model to a package\n", &errs()))
    return std::nullopt;

  CommandLine result{flags.input, flags.output, flags.from, flags.to};
  if (result.from > result.to || result.from == Phase::Emit) {
    WithColor::error() << "--from " << getPhaseName(result.from) << " --to "
                       << getPhaseName(result.to) << ": there is nothing to do\n";
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
  if (flags.cache.getNumOccurrences())
    result.cache = flags.cache;
  result.pageSize = flags.pageSize;
  result.keepInputModule = !flags.noInputModule;
  result.bytecode = flags.bytecode;
  return result;
}
