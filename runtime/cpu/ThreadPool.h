//===- ThreadPool.h - The executor's own threads ----------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_THREADPOOL_H
#define STRATA_RUNTIME_CPU_THREADPOOL_H

#include "strata/lib/Support/Status.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <pthread.h>
#include <type_traits>
#include <vector>

namespace strata::rt {

/// A fixed set of threads that split loops. Each worker is pinned to a processor of the process's
/// affinity mask; between loops it spins for some microseconds and then sleeps on a futex. The
/// thread that calls `parallelFor` takes part as thread 0 and is left where the system put it.
class ThreadPool {
public:
  /// Starts `threads` − 1 workers; 0 threads means one for each processor that the process may use.
  /// Each worker calls `atStart` first.
  static Expected<std::unique_ptr<ThreadPool>> create(int threads, void (*atStart)() = nullptr);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Most threads of a pool.
  static constexpr int kMaxThreads = 1000;

  /// Workers and the calling thread.
  int threads() const { return int(workers_.size()) + 1; }

  /// Calls body(begin, end, thread) for pieces that cover [0, items) without overlap, and returns
  /// when all are done. A piece has at least `grain` items unless there are fewer in all. Which
  /// thread does which piece is not determined. Loops don't nest, and one thread at a time may
  /// start them.
  template <typename Body> void parallelFor(int64_t items, int64_t grain, Body &&body) {
    if (items <= 0)
      return;
    // Several pieces a thread even out pieces of unequal cost and threads that were interrupted.
    int64_t pieces = std::min(items / std::max<int64_t>(grain, 1), int64_t(threads()) * 8);
    if (pieces <= 1 || workers_.empty()) {
      body(int64_t(0), items, 0);
      return;
    }
    using Function = std::remove_reference_t<Body>;
    run({[](void *context, int64_t begin, int64_t end, int thread) {
           (*static_cast<Function *>(context))(begin, end, thread);
         },
         const_cast<void *>(static_cast<const void *>(&body)), items, pieces});
  }

private:
  struct Loop {
    void (*call)(void *context, int64_t begin, int64_t end, int thread);
    void *context;
    int64_t items, pieces;
  };

  struct Start;

  ThreadPool() = default;
  static void *enter(void *start);
  void run(const Loop &loop);
  void work(int thread);
  void takePieces(const Loop &loop, int thread);

  std::vector<pthread_t> workers_;
  int spins_ = 0;
  Loop loop_{};
  alignas(64) std::atomic<int64_t> nextPiece_{0};
  /// Loop number, whether the loop still takes workers, and how many are in it: see ThreadPool.cpp.
  alignas(64) std::atomic<uint32_t> state_{0};
  std::atomic<uint32_t> sleepers_{0}; ///< workers
  std::atomic<bool> callerSleeps_{false};
  std::atomic<bool> stop_{false};
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_THREADPOOL_H
