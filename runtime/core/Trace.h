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
/// and chrome://tracing open. Measured runs (runtime/cpu) and predicted ones (lib/Sim) write the
/// same things by the same names, so that their pictures can be laid side by side:
/// - a track "compute" with one event for each command, and `kStallCategory` events named by their
///   cause (StallCause.h) where compute waits;
/// - a track "engine NAME" for each engine, "link NAME" for each link that engines share: one event
///   of `kTransferCategory` for each transfer, with its bytes;
/// - counters: bytes of each tier (`getTierCounter`), kHitsCounter and kMissesCounter (records,
///   since the step began), kStallCounter (nanoseconds, since the step began).
class Trace {
public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::string_view kTransferCategory = "transfer";
  static constexpr std::string_view kStallCategory = "stall";
  static constexpr std::string_view kHitsCounter = "hits";
  static constexpr std::string_view kMissesCounter = "misses";
  static constexpr std::string_view kStallCounter = "stall ns";

  Trace() : origin_(Clock::now()) {}

  /// The step that following events belong to. Called between steps.
  void beginStep(int64_t step, int64_t tokens);

  /// One event. `label` says what was computed ("layer 3 attention"), `category` what kind of thing
  /// it is ("Product", "step"). Track 0 is the thread that calls the executor; workers count from
  /// 1; others come from addTrack. May be called from several threads; copies both texts.
  void add(std::string_view label, std::string_view category, int track, Clock::time_point begin,
           Clock::time_point end);
  /// The same with a number of bytes that were moved.
  void addTransfer(std::string_view label, int track, Clock::time_point begin,
                   Clock::time_point end, int64_t bytes);
  /// Compute waited; `cause` names the event.
  void addStall(std::string_view cause, Clock::time_point begin, Clock::time_point end);

  /// The number of the track of that name; a new one the first time. Tracks are shown in the order
  /// in which they were named, after those of threads.
  int addTrack(std::string_view name);

  /// The value of a counter from a point of time on.
  void setCounter(std::string_view counter, Clock::time_point at, int64_t value);
  static std::string getTierCounter(std::string_view tier);

  /// A point of time, `nanoseconds` after the trace was made: for times that are not measured.
  Clock::time_point at(int64_t nanoseconds) const {
    return origin_ + std::chrono::nanoseconds(nanoseconds);
  }

  /// An event as it was added. The texts live as long as the trace.
  struct Measured {
    std::string_view label, category;
    int track = 0;
    int64_t begin = 0, end = 0; ///< nanoseconds after the trace was made
    int64_t bytes = -1;
  };
  /// Hands over the events that were added since the last call, in their order, and forgets them
  /// and the counters: for measurements in the same process.
  std::vector<Measured> take();

  /// The events as JSON.
  std::string json() const;
  /// Writes `json()`; the file appears only when it is complete.
  Status write(const std::string &path) const;

private:
  struct Event {
    int32_t label, category, track;
    int64_t step, tokens;
    int64_t begin, duration; // ns
    int64_t bytes;           // −1: none were moved
  };
  struct CounterValue {
    int32_t counter;
    int64_t at, value;
  };
  int32_t intern(std::string_view text);
  void addEvent(std::string_view label, std::string_view category, int track,
                Clock::time_point begin, Clock::time_point end, int64_t bytes);

  Clock::time_point origin_;
  mutable std::mutex mutex_;
  int64_t step_ = 0, tokens_ = 0;
  std::map<std::string, int32_t, std::less<>> texts_;
  std::vector<Event> events_;
  std::vector<CounterValue> counterValues_;
  std::vector<std::string> tracks_; // beside those of threads
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_TRACE_H
