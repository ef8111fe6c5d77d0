//===- StallCause.cpp - What compute waits for ----------------------------===//
#include "strata/runtime/core/StallCause.h"

#include <map>

namespace strata::rt {

std::string_view getStallName(StallCause cause) {
  switch (cause) {
  case StallCause::LeaderRows:
    return "rows of a leader";
  case StallCause::FollowerRows:
    return "rows of a follower";
  case StallCause::FurtherRows:
    return "rows of a further block";
  case StallCause::IndexKeys:
    return "index keys";
  case StallCause::Weights:
    return "weights";
  case StallCause::Pages:
    return "pages";
  case StallCause::WriteBack:
    return "write-back";
  }
  return "unknown";
}

std::vector<StallCause> findWaitCauses(const package::Manifest &manifest) {
  std::vector<StallCause> causes(manifest.commands()->size(), StallCause::WriteBack);
  std::map<int, StallCause> started;        // by transfer
  std::map<int, bool> isLeaderStillMissing; // by slot table: since its last Resolve
  for (uint32_t number = 0; number < causes.size(); ++number) {
    const package::CommandEntry &entry = *manifest.commands()->Get(number);
    if (const package::Resolve *resolve = entry.command_as_Resolve()) {
      isLeaderStillMissing[resolve->table()] = resolve->limit() == 0;
    } else if (const package::Gather *gather = entry.command_as_Gather()) {
      bool &isLeader =
          isLeaderStillMissing[manifest.hot_sets()->Get(uint32_t(gather->hot_set()))->table()];
      started[gather->transfer()] = isLeader ? StallCause::LeaderRows : StallCause::FollowerRows;
      isLeader = false;
    } else if (const package::WriteBack *back = entry.command_as_WriteBack()) {
      started[back->transfer()] = StallCause::WriteBack;
    } else if (const package::Reload *reload = entry.command_as_Reload()) {
      started[reload->transfer()] = reload->weight() >= 0 ? StallCause::Weights : StallCause::Pages;
    } else if (const package::Wait *wait = entry.command_as_Wait()) {
      if (auto found = started.find(wait->transfer()); found != started.end())
        causes[number] = found->second;
    }
  }
  return causes;
}

} // namespace strata::rt
