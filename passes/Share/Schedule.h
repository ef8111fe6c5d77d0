//===- Schedule.h - Which layers use whose rows -----------------*- C++ -*-===//
#ifndef STRATA_PASSES_SHARE_SCHEDULE_H
#define STRATA_PASSES_SHARE_SCHEDULE_H

#include "strata/lib/Support/Status.h"

#include "llvm/ADT/StringRef.h"

#include <vector>

namespace strata {

/// For each layer the layer whose rows it uses; a layer that leads has its own number.
using Leaders = std::vector<unsigned>;

/// Reads a schedule other than `declared`: `pattern:…`, `every:…,offset:…` or `groups:…`; see
/// strata-share-index. Errors: another form, a wrong number of layers, a first layer that doesn't
/// lead.
Expected<Leaders> parseSchedule(llvm::StringRef text, unsigned layers);

} // namespace strata

#endif // STRATA_PASSES_SHARE_SCHEDULE_H
