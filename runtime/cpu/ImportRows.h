//===- ImportRows.h - Rows in and out of a step -----------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_IMPORTROWS_H
#define STRATA_RUNTIME_CPU_IMPORTROWS_H

#include "strata/runtime/cpu/Command.h"

namespace strata::rt {

/// Whether the caller gives the rows of indexer `ordinal`.
bool hasImportedRows(const StepState &state, int64_t ordinal);

/// Copies them to `rows`, [tokens, k]. An error unless each row holds ascending visible positions
/// and then −1: kernels read the cache there.
Status importRows(const StepState &state, int64_t ordinal, int64_t k, int32_t *rows);

/// Copies rows to where the caller wants them, if it does.
void exportRows(const StepState &state, int64_t ordinal, int64_t k, const int32_t *rows);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_IMPORTROWS_H
