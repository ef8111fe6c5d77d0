//===- PagePool.cpp - Which pages of the caches are whose -----------------===//
#include "strata/runtime/core/PagePool.h"

#include <string>

namespace strata::rt {

Status PagePool::reserve(int64_t count) {
  int64_t left = pages_ - used_;
  if (count > left)
    return Status(StatusCode::OutOfMemory, "the caches have too few pages: needed " +
                                               std::to_string(count) + ", " + std::to_string(left) +
                                               " are free");
  used_ += count;
  return Status::success();
}

int32_t PagePool::take() {
  if (returned_.empty())
    return next_++;
  int32_t page = returned_.back();
  returned_.pop_back();
  return page;
}

void PagePool::release(const std::vector<int32_t> &pages, int64_t unused) {
  // Backwards, so that the page taken first is the next one again.
  returned_.insert(returned_.end(), pages.rbegin(), pages.rend());
  used_ -= int64_t(pages.size()) + unused;
}

} // namespace strata::rt
