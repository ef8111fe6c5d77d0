//===- IndexSchedule.cpp - Which layers own an indexer --------------------===//
#include "strata/lib/Import/IndexSchedule.h"

#include "strata/lib/Support/Text.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace strata::importer {

namespace {
/// A schedule and the keys that it was read from.
struct Encoding {
  std::string keys;
  std::vector<bool> owns;
};
} // namespace

std::vector<bool> scheduleByFrequency(int64_t layers, int64_t frequency, int64_t offset) {
  std::vector<bool> owns;
  for (int64_t layer = 0; layer < layers; ++layer)
    owns.push_back(std::max<int64_t>(layer - offset + 1, 0) % frequency == 0);
  return owns;
}

/// True for full, false for shared, nothing for another word.
static std::optional<bool> ownsIndexer(llvm::StringRef word) {
  if (word == "full" || word == "F")
    return true;
  if (word == "shared" || word == "S")
    return false;
  return std::nullopt;
}

/// One word for each layer, from a list of words or a string of letters.
static std::optional<Encoding> readWords(ConfigReader &reader, llvm::StringRef key,
                                         bool lettersAllowed, int64_t layers,
                                         int64_t predictionLayers) {
  if (!reader.has(key))
    return std::nullopt;
  const llvm::json::Value &value = *reader.get(key);
  std::vector<std::string> words;
  if (const llvm::json::Array *list = value.getAsArray()) {
    for (const llvm::json::Value &item : *list) {
      std::optional<llvm::StringRef> word = item.getAsString();
      words.push_back(word ? word->str() : ConfigReader::show(&item));
    }
  } else if (std::optional<llvm::StringRef> letters = value.getAsString();
             letters && lettersAllowed) {
    for (char letter : *letters)
      words.push_back(std::string(1, letter));
  } else {
    reader.fail(key, lettersAllowed ? "a string of F and S, or a list of full and shared"
                                    : "a list of full and shared");
    return std::nullopt;
  }

  int64_t count = words.size();
  if (count != layers && count != layers + predictionLayers) {
    std::string expected = llvm::formatv("{0}", layers).str();
    if (predictionLayers)
      expected +=
          llvm::formatv(" entries, or {0} with prediction layers,", layers + predictionLayers)
              .str();
    else
      expected += " entries";
    reader.failWith(key, llvm::formatv("expected {0} but got {1}", expected, count).str());
    return std::nullopt;
  }
  Encoding encoding{key.str(), {}};
  for (auto [layer, word] : llvm::enumerate(words)) {
    std::optional<bool> owns = ownsIndexer(word);
    if (!owns) {
      reader.failWith(key, llvm::formatv("expected full or shared for layer {0} but got \"{1}\"",
                                         layer, printable(word))
                               .str());
      return std::nullopt;
    }
    encoding.owns.push_back(*owns);
  }
  encoding.owns.resize(layers);
  return encoding;
}

/// Names both encodings and the first layer on which they differ.
static void warnIfDifferent(ConfigReader &reader, const Encoding &used, const Encoding &other) {
  for (size_t layer = 0; layer < used.owns.size(); ++layer) {
    if (used.owns[layer] == other.owns[layer])
      continue;
    reader.warn(
        llvm::formatv("{0} and {1} disagree from layer {2} on ({3} against {4}); {0} counts",
                      used.keys, other.keys, layer, used.owns[layer] ? "full" : "shared",
                      other.owns[layer] ? "full" : "shared")
            .str());
    return;
  }
}

std::vector<bool> readIndexSchedule(ConfigReader &reader, int64_t layers,
                                    int64_t predictionLayers) {
  std::vector<Encoding> encodings;
  if (auto types = readWords(reader, "indexer_types", false, layers, predictionLayers))
    encodings.push_back(*types);
  if (auto pattern = readWords(reader, "index_topk_pattern", true, layers, predictionLayers))
    encodings.push_back(*pattern);
  int64_t frequency = reader.sizeOr("index_topk_freq", 1);
  int64_t offset = reader.integerOr("index_skip_topk_offset", 2, 0, INT32_MAX);
  // A null or absent frequency says that nothing is shared only if nobody else says more.
  if (reader.has("index_topk_freq") || encodings.empty())
    encodings.push_back({"index_topk_freq with index_skip_topk_offset",
                         scheduleByFrequency(layers, frequency, offset)});
  if (reader.failed())
    return std::vector<bool>(layers, true);

  for (size_t other = 1; other < encodings.size(); ++other) {
    if (encodings[other].owns != encodings[0].owns) {
      warnIfDifferent(reader, encodings[0], encodings[other]);
      break;
    }
  }
  if (!encodings[0].owns[0])
    reader.failWith(encodings[0].keys,
                    "layer 0 is shared, but no layer below it has an indexer to share");
  return encodings[0].owns;
}

} // namespace strata::importer
