//===- EngineTest.cpp -----------------------------------------------------===//
#include "strata/runtime/cpu/Engine.h"

#include "strata/runtime/core/Trace.h"

#include <gtest/gtest.h>
#include <vector>

using namespace strata;
using namespace strata::rt;
using std::chrono::milliseconds;

namespace {

std::unique_ptr<Engine> start(const Engine::Limits &limits, Trace *trace = nullptr) {
  Expected<std::unique_ptr<Engine>> engine = Engine::start("test", limits, trace);
  EXPECT_TRUE(engine.ok());
  return std::move(*engine);
}

TEST(Engine, RunsTransfersInOrder) {
  std::unique_ptr<Engine> engine = start({0, 0, /*mostDelay=*/20000, 7});
  std::vector<int> order;
  Engine::Ticket last = 0;
  for (int i = 0; i < 200; ++i)
    last = engine->submit({"", 0, [&order, i] {
                             order.push_back(i);
                             return Status::success();
                           }});
  ASSERT_TRUE(engine->wait(last).ok());
  ASSERT_TRUE(engine->hasEnded(last));
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(order[size_t(i)], i);
}

TEST(Engine, KeepsItsRate) {
  // 10 operations of 1 ms and 1000 bytes of 1 µs each.
  std::unique_ptr<Engine> engine = start({1e6, 1e-3, 0, 0});
  Engine::Clock::time_point begin = Engine::Clock::now();
  for (int i = 0; i < 10; ++i)
    engine->submit({"", 1000, [] { return Status::success(); }});
  ASSERT_TRUE(engine->drain().ok());
  EXPECT_GE(Engine::Clock::now() - begin, milliseconds(20));
}

TEST(Engine, TellsTheFirstErrorOnce) {
  std::unique_ptr<Engine> engine = start({});
  auto fail = [](const char *what) { return [what] { return Status(StatusCode::Io, what); }; };
  engine->submit({"", 0, fail("first")});
  Engine::Ticket second = engine->submit({"", 0, fail("second")});
  EXPECT_EQ(engine->wait(second).message(), "first");
  EXPECT_TRUE(engine->drain().ok());
}

TEST(Engine, EndsWhatWasStartedBeforeItGoes) {
  int done = 0;
  {
    std::unique_ptr<Engine> engine = start({0, 1e-4, 0, 0});
    for (int i = 0; i < 10; ++i)
      engine->submit({"", 0, [&done] {
                        ++done;
                        return Status::success();
                      }});
  }
  EXPECT_EQ(done, 10);
}

TEST(Engine, TransfersAreInTheTrace) {
  Trace trace;
  std::unique_ptr<Engine> engine = start({}, &trace);
  engine->submit({"rows", 42, [] { return Status::success(); }});
  ASSERT_TRUE(engine->drain().ok());
  std::string json = trace.json();
  EXPECT_NE(json.find("engine test"), std::string::npos);
  EXPECT_NE(json.find("rows"), std::string::npos);
}

} // namespace
