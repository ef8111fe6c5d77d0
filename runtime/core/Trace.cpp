//===- Trace.cpp - What ran when, for Perfetto ----------------------------===//
//
// Chrome's trace event format: an object with "traceEvents", complete events ("ph": "X") with times
// in microseconds, counters ("ph": "C"), and metadata events ("ph": "M") that name process and
// tracks. A track is what the format calls a thread.
//
//===----------------------------------------------------------------------===//
#include "strata/runtime/core/Trace.h"

#include "strata/lib/Support/File.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace strata::rt {

/// Numbers of tracks that are no threads begin here.
static constexpr int kFirstNamedTrack = 1000;

static int64_t nanoseconds(Trace::Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

int32_t Trace::intern(std::string_view text) {
  auto found = texts_.find(text);
  if (found == texts_.end())
    found = texts_.emplace(std::string(text), int32_t(texts_.size())).first;
  return found->second;
}

void Trace::beginStep(int64_t step, int64_t tokens) {
  std::lock_guard<std::mutex> lock(mutex_);
  step_ = step;
  tokens_ = tokens;
}

void Trace::addEvent(std::string_view label, std::string_view category, int track,
                     Clock::time_point begin, Clock::time_point end, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  events_.push_back({intern(label), intern(category), track, step_, tokens_,
                     nanoseconds(begin - origin_), nanoseconds(end - begin), bytes});
}

void Trace::add(std::string_view label, std::string_view category, int track,
                Clock::time_point begin, Clock::time_point end) {
  addEvent(label, category, track, begin, end, /*bytes=*/-1);
}

void Trace::addTransfer(std::string_view label, int track, Clock::time_point begin,
                        Clock::time_point end, int64_t bytes) {
  addEvent(label, kTransferCategory, track, begin, end, bytes);
}

void Trace::addStall(std::string_view cause, Clock::time_point begin, Clock::time_point end) {
  addEvent(cause, kStallCategory, /*track=*/0, begin, end, /*bytes=*/-1);
}

int Trace::addTrack(std::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = std::find(tracks_.begin(), tracks_.end(), name);
  if (found == tracks_.end())
    found = tracks_.insert(tracks_.end(), std::string(name));
  return kFirstNamedTrack + int(found - tracks_.begin());
}

void Trace::setCounter(std::string_view counter, Clock::time_point at, int64_t value) {
  std::lock_guard<std::mutex> lock(mutex_);
  counterValues_.push_back({intern(counter), nanoseconds(at - origin_), value});
}

std::vector<Trace::Measured> Trace::take() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string_view> texts(texts_.size());
  for (const auto &[text, number] : texts_)
    texts[size_t(number)] = text;
  std::vector<Measured> all;
  all.reserve(events_.size());
  for (const Event &event : events_)
    all.push_back({texts[size_t(event.label)], texts[size_t(event.category)], event.track,
                   event.begin, event.begin + event.duration, event.bytes});
  events_.clear();
  counterValues_.clear();
  return all;
}

std::string Trace::getTierCounter(std::string_view tier) { return "bytes in " + std::string(tier); }

/// A JSON string. Bytes beyond ASCII stay as they are: labels are UTF-8.
static std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char character : text) {
    if (character == '"' || character == '\\') {
      result += '\\';
      result += character;
    } else if (static_cast<unsigned char>(character) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", unsigned(character));
      result += escape;
    } else {
      result += character;
    }
  }
  return result + "\"";
}

/// Nanoseconds as microseconds with three decimals.
static std::string microseconds(int64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", double(nanoseconds) / 1000);
  return text;
}

std::string Trace::json() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> texts(texts_.size());
  for (const auto &[text, number] : texts_)
    texts[number] = quoted(text);
  std::set<int32_t> threads;
  for (const Event &event : events_)
    if (event.track < kFirstNamedTrack)
      threads.insert(event.track);

  std::string json = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
                     "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, "
                     "\"args\": {\"name\": \"strata\"}}";
  // Chrome sorts tracks by number where nothing else is said.
  auto nameTrack = [&](int32_t number, const std::string &name) {
    json += ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": " +
            std::to_string(number) + ", \"args\": {\"name\": " + name + "}}";
  };
  for (int32_t thread : threads)
    nameTrack(thread, thread == 0 ? "\"compute\"" : "\"worker " + std::to_string(thread) + "\"");
  for (size_t number = 0; number < tracks_.size(); ++number)
    nameTrack(kFirstNamedTrack + int32_t(number), quoted(tracks_[number]));
  for (const Event &event : events_) {
    json += ",\n{\"name\": " + texts[event.label] + ", \"cat\": " + texts[event.category] +
            ", \"ph\": \"X\", \"pid\": 1, \"tid\": " + std::to_string(event.track) +
            ", \"ts\": " + microseconds(event.begin) +
            ", \"dur\": " + microseconds(event.duration) +
            ", \"args\": {\"step\": " + std::to_string(event.step) +
            ", \"tokens\": " + std::to_string(event.tokens);
    if (event.bytes >= 0)
      json += ", \"bytes\": " + std::to_string(event.bytes);
    json += "}}";
  }
  for (const CounterValue &value : counterValues_)
    json += ",\n{\"name\": " + texts[value.counter] +
            ", \"ph\": \"C\", \"pid\": 1, \"ts\": " + microseconds(value.at) +
            ", \"args\": {\"value\": " + std::to_string(value.value) + "}}";
  return json + "\n]}\n";
}

Status Trace::write(const std::string &path) const { return writeFile(path, json()); }

} // namespace strata::rt
