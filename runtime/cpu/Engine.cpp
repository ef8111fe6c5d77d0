//===- Engine.cpp - A thread that moves data between tiers ----------------===//
#include "strata/runtime/cpu/Engine.h"

#include "strata/runtime/core/Trace.h"

#include <algorithm>
#include <sys/prctl.h>
#include <time.h>
#include <utility>

namespace strata::rt {

using std::chrono::nanoseconds;

static void sleepUntil(Engine::Clock::time_point time) {
  // libstdc++'s steady clock is CLOCK_MONOTONIC.
  int64_t since = std::chrono::duration_cast<nanoseconds>(time.time_since_epoch()).count();
  timespec until{time_t(since / 1000000000), long(since % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

Engine::Engine(std::string name, const Limits &limits, Trace *trace)
    : name_(std::move(name)), limits_(limits), trace_(trace), random_(limits.delaySeed) {
  if (trace_)
    track_ = trace_->addTrack("engine " + name_);
}

Expected<std::unique_ptr<Engine>> Engine::start(std::string name, const Limits &limits,
                                                Trace *trace) {
  std::unique_ptr<Engine> engine(new Engine(std::move(name), limits, trace));
  if (int error = pthread_create(&engine->thread_, nullptr, enter, engine.get()))
    return Status(StatusCode::OutOfMemory, "can't start the thread of engine " + engine->name_ +
                                               ": error " + std::to_string(error));
  engine->hasThread_ = true;
  return engine;
}

Engine::~Engine() {
  if (!hasThread_)
    return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  submitted_.notify_one();
  pthread_join(thread_, nullptr);
}

Engine::Ticket Engine::submit(Transfer transfer) {
  Ticket ticket;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back({std::move(transfer), Clock::now()});
    ticket = ++last_;
  }
  submitted_.notify_one();
  return ticket;
}

Status Engine::wait(Ticket ticket) {
  std::unique_lock<std::mutex> lock(mutex_);
  ended_.wait(lock, [&] { return done_ >= ticket; });
  return std::exchange(error_, Status());
}

Status Engine::drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  ended_.wait(lock, [&] { return done_ == last_; });
  return std::exchange(error_, Status());
}

bool Engine::hasEnded(Ticket ticket) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return done_ >= ticket;
}

void *Engine::enter(void *engine) {
  // Sleeps end within a microsecond of their time, not within the usual 50.
  prctl(PR_SET_TIMERSLACK, 1000);
  static_cast<Engine *>(engine)->work();
  return nullptr;
}

void Engine::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    submitted_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty())
      return;
    Entry entry = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    Status status = run(entry);
    lock.lock();
    ++done_;
    if (!status.ok() && error_.ok())
      error_ = std::move(status);
    ended_.notify_all();
  }
}

Status Engine::run(const Entry &entry) {
  Clock::time_point begin = std::max(entry.submitted, free_);
  if (limits_.mostDelay > 0) {
    begin += nanoseconds(int64_t(random_()) % limits_.mostDelay);
    sleepUntil(begin);
  }
  Status status = entry.transfer.work();
  double seconds = limits_.operationSeconds;
  if (limits_.bandwidth > 0)
    seconds += double(entry.transfer.bytes) / limits_.bandwidth;
  Clock::time_point end = begin + nanoseconds(int64_t(seconds * 1e9)), now = Clock::now();
  if (now < end)
    sleepUntil(end);
  free_ = std::max(now, end);
  if (trace_)
    trace_->addTransfer(entry.transfer.label, track_, begin, free_, entry.transfer.bytes);
  return status;
}

} // namespace strata::rt
