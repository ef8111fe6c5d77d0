//===- ThreadPool.cpp - The executor's own threads ------------------------===//
//
// A loop does not wait for all workers, only for those that joined it: a worker that the system
// keeps from running costs nothing. All of it is in one word:
//
//   bits 0–9    workers in the loop
//   bit 10      the loop is open: workers may join
//   bits 11–31  number of the loop
//
// The caller publishes a loop by opening the next number, takes pieces like everyone, closes the
// loop and waits until its count is zero. Then nobody reads the loop any more.
//
//===----------------------------------------------------------------------===//
#include "strata/runtime/cpu/ThreadPool.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace strata::rt {

static constexpr uint32_t kCountMask = (1u << 10) - 1;
static constexpr uint32_t kOpen = 1u << 10;
static constexpr int kNumberShift = 11;
static constexpr int kSpins = 4000; // about 50 µs: longer than the gap between two commands

static void sleepWhile(std::atomic<uint32_t> &word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

static void wakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

static std::vector<int> allowedProcessors() {
  std::vector<int> processors;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int processor = 0; processor < CPU_SETSIZE; ++processor)
      if (CPU_ISSET(processor, &set))
        processors.push_back(processor);
  return processors;
}

static void pinToProcessor(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  // Pinning is for speed: where the system refuses it the thread works unpinned.
  (void)sched_setaffinity(0, sizeof set, &set);
}

struct ThreadPool::Start {
  ThreadPool *pool;
  int thread, processor;
  void (*atStart)();
};

Expected<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads, void (*atStart)()) {
  if (threads < 0 || threads > kMaxThreads)
    return Status(StatusCode::InvalidArgument, "expected 0 to " + std::to_string(kMaxThreads) +
                                                   " threads but got " + std::to_string(threads));
  std::vector<int> processors = allowedProcessors();
  int available = std::clamp(int(processors.size()), 1, kMaxThreads);
  if (threads == 0)
    threads = available;
  std::unique_ptr<ThreadPool> pool(new ThreadPool());
  // Spinning takes the processor away from threads that have work when there are too few of them.
  pool->spins_ = threads <= available ? kSpins : 0;
  for (int thread = 1; thread < threads; ++thread) {
    int processor = processors.empty() ? -1 : processors[size_t(thread) % processors.size()];
    auto start = std::make_unique<Start>(Start{pool.get(), thread, processor, atStart});
    pthread_t handle;
    // Not std::thread, which reports failure by an exception.
    if (pthread_create(&handle, nullptr, enter, start.get()) != 0)
      return Status(StatusCode::OutOfMemory, "can't start thread " + std::to_string(thread + 1) +
                                                 " of " + std::to_string(threads));
    start.release();
    pool->workers_.push_back(handle);
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  state_.fetch_add(1u << kNumberShift);
  wakeAll(state_);
  for (pthread_t worker : workers_)
    pthread_join(worker, nullptr);
}

void *ThreadPool::enter(void *argument) {
  std::unique_ptr<Start> start(static_cast<Start *>(argument));
  if (start->processor >= 0)
    pinToProcessor(start->processor);
  if (start->atStart)
    start->atStart();
  start->pool->work(start->thread);
  return nullptr;
}

void ThreadPool::takePieces(const Loop &loop, int thread) {
  for (;;) {
    int64_t piece = nextPiece_.fetch_add(1, std::memory_order_relaxed);
    if (piece >= loop.pieces)
      return;
    // Piece p is [p × items / pieces, …), in a form that can't overflow.
    int64_t size = loop.items / loop.pieces, longer = loop.items % loop.pieces;
    int64_t begin = piece * size + std::min(piece, longer);
    loop.call(loop.context, begin, begin + size + (piece < longer), thread);
  }
}

void ThreadPool::run(const Loop &loop) {
  loop_ = loop;
  nextPiece_.store(0, std::memory_order_relaxed);
  uint32_t number = (state_.load(std::memory_order_relaxed) >> kNumberShift) + 1;
  state_.store(number << kNumberShift | kOpen);
  if (sleepers_.load() != 0)
    wakeAll(state_);

  takePieces(loop, 0);

  uint32_t state = state_.fetch_and(~kOpen) & ~kOpen;
  for (int spin = 0; (state & kCountMask) != 0; state = state_.load()) {
    if (spin++ < spins_) {
      __builtin_ia32_pause();
      continue;
    }
    callerSleeps_.store(true);
    sleepWhile(state_, state);
    callerSleeps_.store(false);
  }
}

void ThreadPool::work(int thread) {
  uint32_t lastNumber = 0;
  int spin = 0;
  for (;;) {
    // The word first: whoever sees the word that the destructor writes also sees `stop_`, and
    // whoever has an older one doesn't fall asleep on it.
    uint32_t state = state_.load();
    if (stop_.load())
      return;
    uint32_t number = state >> kNumberShift;
    if (!(state & kOpen) || number == lastNumber) {
      if (spin++ < spins_) {
        __builtin_ia32_pause();
        continue;
      }
      sleepers_.fetch_add(1);
      sleepWhile(state_, state);
      sleepers_.fetch_sub(1);
      continue;
    }
    if (!state_.compare_exchange_weak(state, state + 1))
      continue;
    takePieces(loop_, thread);
    lastNumber = number;
    spin = 0;
    state = state_.fetch_sub(1) - 1;
    if ((state & (kCountMask | kOpen)) == 0 && callerSleeps_.load())
      wakeAll(state_);
  }
}

} // namespace strata::rt
