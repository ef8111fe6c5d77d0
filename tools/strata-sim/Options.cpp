//===- Options.cpp - The command line of strata-sim -----------------------===//
#include "Options.h"

#include "strata/lib/Support/Text.h"
#include "strata/runtime/core/Executor.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <set>

namespace strata::sim {

const char kHelp[] =
    R"(usage: strata-sim PACKAGE --machine MACHINE [options]
       strata-sim PACKAGE --machine MACHINE --trace ROWS.npy... [options]
       strata-sim PACKAGE --sizes [--cache FORMAT] [--slots N]

Predicts how long a step of a compiled model takes on a machine, what moves between its memories, and what of that is
hidden behind computation.

  --machine MACHINE      a shipped machine's name, or its description as JSON
  --context N            positions that each token sees (the model's); K and M: times 1024 and 1024^2
  --batch N              sequences, with one token each (1)
  --cache FORMAT         caches as compiled, bf16 or fp8 (compiled)
  --weights FORMAT       weights as stored, bf16 or fp8 (stored)
  --misses SHARE         share of a step's rows that hot sets lack, from 0 to 1 (by layer, from published curves)

A run instead of one step:
  --trace ROWS.npy       the rows that strata-run --rows wrote; once for each prompt
  --prompt-tokens N      tokens of each prompt that were not generated (1)
  --chunk N              at most N tokens in one step (256)

Comparisons:
  --overlap WHAT         all: as compiled; followers: compute waits for a leader's rows at once;
                         none: it waits for all that it brings at once (all)
  --speculation SHARE    share of the leaders' missing rows that was brought before, from 0 to 1 (0)
  --compute-time TIME    scale the times of commands so that they take so long together, such as 18.15ms
  --transfer-time TIME   the same for all transfers to the near memory, one after the other

Output:
  --report FORMAT        text, json or html, on standard output or to -o (text)
  -o FILE                write the report to a file
  --json FILE            write the JSON report too
  --perfetto FILE        write the timeline too, for https://ui.perfetto.dev

  --sizes                what sequences take up by context, without simulation
  --slots N              with hot sets of so many records (twice the rows of a token)
  --version, --help
)";

static Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}

namespace {

using Take = std::function<Status(const std::string &name, const std::string &text)>;

Take takeNumber(int64_t most, int64_t &value) {
  return [most, &value](const std::string &name, const std::string &text) {
    std::string digits = text;
    int64_t unit = 1;
    if (!digits.empty() && (digits.back() == 'K' || digits.back() == 'M')) {
      unit = digits.back() == 'K' ? 1 << 10 : 1 << 20;
      digits.pop_back();
    }
    int64_t number = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number < 1 ||
        number > most / unit)
      return invalid(name + ": expected a number from 1 to " + std::to_string(most) + " but got '" +
                     printable(text) + "'");
    value = number * unit;
    return Status::success();
  };
}

/// A decimal number; nothing for other texts.
std::optional<double> parseReal(const std::string &text) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  bool isPlain = !text.empty() && text.find_first_not_of("0123456789.e-") == std::string::npos;
  if (!isPlain || *end || !std::isfinite(value))
    return std::nullopt;
  return value;
}

Take takeShare(std::function<void(double)> store) {
  return [store = std::move(store)](const std::string &name, const std::string &text) {
    std::optional<double> value = parseReal(text);
    if (!value || *value < 0 || *value > 1)
      return invalid(name + ": expected a share from 0 to 1 but got '" + printable(text) + "'");
    store(*value);
    return Status::success();
  };
}

Take takeTime(double &seconds) {
  return [&seconds](const std::string &name, const std::string &text) {
    static const std::pair<std::string_view, double> kUnits[] = {
        {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    for (auto [unit, factor] : kUnits)
      if (text.size() > unit.size() &&
          text.compare(text.size() - unit.size(), unit.size(), unit) == 0)
        if (auto value = parseReal(text.substr(0, text.size() - unit.size()));
            value && *value * factor >= 1e-9 && *value * factor <= 1e6) {
          seconds = *value * factor;
          return Status::success();
        }
    return invalid(name + ": expected a time such as 18.15ms but got '" + printable(text) + "'");
  };
}

/// One of some words.
template <typename Value>
Take takeWord(std::vector<std::pair<std::string, Value>> words, Value &value) {
  return [words = std::move(words), &value](const std::string &name, const std::string &text) {
    std::vector<std::string> names;
    for (const auto &[word, meaning] : words) {
      if (text == word) {
        value = meaning;
        return Status::success();
      }
      names.push_back(word);
    }
    return invalid(name + ": expected one of " + listText(names) + " but got '" + printable(text) +
                   "'");
  };
}

class Parser {
public:
  Parser() {
    flags_ = {{"--help", &options_.help},
              {"-h", &options_.help},
              {"--version", &options_.version},
              {"--sizes", &options_.sizes}};
    for (auto [name, target] : {std::pair("--machine", &options_.machine),
                                {"-o", &options_.output},
                                {"--json", &options_.json},
                                {"--perfetto", &options_.perfetto}})
      values_[name] = takeText([target = target](const std::string &text) { *target = text; });
    values_["--trace"] =
        takeText([this](const std::string &text) { options_.rows.push_back(text); });
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    SimulationOptions &simulation = options_.simulation;
    ProgramOptions &program = simulation.program;
    values_["--context"] = takeNumber(kMost, simulation.context);
    values_["--batch"] = takeNumber(1 << 16, simulation.batch);
    values_["--prompt-tokens"] = takeNumber(kMost, options_.promptTokens);
    values_["--chunk"] = takeNumber(rt::kMaxStepTokens, options_.chunk);
    values_["--slots"] = takeNumber(kMost, options_.slots);
    values_["--misses"] = takeShare([&simulation](double value) { simulation.misses = value; });
    values_["--speculation"] = takeShare([&program](double value) { program.speculation = value; });
    values_["--compute-time"] = takeTime(program.computeSeconds);
    values_["--transfer-time"] = takeTime(program.transferSeconds);
    values_["--cache"] = takeWord<Format>(
        {{"compiled", Format::AsWritten}, {"bf16", Format::BF16}, {"fp8", Format::FP8}},
        program.formats.caches);
    values_["--weights"] = takeWord<Format>(
        {{"stored", Format::AsWritten}, {"bf16", Format::BF16}, {"fp8", Format::FP8}},
        program.formats.weights);
    values_["--overlap"] = takeWord<Overlap>(
        {{"all", Overlap::AsWritten}, {"followers", Overlap::Followers}, {"none", Overlap::None}},
        program.overlap);
    values_["--report"] = takeWord<Options::Report>({{"text", Options::Report::Text},
                                                     {"json", Options::Report::Json},
                                                     {"html", Options::Report::Html}},
                                                    options_.report);
  }

  Expected<Options> run(const std::vector<std::string> &arguments) {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (Status status = take(arguments, i); !status.ok())
        return status;
    if (options_.help || options_.version)
      return options_;
    if (options_.package.empty())
      return invalid("expected a package; see --help");
    if (Status status = check(); !status.ok())
      return status;
    return options_;
  }

private:
  static Take takeText(std::function<void(const std::string &)> store) {
    return [store = std::move(store)](const std::string &name, const std::string &text) {
      if (text.empty())
        return invalid(name + ": expected a name but got nothing");
      store(text);
      return Status::success();
    };
  }

  /// Options that are for another kind of question.
  Status check() const {
    auto forbid = [&](std::initializer_list<const char *> names, const char *reason) {
      for (const char *name : names)
        if (given_.count(name))
          return invalid(std::string(name) + reason);
      return Status::success();
    };
    if (options_.sizes)
      return forbid({"--machine", "--context", "--batch", "--weights", "--misses", "--trace",
                     "--prompt-tokens", "--chunk", "--overlap", "--speculation", "--compute-time",
                     "--transfer-time", "--report", "-o", "--json", "--perfetto"},
                    " is for a simulation, not for --sizes");
    if (options_.machine.empty())
      return invalid("--machine is missing: a machine's name or description");
    if (given_.count("--slots"))
      return invalid("--slots is for --sizes, which is missing");
    if (options_.rows.empty())
      return forbid({"--prompt-tokens", "--chunk"}, " is for --trace, which is missing");
    return forbid(
        {"--context", "--batch", "--misses", "--speculation", "--compute-time", "--transfer-time"},
        " is for one step, not for --trace");
  }

  /// Takes argument `i`, and the next one if it is its value.
  Status take(const std::vector<std::string> &arguments, size_t &i) {
    const std::string &argument = arguments[i];
    if (argument.empty() || argument[0] != '-') {
      if (!options_.package.empty())
        return invalid("expected one package but got '" + printable(options_.package) + "' and '" +
                       printable(argument) + "'");
      options_.package = argument;
      return Status::success();
    }
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    given_.insert(name);
    if (auto flag = flags_.find(name); flag != flags_.end()) {
      if (equals != std::string::npos)
        return invalid(name + " takes no value");
      *flag->second = true;
      return Status::success();
    }
    auto option = values_.find(name);
    if (option == values_.end())
      return invalid("unknown option '" + printable(name) + "'; see --help");
    if (equals != std::string::npos)
      return option->second(name, argument.substr(equals + 1));
    if (++i == arguments.size())
      return invalid(name + ": its value is missing");
    return option->second(name, arguments[i]);
  }

  Options options_;
  std::set<std::string> given_; ///< names of options
  std::map<std::string, bool *> flags_;
  std::map<std::string, Take> values_;
};

} // namespace

Expected<Options> parseOptions(const std::vector<std::string> &arguments) {
  return Parser().run(arguments);
}

} // namespace strata::sim
