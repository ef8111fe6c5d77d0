//===- Options.cpp - The command line of strata-bench ---------------------===//
#include "Options.h"

#include "strata/lib/Support/Text.h"
#include "strata/runtime/core/Executor.h"
#include "strata/runtime/cpu/ThreadPool.h"

#include <charconv>
#include <functional>
#include <map>
#include <set>

namespace strata::bench {

const char kHelp[] =
    R"(usage: strata-bench ceilings [options]
       strata-bench placement PACKAGE --weights DIR --machine MACHINE [options]

Measures times on this machine. `ceilings` says what it can do at most: read, gather rows, multiply and add.
`placement` runs decoding steps of a package that was compiled for a machine with two tiers, and compares what they take
with what the simulator predicts from the times of their commands. docs/benchmarks.md says how times are taken.

  --threads N            threads (one for each processor)
  --samples N            samples of each measurement (15; 10 of placement)
  --buffer SIZE          random data that ceilings read; K, M, G: times 1024 (1G)
  --json FILE            write the results as lines of JSON too

Ceilings:
  --record-bytes N,...   sizes of gathered rows, multiples of 64 (1152)

Placement:
  --weights DIR          the checkpoint: a folder or a .safetensors file
  --machine MACHINE      the name or the description that the package was compiled for
  --prompt-tokens N      tokens in the caches at the beginning (what the plan's context leaves room for)
  --sequences N          so many prompts at the same time (1)
  --chunk N              at most N tokens in one step while prompts are read (what the package was planned for)
  --steps N              measured steps of a sample, and as many others between them that calibrate (5)

  --version, --help
)";

static Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}

namespace {

using Take = std::function<Status(const std::string &name, const std::string &text)>;

Status parseNumber(const std::string &name, const std::string &text, int64_t least, int64_t most,
                   int64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
    return Status::success();
  return invalid(name + ": expected a number from " + std::to_string(least) + " to " +
                 std::to_string(most) + " but got '" + printable(text) + "'");
}

template <typename Number> Take takeNumber(int64_t most, Number &target) {
  return [most, &target](const std::string &name, const std::string &text) {
    int64_t value = 0;
    Status status = parseNumber(name, text, 1, most, value);
    target = Number(value);
    return status;
  };
}

Take takeText(std::string &target) {
  return [&target](const std::string &name, const std::string &text) {
    target = text;
    return text.empty() ? invalid(name + ": expected a name but got nothing") : Status::success();
  };
}

Take takeSize(uint64_t &target) {
  return [&target](const std::string &name, const std::string &text) {
    // Less has no parts of several pieces for each thread; more than an int64 is no memory.
    constexpr int64_t kLeast = int64_t(1) << 22, kMost = int64_t(1) << 40;
    std::string digits = text;
    int shift = 0;
    if (!digits.empty())
      if (size_t unit = std::string("KMG").find(digits.back()); unit != std::string::npos) {
        shift = 10 * int(unit + 1);
        digits.pop_back();
      }
    int64_t value = 0;
    if (!parseNumber(name, digits, 1, kMost >> shift, value).ok() || value << shift < kLeast)
      return invalid(name + ": expected a size from 4M to 1024G but got '" + printable(text) + "'");
    target = uint64_t(value) << shift;
    return Status::success();
  };
}

Take takeRowSizes(std::vector<int64_t> &target) {
  return [&target](const std::string &name, const std::string &text) {
    target.clear();
    for (size_t begin = 0; begin <= text.size();) {
      size_t end = std::min(text.find(',', begin), text.size());
      int64_t value = 0;
      if (Status status = parseNumber(name, text.substr(begin, end - begin), 64, 1 << 20, value);
          !status.ok())
        return status;
      if (value % 64 != 0)
        return invalid(name + ": expected multiples of 64 but got " + std::to_string(value));
      target.push_back(value);
      begin = end + 1;
    }
    return Status::success();
  };
}

class Parser {
public:
  Parser() {
    values_["--threads"] = takeNumber(rt::ThreadPool::kMaxThreads, options_.ceilings.threads);
    values_["--samples"] = takeNumber(10000, samples_);
    values_["--buffer"] = takeSize(options_.ceilings.bufferBytes);
    values_["--json"] = takeText(options_.json);
    values_["--record-bytes"] = takeRowSizes(options_.ceilings.recordBytes);
    values_["--weights"] = takeText(options_.weights);
    values_["--machine"] = takeText(options_.machine);
    values_["--prompt-tokens"] = takeNumber(INT32_MAX, options_.placement.promptTokens);
    values_["--sequences"] = takeNumber(1 << 16, options_.placement.sequences);
    values_["--chunk"] = takeNumber(rt::kMaxStepTokens, options_.placement.chunk);
    values_["--steps"] = takeNumber(10000, options_.placement.steps);
  }

  Expected<Options> run(const std::vector<std::string> &arguments) {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (Status status = take(arguments, i); !status.ok())
        return status;
    if (options_.help || options_.version)
      return options_;
    if (Status status = check(); !status.ok())
      return status;
    if (samples_)
      options_.ceilings.samples = options_.placement.samples = samples_;
    options_.placement.threads = options_.ceilings.threads;
    return options_;
  }

private:
  Status check() {
    if (words_.empty() || (words_[0] != "ceilings" && words_[0] != "placement"))
      return invalid("expected the command ceilings or placement" +
                     (words_.empty() ? "" : " but got '" + printable(words_[0]) + "'") +
                     "; see --help");
    bool isPlacement = words_[0] == "placement";
    if (words_.size() != (isPlacement ? 2 : 1))
      return invalid(words_[0] + ": expected " + (isPlacement ? "one package" : "no file") +
                     " but got " + std::to_string(words_.size() - 1));
    if (!isPlacement) {
      for (const char *name :
           {"--weights", "--machine", "--prompt-tokens", "--sequences", "--chunk", "--steps"})
        if (given_.count(name))
          return invalid(std::string(name) + " is for placement, not for ceilings");
      return Status::success();
    }
    if (given_.count("--record-bytes"))
      return invalid("--record-bytes is for ceilings, not for placement");
    options_.command = Options::Command::Placement;
    options_.package = words_[1];
    if (options_.weights.empty())
      return invalid("--weights is missing: a checkpoint");
    if (options_.machine.empty())
      return invalid("--machine is missing: a machine's name or description");
    return Status::success();
  }

  /// Takes argument `i`, and the next one if it is its value.
  Status take(const std::vector<std::string> &arguments, size_t &i) {
    const std::string &argument = arguments[i];
    if (argument.empty() || argument[0] != '-') {
      words_.push_back(argument);
      return Status::success();
    }
    if (argument == "--help" || argument == "-h")
      options_.help = true;
    else if (argument == "--version")
      options_.version = true;
    else
      return takeValue(arguments, i);
    return Status::success();
  }

  Status takeValue(const std::vector<std::string> &arguments, size_t &i) {
    const std::string &argument = arguments[i];
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    auto option = values_.find(name);
    if (option == values_.end())
      return invalid("unknown option '" + printable(name) + "'; see --help");
    given_.insert(name);
    if (equals != std::string::npos)
      return option->second(name, argument.substr(equals + 1));
    if (++i == arguments.size())
      return invalid(name + ": its value is missing");
    return option->second(name, arguments[i]);
  }

  Options options_;
  int samples_ = 0; ///< 0: not given
  std::vector<std::string> words_;
  std::set<std::string> given_;
  std::map<std::string, Take> values_;
};

} // namespace

Expected<Options> parseOptions(const std::vector<std::string> &arguments) {
  return Parser().run(arguments);
}

} // namespace strata::bench
