//===- ImportedArray.h - Rows and experts from outside ----------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_IMPORTEDARRAY_H
#define STRATA_RUNTIME_CORE_IMPORTEDARRAY_H

#include "strata/runtime/core/Executor.h"

#include <cstdint>
#include <vector>

namespace strata::rt {

/// `rows` is [indexers, tokens, k]. Each row must hold visible positions (not after its token's
/// own) in ascending order, then −1. Errors name the indexer, the token and the value.
Status checkImportedRows(const ModelDescription &model, int64_t tokens,
                         const std::vector<int32_t> &rows);

/// `experts` is [mixtures, tokens, experts per token]; each token's are experts in ascending order.
Status checkImportedExperts(const ModelDescription &model, int64_t tokens,
                            const std::vector<int32_t> &experts);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_IMPORTEDARRAY_H
