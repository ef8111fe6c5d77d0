//===- TraceTest.cpp - Traces are JSON with all events --------------------===//
#include "strata/runtime/core/Trace.h"

#include "strata/lib/Support/TestFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <thread>

namespace strata::rt {
namespace {

nlohmann::json parse(const std::string &text) {
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

TEST(Trace, EmptyTraceIsJson) {
  nlohmann::json json = parse(Trace().json());
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["traceEvents"].size(), 1u);
}

TEST(Trace, EventsCarryLabelStepTokensAndThread) {
  Trace trace;
  Trace::Clock::time_point now = Trace::Clock::now();
  trace.beginStep(3, 20);
  trace.add("layer 0 \"a\\b\"\n\x01", "Product", 2, now, now + std::chrono::nanoseconds(1500));
  nlohmann::json json = parse(trace.json());
  ASSERT_TRUE(json.is_object());
  const nlohmann::json &event = json["traceEvents"].back();
  EXPECT_EQ(event["name"], "layer 0 \"a\\b\"\n\x01");
  EXPECT_EQ(event["cat"], "Product");
  EXPECT_EQ(event["ph"], "X");
  EXPECT_EQ(event["tid"], 2);
  EXPECT_EQ(event["dur"], 1.5);
  EXPECT_GE(event["ts"], 0.0);
  EXPECT_EQ(event["args"]["step"], 3);
  EXPECT_EQ(event["args"]["tokens"], 20);
  EXPECT_EQ(json["traceEvents"][1]["args"]["name"], "worker 2");
}

TEST(Trace, TakesEventsFromSeveralThreads) {
  Trace trace;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&trace, number] {
      for (int i = 0; i < 100; ++i)
        trace.add("event " + std::to_string(i % 5), "test", number, Trace::Clock::now(),
                  Trace::Clock::now());
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(parse(trace.json())["traceEvents"].size(), 1u + 4 + 400);
}

TEST(Trace, EnginesAreTracksAndCountersAreValues) {
  Trace trace;
  int in = trace.addTrack("engine copy in"), out = trace.addTrack("engine \"out\"");
  EXPECT_NE(in, out);
  EXPECT_EQ(trace.addTrack("engine copy in"), in);
  trace.addTransfer("layer 3 gather", in, trace.at(1000), trace.at(3500), 656);
  trace.addStall("rows of a leader", trace.at(2000), trace.at(3500));
  trace.setCounter(Trace::getTierCounter("hbm"), trace.at(1500), 64);
  nlohmann::json json = parse(trace.json());
  ASSERT_TRUE(json.is_object());
  const nlohmann::json &events = json["traceEvents"];
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[1]["args"]["name"], "compute");
  EXPECT_EQ(events[2]["tid"], in);
  EXPECT_EQ(events[3]["args"]["name"], "engine \"out\"");
  EXPECT_EQ(events[4]["cat"], "transfer");
  EXPECT_EQ(events[4]["ts"], 1.0);
  EXPECT_EQ(events[4]["dur"], 2.5);
  EXPECT_EQ(events[4]["args"]["bytes"], 656);
  EXPECT_EQ(events[5]["name"], "rows of a leader");
  EXPECT_EQ(events[5]["cat"], "stall");
  EXPECT_EQ(events[5]["tid"], 0);
  EXPECT_EQ(events[6]["name"], "bytes in hbm");
  EXPECT_EQ(events[6]["ph"], "C");
  EXPECT_EQ(events[6]["args"]["value"], 64);
}

TEST(Trace, EventsAreHandedOverOnce) {
  Trace trace;
  trace.add("product", "Product", 0, trace.at(10), trace.at(30));
  int in = trace.addTrack("engine in");
  trace.addTransfer("rows", in, trace.at(5), trace.at(25), 64);
  std::vector<Trace::Measured> events = trace.take();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].label, "product");
  EXPECT_EQ(events[0].category, "Product");
  EXPECT_EQ(events[0].end - events[0].begin, 20);
  EXPECT_EQ(events[1].track, in);
  EXPECT_EQ(events[1].bytes, 64);
  EXPECT_TRUE(trace.take().empty());
}

TEST(Trace, IsWrittenWhole) {
  TestFolder folder;
  Trace trace;
  ASSERT_TRUE(trace.write(folder.file("trace.json")).ok());
  EXPECT_EQ(folder.read("trace.json"), trace.json());
  EXPECT_FALSE(trace.write(folder.file("none/trace.json")).ok());
}

} // namespace
} // namespace strata::rt
