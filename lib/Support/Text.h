//===- Text.h - Pieces of messages ------------------------------*- C++ -*-===//
#ifndef STRATA_LIB_SUPPORT_TEXT_H
#define STRATA_LIB_SUPPORT_TEXT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// A name from a file as it may stand in a message: control characters become '?', and what is over
/// 200 bytes long is cut.
std::string printable(std::string_view name);

/// "[2, 3]".
std::string shapeText(const std::vector<int64_t> &shape);

/// The first `limit` items, separated by `separator`, then "… and N more" if there are more.
std::string listText(const std::vector<std::string> &items, std::string_view separator = ", ",
                     size_t limit = 20);

} // namespace strata

#endif // STRATA_LIB_SUPPORT_TEXT_H
