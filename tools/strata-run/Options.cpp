//===- Options.cpp - The command line of strata-run -----------------------===//
#include "Options.h"

#include "strata/lib/Support/Text.h"

#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <set>

namespace strata::run {

const char kHelp[] =
    R"(usage: strata-run PACKAGE --weights DIR (--prompt-ids IDS | --prompt-text TEXT)... [options]
       strata-run PACKAGE --weights DIR --score TEXTFILE [options]
       strata-run --print PACKAGE

Continues prompts with a compiled model, or tells how well it predicts a text. Standard output has one line for each
prompt: the new ids, or the new text for a prompt that was given as text. Everything else goes to standard error.

  --weights DIR          the checkpoint: a folder or a .safetensors file
  --prompt-ids 1,2,3     a prompt; several make one batch
  --prompt-text TEXT     a prompt for models whose vocabulary is the 256 bytes
  --max-new-tokens N     at most N new tokens for each prompt (16)
  --ignore-eos           do not stop after an end-of-sequence id
  --device DEVICE        cpu, or reference: the slow one that defines what is right; it runs .mlir modules too
  --chunk N              at most N tokens in one step (256)
  --max-context N        room for N tokens of each prompt in the caches (what the prompts need)
  --memory-limit SIZE    bytes for activations, caches and widened weights; K, M, G: times 1024 (what the machine has)
  --threads N            threads (one for each processor)

Scoring, for models whose vocabulary is the 256 bytes:
  --score F              print the mean negative log-likelihood of the file's bytes, in nats per byte
  --window N             in windows of N inputs and N targets; what is left is dropped (1024)
  --recall               print the recall matrix too, as JSON: row i, column j says which share of the rows that
                         indexer j chooses indexer i chooses as well

Files; of several prompts each has its own: F-0.npy, F-1.npy, ...
  --logits F.npy         write the logits of all T = prompt + new - 1 tokens: f32 [T, vocabulary]
  --rows F.npy           write the rows that the indexers chose: i32 [indexers, T, k]
  --experts F.npy        write the experts that the routers chose: i32 [mixtures, T, experts per token]
  --import-rows F.npy    use these rows instead of the indexers'
  --import-experts F.npy use these experts instead of the routers'
  --save-sequence F      write the tokens and what the caches hold of them, to go on with elsewhere
  --load-sequence F      go on with what was saved: each prompt, if any is given, follows it
  --trace F.json         write what ran when, for https://ui.perfetto.dev
  --counters F.json      of a package for several tiers: write hits, bytes that moved, stalls and peaks of memory

  --print                show the package's manifest and commands
  --poison               debugging aid: fill memory with NaN first, so that reads of what was never written show
  --late-transfers N     debugging aid: transfers between tiers begin up to N microseconds late, at random
  --version, --help
)";

static Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}

static bool parseInteger(std::string_view text, int64_t &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

static Status parseNumber(const std::string &name, const std::string &text, int64_t least,
                          int64_t most, int64_t &value) {
  if (parseInteger(text, value) && value >= least && value <= most)
    return Status::success();
  return invalid(name + ": expected a number from " + std::to_string(least) + " to " +
                 std::to_string(most) + " but got '" + printable(text) + "'");
}

static Status parseMemory(const std::string &name, const std::string &text, uint64_t &bytes) {
  std::string_view digits = text;
  int shift = 0;
  if (!digits.empty()) {
    size_t unit = std::string_view("KMG").find(digits.back());
    if (unit != std::string_view::npos) {
      shift = 10 * int(unit + 1);
      digits.remove_suffix(1);
    }
  }
  int64_t value = 0;
  if (!parseInteger(digits, value) || value < 1 ||
      value > std::numeric_limits<int64_t>::max() >> shift)
    return invalid(name + ": expected a size such as 512M or 8G but got '" + printable(text) + "'");
  bytes = uint64_t(value) << shift;
  return Status::success();
}

static Status parseIds(const std::string &name, std::string_view text, PromptOption &prompt) {
  while (!text.empty()) {
    size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    int64_t id = 0;
    if (!parseInteger(item, id))
      return invalid(name + ": expected token ids such as 1,2,3 but got '" + printable(item) +
                     "' at position " + std::to_string(prompt.tokens.size()));
    if (id != int32_t(id))
      return invalid(name + ": token id " + std::to_string(id) + " at position " +
                     std::to_string(prompt.tokens.size()) + " is out of range");
    prompt.tokens.push_back(int32_t(id));
    if (comma == std::string_view::npos)
      break;
    text.remove_prefix(comma + 1);
    if (text.empty())
      return invalid(name + ": expected a token id after the last comma");
  }
  return Status::success();
}

static Status parseDevice(const std::string &name, const std::string &text, Device &device) {
  if (text != "cpu" && text != "reference")
    return invalid(name + ": expected cpu or reference but got '" + printable(text) + "'");
  device = text == "cpu" ? Device::Cpu : Device::Reference;
  return Status::success();
}

namespace {

/// Flags by name, and what to do with the values of the others.
class Parser {
public:
  Parser() {
    flags_ = {{"--help", &options_.help},
              {"-h", &options_.help},
              {"--version", &options_.version},
              {"--print", &options_.print},
              {"--ignore-eos", &options_.session.ignoreEos},
              {"--recall", &options_.recall},
              {"--poison", &options_.poison}};
    for (auto [name, target] :
         {std::pair("--weights", &options_.weights), std::pair("--logits", &options_.logits),
          std::pair("--rows", &options_.rows), std::pair("--experts", &options_.experts),
          std::pair("--import-rows", &options_.importRows),
          std::pair("--import-experts", &options_.importExperts),
          std::pair("--save-sequence", &options_.saveSequence),
          std::pair("--load-sequence", &options_.loadSequence),
          std::pair("--trace", &options_.trace), std::pair("--counters", &options_.counters),
          std::pair("--score", &options_.score)})
      addText(name, *target);
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    addNumber("--max-new-tokens", kMost, options_.session.maxNewTokens);
    addNumber("--chunk", rt::kMaxStepTokens, options_.session.chunk);
    addNumber("--max-context", kMost, options_.session.maxContext);
    addNumber("--threads", 1024, threads_);
    addNumber("--late-transfers", 1000000, options_.lateTransfers);
    addNumber("--window", rt::kMaxStepTokens, options_.window);
    values_["--memory-limit"] = [this](const std::string &name, const std::string &text) {
      return parseMemory(name, text, options_.memoryLimit);
    };
    values_["--device"] = [this](const std::string &name, const std::string &text) {
      return parseDevice(name, text, options_.device);
    };
    values_["--prompt-ids"] = [this](const std::string &name, const std::string &text) {
      options_.prompts.emplace_back();
      return parseIds(name, text, options_.prompts.back());
    };
    values_["--prompt-text"] = [this](const std::string &, const std::string &text) {
      PromptOption prompt;
      prompt.isText = true;
      for (char byte : text)
        prompt.tokens.push_back(static_cast<unsigned char>(byte));
      options_.prompts.push_back(std::move(prompt));
      return Status::success();
    };
  }

  Expected<Options> run(const std::vector<std::string> &arguments) {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (Status status = take(arguments, i); !status.ok())
        return status;
    if (options_.help || options_.version)
      return options_;
    if (options_.input.empty())
      return invalid("expected a package; see --help");
    if (options_.print)
      return options_;
    if (options_.weights.empty())
      return invalid("--weights is missing: the folder of the checkpoint");
    options_.threads = int(threads_);
    if (Status status = checkScoring(); !status.ok())
      return status;
    if (!options_.score.empty())
      return options_;
    if (options_.prompts.empty() && !options_.loadSequence.empty())
      options_.prompts.emplace_back();
    if (options_.prompts.empty())
      return invalid("expected at least one --prompt-ids or --prompt-text, or --score");
    options_.session.keepSequences = !options_.saveSequence.empty();
    for (const char *name : {"--save-sequence", "--load-sequence"})
      if (given_.count(name) && options_.device != Device::Cpu)
        return invalid(std::string(name) + " needs --device=cpu");
    options_.session.allLogits = !options_.logits.empty();
    options_.session.keepRows = !options_.rows.empty();
    options_.session.keepExperts = !options_.experts.empty();
    return options_;
  }

private:
  void addText(const char *option, std::string &target) {
    values_[option] = [&target](const std::string &name, const std::string &text) {
      if (text.empty())
        return invalid(name + ": expected a name but got nothing");
      target = text;
      return Status::success();
    };
  }
  void addNumber(const char *option, int64_t most, int64_t &target) {
    values_[option] = [most, &target](const std::string &name, const std::string &text) {
      return parseNumber(name, text, 1, most, target);
    };
  }

  /// Prompts and a text to score are different runs, with different options.
  Status checkScoring() const {
    bool isScoring = !options_.score.empty();
    for (const char *name : {"--window", "--recall"})
      if (!isScoring && given_.count(name))
        return invalid(std::string(name) + " is for --score, which is missing");
    for (const char *name :
         {"--prompt-ids", "--prompt-text", "--max-new-tokens", "--ignore-eos", "--max-context",
          "--logits", "--rows", "--experts", "--import-rows", "--import-experts", "--save-sequence",
          "--load-sequence", "--trace", "--counters"})
      if (isScoring && given_.count(name))
        return invalid(std::string(name) + " is for prompts, not for --score");
    return Status::success();
  }

  /// Takes argument `i`, and the next one if it is its value.
  Status take(const std::vector<std::string> &arguments, size_t &i) {
    const std::string &argument = arguments[i];
    if (argument.empty() || argument[0] != '-') {
      if (!options_.input.empty())
        return invalid("expected one package but got '" + printable(options_.input) + "' and '" +
                       printable(argument) + "'");
      options_.input = argument;
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
  int64_t threads_ = 0;
  std::set<std::string> given_; ///< names of options
  std::map<std::string, bool *> flags_;
  std::map<std::string, std::function<Status(const std::string &, const std::string &)>> values_;
};

} // namespace

Expected<Options> parseOptions(const std::vector<std::string> &arguments) {
  return Parser().run(arguments);
}

} // namespace strata::run
