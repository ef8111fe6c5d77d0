//===- Timeline.cpp - When commands and transfers run ---------------------===//
//
// Between two events all rates are constant: a transfer gets what its engine reaches, less where a
// link can't carry all that is on it. An event ends at the first whole nanosecond at which nothing
// is left of it.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Sim/Timeline.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

namespace strata::sim {

int64_t Timeline::transferNanoseconds() const {
  int64_t sum = 0;
  for (const Interval &transfer : transfers)
    sum += transfer.length();
  return sum;
}

int64_t Timeline::exposedNanoseconds() const {
  int64_t sum = 0;
  for (int64_t each : exposed)
    sum += each;
  return sum;
}

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

class Run {
public:
  Run(const std::vector<Transfer> &transfers, const Links &links)
      : transfers_(transfers), links_(links), engines_(links.engines.size()) {}

  Timeline run(const std::vector<Operation> &operations);

private:
  struct Engine {
    std::deque<int> queue; ///< the first one runs
    double setup = 0;      ///< nanoseconds of it that are left before bytes flow
    double bytes = 0;      ///< of it that are left, stretched
    double rate = 0;       ///< bytes per nanosecond, until the next event
  };

  bool hasEnded(int transfer) const { return ended_[size_t(transfer)]; }
  void start(int transfer);
  void begin(Engine &engine);
  void setRates();
  void shareLink(int link);
  /// Lets time pass to the next end of a transfer, at most to `limit`.
  void advance(int64_t limit);
  double computeRate() const;
  void compute(int64_t work);
  void wait(const Operation &operation);
  void settleExposed();

  const std::vector<Transfer> &transfers_;
  const Links &links_;
  std::vector<Engine> engines_;
  std::vector<bool> ended_;
  std::vector<size_t> order_; ///< of transfers, as they started
  int64_t now_ = 0;
  Timeline timeline_;
};

} // namespace

void Run::start(int transfer) {
  Engine &engine = engines_[size_t(transfers_[size_t(transfer)].engine)];
  engine.queue.push_back(transfer);
  order_.push_back(size_t(transfer));
  if (engine.queue.size() == 1)
    begin(engine);
}

void Run::begin(Engine &engine) {
  const Transfer &transfer = transfers_[size_t(engine.queue.front())];
  timeline_.transfers[size_t(engine.queue.front())].begin = now_;
  engine.setup = double(transfer.setupNanoseconds);
  engine.bytes = double(transfer.bytes) * transfer.stretch;
}

/// Divides a link's bandwidth among what flows over it: what an engine can't use is left to the
/// others of its direction; both directions are slowed down alike if there is a limit for them
/// together.
void Run::shareLink(int link) {
  double total = 0;
  bool flows[2] = {false, false};
  std::vector<Engine *> all;
  for (bool toNear : {false, true}) {
    std::vector<std::pair<double, Engine *>> users; // the slowest first
    for (size_t i = 0; i < engines_.size(); ++i) {
      Engine &engine = engines_[i];
      if (links_.engines[i].link != link || engine.queue.empty() || engine.setup > 0 ||
          transfers_[size_t(engine.queue.front())].toNear != toNear)
        continue;
      double bandwidth = links_.engines[i].bandwidth;
      users.push_back({bandwidth > 0 ? bandwidth / 1e9 : kUnlimited, &engine});
    }
    std::stable_sort(users.begin(), users.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    double left = link >= 0 && links_.links[size_t(link)].bandwidth > 0
                      ? links_.links[size_t(link)].bandwidth / 1e9
                      : kUnlimited;
    for (size_t i = 0; i < users.size(); ++i) {
      double share = std::min(users[i].first, left / double(users.size() - i));
      users[i].second->rate = share;
      left -= left == kUnlimited ? 0 : share;
      total += share;
      flows[toNear] = true;
      all.push_back(users[i].second);
    }
  }
  double most = link >= 0 ? links_.links[size_t(link)].bothDirections / 1e9 : 0;
  if (flows[0] && flows[1] && most > 0 && total > most && total < kUnlimited)
    for (Engine *engine : all)
      engine->rate *= most / total;
}

void Run::setRates() {
  for (size_t link = 0; link < links_.links.size(); ++link)
    shareLink(int(link));
  for (size_t i = 0; i < engines_.size(); ++i)
    if (links_.engines[i].link < 0) {
      double bandwidth = links_.engines[i].bandwidth;
      engines_[i].rate = bandwidth > 0 ? bandwidth / 1e9 : kUnlimited;
    }
}

/// Nanoseconds until `amount` is gone at `rate`, rounded up; what is left by rounding counts as
/// gone.
static double nanosecondsFor(double amount, double rate) {
  return rate == kUnlimited ? 0 : std::ceil(amount / rate - 1e-6);
}

void Run::advance(int64_t limit) {
  setRates();
  // To the nearest change: the end of a setup or of a transfer.
  double step = double(limit - now_);
  for (const Engine &engine : engines_)
    if (!engine.queue.empty())
      step = std::min(step, engine.setup > 0 ? std::ceil(engine.setup)
                                             : nanosecondsFor(engine.bytes, engine.rate));
  step = std::max(step, 0.0);
  now_ += int64_t(step);
  for (Engine &engine : engines_) {
    if (engine.queue.empty())
      continue;
    if (engine.setup > 0) {
      engine.setup = std::max(engine.setup - step, 0.0);
      if (engine.setup > 0 || engine.bytes > 0)
        continue;
    } else if (nanosecondsFor(engine.bytes, engine.rate) > step) {
      engine.bytes -= engine.rate * step;
      continue;
    }
    int transfer = engine.queue.front();
    timeline_.transfers[size_t(transfer)].end = now_;
    ended_[size_t(transfer)] = true;
    engine.queue.pop_front();
    if (!engine.queue.empty())
      begin(engine);
  }
}

double Run::computeRate() const {
  double slowdown = 0;
  for (size_t i = 0; i < engines_.size(); ++i)
    if (!engines_[i].queue.empty())
      slowdown = std::max(slowdown, links_.engines[i].computeSlowdown);
  return std::max(1 - slowdown, 0.01);
}

void Run::compute(int64_t work) {
  double left = double(work);
  while (left > 1e-6) {
    double rate = computeRate();
    int64_t before = now_, end = now_ + int64_t(nanosecondsFor(left, rate));
    advance(end);
    left = now_ == end ? 0 : left - rate * double(now_ - before);
  }
}

void Run::wait(const Operation &operation) {
  Stall stall{{now_, now_}, operation.transfer, operation.command};
  while (!hasEnded(operation.transfer))
    advance(std::numeric_limits<int64_t>::max() / 2);
  if (now_ > stall.time.begin)
    for (int64_t end = now_ + operation.nanoseconds; now_ < end;)
      advance(end);
  stall.time.end = now_;
  if (stall.time.length() > 0)
    timeline_.stalls.push_back(stall);
}

void Run::settleExposed() {
  // An engine's transfers don't overlap, so that those of a stall follow each other.
  std::vector<std::vector<size_t>> ofEngine(engines_.size());
  for (size_t i : order_)
    ofEngine[size_t(transfers_[i].engine)].push_back(i);
  for (const Stall &stall : timeline_.stalls) {
    const auto &all = ofEngine[size_t(transfers_[size_t(stall.transfer)].engine)];
    auto next = std::partition_point(all.begin(), all.end(), [&](size_t i) {
      return timeline_.transfers[i].end <= stall.time.begin;
    });
    for (; next != all.end() && timeline_.transfers[*next].begin < stall.time.end; ++next) {
      const Interval &time = timeline_.transfers[*next];
      timeline_.exposed[*next] +=
          std::min(stall.time.end, time.end) - std::max(stall.time.begin, time.begin);
    }
  }
}

Timeline Run::run(const std::vector<Operation> &operations) {
  ended_.assign(transfers_.size(), false);
  timeline_.transfers.resize(transfers_.size());
  timeline_.exposed.assign(transfers_.size(), 0);
  for (const Operation &operation : operations) {
    Interval time{now_, now_};
    switch (operation.kind) {
    case Operation::Kind::Compute:
      compute(operation.nanoseconds);
      break;
    case Operation::Kind::Start:
      start(operation.transfer);
      break;
    case Operation::Kind::Wait:
      wait(operation);
      break;
    }
    time.end = now_;
    timeline_.operations.push_back(time);
  }
  timeline_.nanoseconds = now_;
  for (Engine &engine : engines_)
    while (!engine.queue.empty())
      advance(std::numeric_limits<int64_t>::max() / 2);
  settleExposed();
  return std::move(timeline_);
}

Timeline runTimeline(const std::vector<Operation> &operations,
                     const std::vector<Transfer> &transfers, const Links &links) {
  return Run(transfers, links).run(operations);
}

} // namespace strata::sim
