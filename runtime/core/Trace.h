//===- Trace.h - What ran when, for Perfetto --------------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_TRACE_H
#define STRATA_RUNTIME_CORE_TRACE_H

#include "strata/lib/Support/Status.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace strata::rt {

/// Collects events in memory and writes them in Chrome's trace event format (JSON), which Perfetto
/// and chrome://tracing open. Times count from the making of the trace.
class Trace {
public:
  using Clock = std::chrono::steady_clock;

  Trace() : origin_(Clock::now()) {}

  /// The step that following events belong to. Called between steps.
  void beginStep(int64_t step, int64_t tokens);

  /// One event. `label` says what was computed ("layer 3 attention"), `category` what kind of thing
  /// it is ("Product", "step"). Thread 0 is the one that calls the executor; workers count from 1.
  /// May be called from several threads; copies both texts.
  void add(std::string_view label, std::string_view category, int thread, Clock::time_point begin,
           Clock::time_point end);

  /// The events as JSON.
  std::string json() const;
  /// Writes `json()`; the file appears only when it is complete.
  Status write(const std::string &path) const;

private:
  struct Event {
    int32_t label, category, thread;
    int64_t step, tokens;
    int64_t begin, duration; // ns
  };
  int32_t intern(std::string_view text);

  Clock::time_point origin_;
  mutable std::mutex mutex_;
  int64_t step_ = 0, tokens_ = 0;
  std::map<std::string, int32_t, std::less<>> texts_;
  std::vector<Event> events_;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_TRACE_H
