//===- ImportedArray.cpp - Rows and experts from outside ------------------===//
#include "strata/runtime/core/ImportedArray.h"

#include <numeric>

namespace strata::rt {

static Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}

static Status checkSize(const char *what, const std::vector<int64_t> &widths, int64_t tokens,
                        size_t size) {
  int64_t expected = tokens * std::accumulate(widths.begin(), widths.end(), int64_t(0));
  if (int64_t(size) == expected)
    return Status::success();
  return invalid(std::string("imported ") + what + ": expected " + std::to_string(expected) +
                 " entries for " + std::to_string(tokens) + " tokens but got " +
                 std::to_string(size));
}

Status checkImportedRows(const ModelDescription &model, int64_t tokens,
                         const std::vector<int32_t> &rows) {
  if (Status status = checkSize("rows", model.rowWidths, tokens, rows.size()); !status.ok())
    return status;
  const int32_t *entry = rows.data();
  for (size_t indexer = 0; indexer < model.rowWidths.size(); ++indexer)
    for (int64_t token = 0; token < tokens; ++token) {
      int32_t previous = -1;
      bool ended = false;
      for (int64_t i = 0; i < model.rowWidths[indexer]; ++i, ++entry) {
        auto invalidEntry = [&](const std::string &what) {
          return invalid("imported rows: indexer " + std::to_string(indexer) + ", token " +
                         std::to_string(token) + ", entry " + std::to_string(i) + ": " + what);
        };
        if (*entry < -1 || *entry > token)
          return invalidEntry("position " + std::to_string(*entry) + " is not visible");
        if (*entry == -1) {
          ended = true;
          continue;
        }
        if (ended)
          return invalidEntry("expected -1 after -1 but got " + std::to_string(*entry));
        if (*entry <= previous)
          return invalidEntry("expected ascending positions but got " + std::to_string(*entry) +
                              " after " + std::to_string(previous));
        previous = *entry;
      }
    }
  return Status::success();
}

Status checkImportedExperts(const ModelDescription &model, int64_t tokens,
                            const std::vector<int32_t> &experts) {
  if (Status status = checkSize("experts", model.expertWidths, tokens, experts.size());
      !status.ok())
    return status;
  const int32_t *entry = experts.data();
  for (size_t mixture = 0; mixture < model.expertWidths.size(); ++mixture)
    for (int64_t token = 0; token < tokens; ++token) {
      int32_t previous = -1;
      for (int64_t i = 0; i < model.expertWidths[mixture]; ++i, ++entry) {
        auto invalidEntry = [&](const std::string &what) {
          return invalid("imported experts: mixture " + std::to_string(mixture) + ", token " +
                         std::to_string(token) + ", entry " + std::to_string(i) + ": " + what);
        };
        if (*entry < 0 || *entry >= model.expertCounts[mixture])
          return invalidEntry("expert " + std::to_string(*entry) + " is not one of " +
                              std::to_string(model.expertCounts[mixture]));
        if (*entry <= previous)
          return invalidEntry("expected ascending experts but got " + std::to_string(*entry) +
                              " after " + std::to_string(previous));
        previous = *entry;
      }
    }
  return Status::success();
}

} // namespace strata::rt
