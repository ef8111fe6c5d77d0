//===- Trace.cpp - What ran when, for Perfetto ----------------------------===//
//
// Chrome's trace event format: an object with "traceEvents", complete events ("ph": "X") with times
// in microseconds, and metadata events ("ph": "M") that name process and threads.
//
//===----------------------------------------------------------------------===//
#include "strata/runtime/core/Trace.h"

#include "strata/lib/Support/File.h"

#include <cstdio>
#include <set>

namespace strata::rt {

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

void Trace::add(std::string_view label, std::string_view category, int thread,
                Clock::time_point begin, Clock::time_point end) {
  std::lock_guard<std::mutex> lock(mutex_);
  events_.push_back({intern(label), intern(category), thread, step_, tokens_,
                     nanoseconds(begin - origin_), nanoseconds(end - begin)});
}

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
    threads.insert(event.thread);

  std::string json = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
                     "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, "
                     "\"args\": {\"name\": \"strata\"}}";
  for (int32_t thread : threads) {
    std::string number = std::to_string(thread);
    json += ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": " + number +
            ", \"args\": {\"name\": \"" + (thread == 0 ? "main" : "worker " + number) + "\"}}";
  }
  for (const Event &event : events_)
    json += ",\n{\"name\": " + texts[event.label] + ", \"cat\": " + texts[event.category] +
            ", \"ph\": \"X\", \"pid\": 1, \"tid\": " + std::to_string(event.thread) +
            ", \"ts\": " + microseconds(event.begin) +
            ", \"dur\": " + microseconds(event.duration) +
            ", \"args\": {\"step\": " + std::to_string(event.step) +
            ", \"tokens\": " + std::to_string(event.tokens) + "}}";
  return json + "\n]}\n";
}

Status Trace::write(const std::string &path) const { return writeFile(path, json()); }

} // namespace strata::rt
