//===- CommandLine.cpp - The options of strata-tune -----------------------===//
#include "CommandLine.h"

#include "strata/lib/Target/ManifestBuilder.h"
#include "strata/runtime/core/Executor.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"

#include <climits>
#include <cmath>

using namespace llvm;
using namespace strata;

namespace {

/// LLVM's registry of options keeps pointers to them, and lld resets all that are registered; so
/// they live as long as the program.
struct Flags {
  cl::OptionCategory category{"Options of strata-tune"};
  cl::opt<std::string> checkpoint{cl::Positional, cl::Required,
                                  cl::desc("<folder with config.json and safetensors files>"),
                                  cl::cat(category)};
  cl::opt<std::string> text{"text", cl::Required, cl::value_desc("file"), cl::cat(category),
                            cl::desc("what schedules are scored on, byte by byte")};
  cl::opt<double> maxLoss{"max-loss", cl::init(0.001), cl::value_desc("nats"), cl::cat(category),
                          cl::desc("the most that sharing may cost against all indexers, in nats "
                                   "per byte (default: 0.001)")};
  cl::opt<int64_t> context{"context", cl::init(0), cl::value_desc("n"), cl::cat(category),
                           cl::desc("tokens of context that FLOPs are told for (default: the "
                                    "model's positions)")};
  cl::opt<int64_t> window{"window", cl::init(1024), cl::value_desc("n"), cl::cat(category),
                          cl::desc("bytes of a window of the text (default: 1024)")};
  cl::opt<int64_t> windows{"windows", cl::init(4), cl::value_desc("n"), cl::cat(category),
                           cl::desc("windows that schedules are compared on, before the best run "
                                    "on all (default: 4)")};
  cl::opt<int64_t> chunk{"chunk", cl::init(256), cl::value_desc("n"), cl::cat(category),
                         cl::desc("most tokens of one step (default: 256)")};
  cl::ValuesClass formats = cl::values(clEnumValN(NumberFormat::F32, "f32", "single precision"),
                                       clEnumValN(NumberFormat::BF16, "bf16", "bfloat16"));
  cl::opt<NumberFormat> compute{"compute", formats, cl::init(NumberFormat::F32), cl::cat(category),
                                cl::desc("what products round their operands to (default: f32)")};
  cl::opt<NumberFormat> cache{"cache", formats, cl::init(NumberFormat::F32), cl::cat(category),
                              cl::desc("what caches hold (default: f32)")};
  cl::opt<std::string> json{"json", cl::value_desc("file"), cl::cat(category),
                            cl::desc("write the frontier and the recall matrix as JSON")};
  cl::opt<std::string> picture{"picture", cl::value_desc("file.svg|file.html"), cl::cat(category),
                               cl::desc("draw the frontier")};
  cl::opt<std::string> schedule{"write-schedule", cl::value_desc("file"), cl::cat(category),
                                cl::desc("write the schedule that was found, as strata-compile's "
                                         "--schedule takes it")};
};

} // namespace

static bool checkRange(StringRef name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most)
    return true;
  WithColor::error() << "--" << name << ": expected " << least << " to " << most << " but got "
                     << value << "\n";
  return false;
}

static void printVersion(raw_ostream &stream) { stream << getProducer() << "\n"; }

std::optional<tune::CommandLine> tune::parseCommandLine(int argc, char **argv) {
  static Flags flags;
  cl::HideUnrelatedOptions(flags.category);
  cl::SetVersionPrinter(printVersion);
  if (!cl::ParseCommandLineOptions(
          argc, argv, "finds which layers can share an index at a small loss\n", &errs()))
    return std::nullopt;

  if (!std::isfinite(flags.maxLoss) || flags.maxLoss < 0) {
    WithColor::error() << "--max-loss: expected a number of at least 0\n";
    return std::nullopt;
  }
  if (!checkRange("context", flags.context, 0, INT32_MAX) ||
      !checkRange("window", flags.window, 1, rt::kMaxStepTokens) ||
      !checkRange("windows", flags.windows, 1, INT32_MAX) ||
      !checkRange("chunk", flags.chunk, 1, rt::kMaxStepTokens))
    return std::nullopt;
  StringRef picture = flags.picture;
  if (!picture.empty() && !picture.ends_with(".svg") && !picture.ends_with(".html")) {
    WithColor::error() << "--picture: expected a name that ends with .svg or .html but got '"
                       << picture << "'\n";
    return std::nullopt;
  }
  CommandLine result;
  result.checkpoint = flags.checkpoint;
  result.text = flags.text;
  result.maxLoss = flags.maxLoss;
  result.context = flags.context;
  result.window = flags.window;
  result.screening = flags.windows;
  result.chunk = flags.chunk;
  result.compute = flags.compute;
  result.cache = flags.cache;
  result.json = flags.json;
  result.picture = flags.picture;
  result.schedule = flags.schedule;
  return result;
}
