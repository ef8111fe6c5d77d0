//===- Results.cpp - What strata-tune found, as a table and as JSON -------===//
#include "Results.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace strata::tune {

[[gnu::format(printf, 1, 2)]] static std::string format(const char *text, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, text);
  std::vsnprintf(line, sizeof line, text, arguments);
  va_end(arguments);
  return line;
}

std::string formatTable(const Results &results) {
  const SearchResult &search = results.search;
  int width = std::max(8, int(results.chosen().pattern.size()));
  std::string table =
      format("  indexers  ") + std::string("schedule") + std::string(size_t(width) - 8, ' ') +
      format("  nats/byte      loss  GFLOP/token at %" PRId64 "\n", results.context);
  for (size_t i = 0; i < search.frontier.size(); ++i) {
    const ScoredSchedule &entry = search.frontier[i];
    table +=
        format("%c %8" PRId64 "  ", i == search.chosen ? '*' : ' ', countLeaders(entry.pattern)) +
        entry.pattern + std::string(size_t(width) - entry.pattern.size(), ' ') +
        format("  %9.5f  %8.5f  %.5g\n", entry.score, entry.loss, results.flops[i] / 1e9);
  }
  return table + format("* the fewest indexers with a loss of at most %g; %" PRId64 " runs\n",
                        results.maxLoss, search.runs);
}

std::string formatJson(const Results &results) {
  nlohmann::ordered_json json;
  json["checkpoint"] = results.checkpoint;
  json["text"] = results.text;
  json["window"] = results.window;
  json["windows"] = results.windows;
  json["max_loss"] = results.maxLoss;
  json["context"] = results.context;
  json["runs"] = results.search.runs;
  json["chosen"] = results.chosenSchedule();
  for (size_t i = 0; i < results.search.frontier.size(); ++i) {
    const ScoredSchedule &entry = results.search.frontier[i];
    json["frontier"].push_back({{"schedule", "pattern:" + entry.pattern},
                                {"indexers", countLeaders(entry.pattern)},
                                {"score", entry.score},
                                {"loss", entry.loss},
                                {"flops", results.flops[i]}});
  }
  json["recall"] = results.recall;
  // Names of files may be any bytes.
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace strata::tune
