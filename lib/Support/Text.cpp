//===- Text.cpp - Pieces of messages --------------------------------------===//
#include "strata/lib/Support/Text.h"

#include <algorithm>

namespace strata {

std::string printable(std::string_view name) {
  constexpr size_t longest = 200;
  std::string text(name.substr(0, longest));
  for (char &c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  if (name.size() > longest)
    text += "…";
  return text;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string listText(const std::vector<std::string> &items, std::string_view separator,
                     size_t limit) {
  std::string text;
  for (size_t i = 0; i < std::min(items.size(), limit); ++i) {
    if (i)
      text += separator;
    text += items[i];
  }
  if (items.size() > limit)
    text += " … and " + std::to_string(items.size() - limit) + " more";
  return text;
}

} // namespace strata
