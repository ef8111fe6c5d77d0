//===- WeightPattern.cpp - A name that stands for a stack of tensors ------===//
#include "strata/lib/Checkpoint/WeightPattern.h"

#include "strata/lib/Support/Text.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace strata {

bool isWeightPattern(std::string_view name) {
  return name.find_first_of("{}") != std::string_view::npos;
}

static std::optional<uint64_t> number(std::string_view digits) {
  uint64_t value = 0;
  const char *end = digits.data() + digits.size();
  auto [stop, error] = std::from_chars(digits.data(), end, value);
  bool leadingZero = digits.size() > 1 && digits.front() == '0';
  if (digits.empty() || error != std::errc() || stop != end || leadingZero)
    return std::nullopt;
  return value;
}

Expected<std::vector<std::string>> expandWeightPattern(std::string_view pattern) {
  if (!isWeightPattern(pattern))
    return std::vector<std::string>{std::string(pattern)};
  auto error = [&](const std::string &message) {
    return Status(StatusCode::InvalidArgument,
                  "weight pattern '" + printable(pattern) + "': " + message);
  };
  size_t open = pattern.find('{'), close = pattern.find('}');
  size_t braces = 0;
  for (char c : pattern)
    braces += c == '{' || c == '}';
  if (braces != 2 || open > close)
    return error("expected one part in braces");
  std::string_view range = pattern.substr(open + 1, close - open - 1);
  size_t dots = range.find("..");
  std::optional<uint64_t> first, last;
  if (dots != std::string_view::npos) {
    first = number(range.substr(0, dots));
    last = number(range.substr(dots + 2));
  }
  if (!first || !last)
    return error("expected {first..last}, two numbers");
  constexpr uint64_t most = 65536;
  if (*last < *first || *last - *first >= most)
    return error("expected 1 to " + std::to_string(most) + " names");
  std::vector<std::string> names;
  for (uint64_t i = 0; i <= *last - *first; ++i) {
    std::string name(pattern.substr(0, open));
    name += std::to_string(*first + i);
    name += pattern.substr(close + 1);
    names.push_back(std::move(name));
  }
  return names;
}

} // namespace strata
