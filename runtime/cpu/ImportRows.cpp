//===- ImportRows.cpp - Rows in and out of a step -------------------------===//
#include "strata/runtime/cpu/ImportRows.h"

#include <algorithm>

namespace strata::rt {

bool hasImportedRows(const StepState &state, int64_t ordinal) {
  return !state.input.importedRows.empty() && state.input.importedRows[size_t(ordinal)];
}

Status importRows(const StepState &state, int64_t ordinal, int64_t k, int32_t *rows) {
  const int32_t *imported = state.input.importedRows[size_t(ordinal)];
  for (int64_t n = 0; n < state.tokens(); ++n) {
    int64_t visible = int64_t(state.input.positions[size_t(n)]) + 1, last = -1;
    bool ended = false;
    for (int64_t j = 0; j < k; ++j) {
      int64_t position = imported[n * k + j];
      ended |= position == -1;
      if (ended ? position != -1 : position <= last || position >= visible)
        return Status(StatusCode::InvalidArgument,
                      "imported rows of indexer " + std::to_string(ordinal) + ", token " +
                          std::to_string(n) + " of the step: expected ascending positions below " +
                          std::to_string(visible) + " and then -1 but got " +
                          std::to_string(position) + " at entry " + std::to_string(j));
      last = position;
    }
  }
  std::copy_n(imported, state.tokens() * k, rows);
  return Status::success();
}

void exportRows(const StepState &state, int64_t ordinal, int64_t k, const int32_t *rows) {
  if (!state.output.rows.empty())
    if (int32_t *copy = state.output.rows[size_t(ordinal)])
      std::copy_n(rows, state.tokens() * k, copy);
}

namespace {

class ImportRowsCommand : public Command {
public:
  explicit ImportRowsCommand(const package::ImportRows &table) : table_(table) {}

  Status run(StepState &state) override {
    int64_t ordinal = table_.ordinal(), k = table_.k();
    if (!hasImportedRows(state, ordinal))
      return Status(StatusCode::InvalidArgument,
                    "expected rows for indexer " + std::to_string(ordinal) + " but got none");
    int32_t *rows = state.array<int32_t>(*table_.output());
    if (Status status = importRows(state, ordinal, k, rows); !status.ok())
      return status;
    exportRows(state, ordinal, k, rows);
    return Status::success();
  }

private:
  const package::ImportRows &table_;
};

} // namespace

std::unique_ptr<Command> makeCommand(const package::ImportRows &table, const Program &) {
  return std::make_unique<ImportRowsCommand>(table);
}

} // namespace strata::rt
