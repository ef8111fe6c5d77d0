//===- main.cpp - strata-make-checkpoint ----------------------------------===//
#include "CheckpointWriter.h"

#include "strata/lib/Support/File.h"

#include <charconv>
#include <cstdio>

using namespace strata;
using namespace strata::test;

static constexpr const char *help =
    R"(usage: strata-make-checkpoint CONFIG_DIR --out DIR [options]

Writes a test model's checkpoint from CONFIG_DIR/config.json: the same bytes for the same seed on every machine.

  --out DIR          where config.json and the weights go
  --seed N           default: "seed" of CONFIG_DIR/recipe.json, or 1
  --dtype TYPE       float32, bfloat16 or float16; default: "dtype" of config.json, or float32
  --shard-bytes N    begin a new file before N bytes are exceeded; default: "shard_bytes" of recipe.json, or one file
  --fp8-blocks       projections as e4m3 with a scale for each block of 128 x 128
  --dequantised      with --fp8-blocks: the same values as float32
  --small-integers   weights for tests of exact ties: all index scores are small integers
  --help
)";

static int fail(const std::string &message) {
  std::fprintf(stderr, "strata-make-checkpoint: error: %s\n", message.c_str());
  return 1;
}

static bool readNumber(std::string_view text, uint64_t &number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// Sets `number` from an entry of recipe.json, if it is there.
static bool readEntry(const nlohmann::json &recipe, const char *key, uint64_t &number) {
  auto found = recipe.find(key);
  if (found == recipe.end())
    return true;
  if (!found->is_number_unsigned())
    return false;
  number = found->get<uint64_t>();
  return true;
}

int main(int argc, char **argv) {
  std::string folder, out, seed, type, shardBytes;
  CheckpointOptions options;
  const std::pair<std::string_view, std::string *> values[] = {
      {"--out", &out}, {"--seed", &seed}, {"--dtype", &type}, {"--shard-bytes", &shardBytes}};
  const std::pair<std::string_view, bool *> flags[] = {
      {"--fp8-blocks", &options.fp8Blocks},
      {"--dequantised", &options.dequantised},
      {"--small-integers", &options.smallIntegers}};
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--help")
      return std::fputs(help, stdout) < 0;
    bool known = false;
    for (auto [name, flag] : flags)
      if (argument == name)
        known = *flag = true;
    for (auto [name, value] : values)
      if (argument == name) {
        if (++i == argc)
          return fail(std::string(name) + ": expected a value");
        known = true;
        *value = argv[i];
      }
    if (!known && argument.substr(0, 1) != "-" && folder.empty())
      known = !(folder = argument).empty();
    if (!known)
      return fail("unknown argument '" + std::string(argument) + "'");
  }
  if (folder.empty() || out.empty())
    return fail("expected CONFIG_DIR and --out DIR");
  if (options.dequantised && !options.fp8Blocks)
    return fail("--dequantised needs --fp8-blocks");

  Expected<MappedFile> config = MappedFile::open(folder + "/config.json");
  if (!config.ok())
    return fail(config.status().message());
  Expected<nlohmann::json> parsed = parseJson(config->text());
  if (!parsed.ok() || !parsed->is_object())
    return fail(folder + "/config.json: expected a JSON object");
  if (Expected<MappedFile> file = MappedFile::open(folder + "/recipe.json"); file.ok()) {
    Expected<nlohmann::json> recipe = parseJson(file->text());
    if (!recipe.ok() || !recipe->is_object() || !readEntry(*recipe, "seed", options.seed) ||
        !readEntry(*recipe, "shard_bytes", options.shardBytes))
      return fail(folder + "/recipe.json: expected an object with integers seed and shard_bytes");
  }
  if (!seed.empty() && !readNumber(seed, options.seed))
    return fail("--seed: expected a number but got '" + seed + "'");
  if (!shardBytes.empty() && !readNumber(shardBytes, options.shardBytes))
    return fail("--shard-bytes: expected a number but got '" + shardBytes + "'");
  if (auto found = parsed->find("dtype");
      type.empty() && found != parsed->end() && found->is_string())
    type = found->get<std::string>();
  if (type == "bfloat16")
    options.type = ElementType::BF16;
  else if (type == "float16")
    options.type = ElementType::F16;
  else if (!type.empty() && type != "float32")
    return fail("dtype: expected float32, bfloat16 or float16 but got '" + type + "'");

  Expected<CheckpointSummary> summary = writeCheckpoint(std::string(config->text()), options, out);
  if (!summary.ok())
    return fail(summary.status().message());
  std::fprintf(stderr, "%s: %zu tensors, %llu bytes, %zu file(s), seed %llu\n", out.c_str(),
               summary->tensors, static_cast<unsigned long long>(summary->bytes), summary->files,
               static_cast<unsigned long long>(options.seed));
  return 0;
}
