//===- StallCause.h - What compute waits for --------------------*- C++ -*-===//
//
// One list of names for measured and predicted stalls.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_RUNTIME_CORE_STALLCAUSE_H
#define STRATA_RUNTIME_CORE_STALLCAUSE_H

#include "strata-rt/package_generated.h"

#include <string_view>
#include <vector>

namespace strata::rt {

/// What compute waits for.
enum class StallCause {
  LeaderRows,   ///< missing records of the layer that chose them
  FollowerRows, ///< missing records of the other layers of a group
  FurtherRows,  ///< records of a block of tokens after the first
  IndexKeys,    ///< a block of a streamed cache
  Weights,
  Pages,     ///< of a cache that is copied before use
  WriteBack, ///< records on their way home
};
constexpr int kStallCauses = 7;

std::string_view getStallName(StallCause cause);

/// The cause of each Wait command, by the command that starts its transfer last before it; other
/// commands have any. A group's leader is the cache whose gather starts first after Resolve.
std::vector<StallCause> findWaitCauses(const package::Manifest &manifest);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_STALLCAUSE_H
