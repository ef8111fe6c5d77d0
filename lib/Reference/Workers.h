//===- Workers.h - Independent items on several threads ---------*- C++ -*-===//
#ifndef STRATA_LIB_REFERENCE_WORKERS_H
#define STRATA_LIB_REFERENCE_WORKERS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/ThreadPool.h"

#include <algorithm>
#include <cstdint>

namespace strata::reference {

/// Threads that split a range of items. Each item is computed by one thread in a fixed order, so
/// results do not depend on the number of threads.
class Workers {
public:
  /// 0: one thread for each processor that the process may use.
  explicit Workers(int threads) : pool_(llvm::hardware_concurrency(threads)) {}

  /// Calls `body` with ranges that cover [0, count). `work` is about how many multiplications an
  /// item takes: what is small stays on the calling thread.
  void forRanges(int64_t count, double work,
                 llvm::function_ref<void(int64_t begin, int64_t end)> body) {
    constexpr double kSmall = 1 << 20; // about a millisecond
    int64_t threads = pool_.getMaxConcurrency();
    if (threads == 1 || count < 2 || double(count) * work < kSmall)
      return body(0, count);
    int64_t ranges = std::min(count, 4 * threads); // later tokens have more keys: not one each
    for (int64_t i = 0; i < ranges; ++i)
      pool_.async([=] { body(count * i / ranges, count * (i + 1) / ranges); });
    pool_.wait();
  }

  void forEach(int64_t count, double work, llvm::function_ref<void(int64_t)> body) {
    forRanges(count, work, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        body(i);
    });
  }

private:
  llvm::DefaultThreadPool pool_;
};

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_WORKERS_H
