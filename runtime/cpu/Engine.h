//===- Engine.h - A thread that moves data between tiers --------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_ENGINE_H
#define STRATA_RUNTIME_CPU_ENGINE_H

#include "strata/lib/Support/Status.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <random>
#include <string>
#include <string_view>

namespace strata::rt {

class Trace;

/// Runs transfers one after the other, in the order in which they start. A transfer ends no earlier
/// than an engine of the given rate would end it: its cost apart from its bytes, and its bytes over
/// the bandwidth, after the start or after the end of the transfer before it.
class Engine {
public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    double bandwidth = 0;        ///< bytes per second; 0: as fast as memory is
    double operationSeconds = 0; ///< of a transfer
    /// For tests: each transfer begins up to so many nanoseconds later, at random.
    int64_t mostDelay = 0;
    uint32_t delaySeed = 0;
  };

  struct Transfer {
    std::string_view label; ///< for the trace; outlives the transfer
    int64_t bytes = 0;
    std::function<Status()> work; ///< runs on the engine's thread
  };

  /// Numbers transfers from 1 on.
  using Ticket = uint64_t;

  /// An error if the system gives no thread. `trace` may be null; otherwise it outlives the engine.
  static Expected<std::unique_ptr<Engine>> start(std::string name, const Limits &limits,
                                                 Trace *trace);
  /// Waits for what was started.
  ~Engine();
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;

  const std::string &name() const { return name_; }

  /// Starts a transfer and returns at once.
  Ticket submit(Transfer transfer);
  /// Waits until the transfer and all before it have ended. The first error of any of them; it is
  /// told once.
  Status wait(Ticket ticket);
  /// Waits for all that was started.
  Status drain();
  bool hasEnded(Ticket ticket) const;

private:
  struct Entry {
    Transfer transfer;
    Clock::time_point submitted;
  };

  Engine(std::string name, const Limits &limits, Trace *trace);
  static void *enter(void *engine);
  void work();
  Status run(const Entry &entry);

  std::string name_;
  Limits limits_;
  Trace *trace_;
  int track_ = 0;
  pthread_t thread_{};
  bool hasThread_ = false;
  std::mt19937 random_;         ///< of the thread
  Clock::time_point free_ = {}; ///< of the thread: when the last transfer ended

  mutable std::mutex mutex_;
  std::condition_variable submitted_, ended_;
  std::deque<Entry> queue_;
  Ticket last_ = 0, done_ = 0;
  bool stop_ = false;
  Status error_;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_ENGINE_H
