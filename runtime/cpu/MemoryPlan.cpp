//===- MemoryPlan.cpp - What is to be allocated, and whether it fits ------===//
#include "strata/runtime/cpu/MemoryPlan.h"

#include <unistd.h>

namespace strata::rt {

Status MemoryPlan::check(uint64_t limit) const {
  bool isMachine = limit == 0;
  if (isMachine)
    limit = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  if (total_ <= limit)
    return Status::success();
  return Status(StatusCode::OutOfMemory,
                "expected to need at most " + std::to_string(limit) +
                    (isMachine ? " bytes (the machine's memory)" : " bytes (the memory limit)") +
                    " but it is " + std::to_string(total_) + ": " + text_);
}

} // namespace strata::rt
