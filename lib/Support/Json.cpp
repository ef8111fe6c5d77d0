//===- Json.cpp - JSON that was written by others -------------------------===//
#include "strata/lib/Support/Json.h"

#include "strata/lib/Support/Text.h"

#include <set>
#include <vector>

using nlohmann::json;

namespace strata {

Expected<json> parseJson(std::string_view text, int maxDepth) {
  // nlohmann::json keeps the last of several equal keys; a reader of untrusted files must not guess
  // which one was meant.
  std::vector<std::set<std::string>> keys;
  std::string problem;
  auto watch = [&](int depth, json::parse_event_t event, json &value) {
    if (problem.empty() && depth > maxDepth)
      problem = "nested more than " + std::to_string(maxDepth) + " deep";
    if (!problem.empty())
      return false; // not stored: the rest of a bad file costs no memory
    switch (event) {
    case json::parse_event_t::object_start:
      keys.emplace_back();
      break;
    case json::parse_event_t::object_end:
      keys.pop_back();
      break;
    case json::parse_event_t::key: {
      const std::string &key = value.get_ref<const std::string &>();
      if (!keys.back().insert(key).second)
        problem = "'" + printable(key) + "' is given twice";
      break;
    }
    default:
      break;
    }
    return problem.empty();
  };
  json value = json::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/false);
  if (problem.empty() && value.is_discarded())
    problem = "not valid JSON";
  if (!problem.empty())
    return Status(StatusCode::Corrupt, problem);
  return value;
}

} // namespace strata
