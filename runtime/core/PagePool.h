//===- PagePool.h - Which pages of the caches are whose ---------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_PAGEPOOL_H
#define STRATA_RUNTIME_CORE_PAGEPOOL_H

#include "strata/lib/Support/Status.h"

#include <cstdint>
#include <vector>

namespace strata::rt {

/// Hands out page numbers. All caches of a model use the same numbers, each in its own pool. Pages
/// are reserved when a sequence begins, so that no running sequence can lack one, and numbered when
/// its tokens get there.
class PagePool {
public:
  explicit PagePool(int64_t pages) : pages_(pages) {}

  /// Sets `count` pages aside; an error if fewer are left.
  Status reserve(int64_t count);
  /// One of the reserved pages.
  int32_t take();
  /// Gives back pages that were taken, and `unused` ones that were only reserved.
  void release(const std::vector<int32_t> &pages, int64_t unused);

private:
  int64_t pages_;
  int64_t used_ = 0;              ///< taken or reserved
  int32_t next_ = 0;              ///< the smallest number that was never taken
  std::vector<int32_t> returned_; ///< the next one last
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_PAGEPOOL_H
