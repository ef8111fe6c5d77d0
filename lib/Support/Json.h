//===- Json.h - JSON that was written by others -----------------*- C++ -*-===//
#ifndef STRATA_LIB_SUPPORT_JSON_H
#define STRATA_LIB_SUPPORT_JSON_H

#include "strata/lib/Support/Status.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace strata {

/// Parses JSON strictly: an object may name a key once only, and objects and arrays may be nested
/// `maxDepth` deep. The error doesn't name the file.
Expected<nlohmann::json> parseJson(std::string_view text, int maxDepth = 16);

} // namespace strata

#endif // STRATA_LIB_SUPPORT_JSON_H
