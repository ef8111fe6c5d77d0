//===- TiersTest.cpp - A run with tiers gives the bits of one without -----===//
#include "strata/runtime/core/SlotTable.h"
#include "strata/runtime/core/TierCounters.h"
#include "strata/runtime/core/Trace.h"
#include "strata/runtime/cpu/TestModel.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace strata;
using namespace strata::rt;
using package::Argument;
using package::ArgumentKind;
using package::Command;
using package::Residence;
using package::Size;
using package::StepArray;

namespace {

constexpr int64_t kWidth = 32, kVocabulary = 32, kPageSize = 4, kRecords = 6;
/// The engines of the models.
enum EngineNumber { kIn, kOut };

/// Where the parts of a model lie. Nothing far: no tiers.
struct Places {
  bool rows = false;   ///< caches of both groups
  bool keys = false;   ///< index keys are streamed
  bool pages = false;  ///< the cache that is read whole is reloaded
  bool weight = false; ///< the matrix is reloaded
  int32_t slots = kRecords;
  int32_t speculation = 0; ///< records for the second group, from the first group's rows
  bool hitsFirst = false;  ///< the leader scores its hits under the gather
  uint64_t capacity = 0;
  double bandwidth = 0;

  bool areTiers() const { return rows || keys || pages || weight; }
};

/// An indexer and a group of two caches, a second indexer and group of one, a cache that is read
/// whole, a matrix: each feeds the next.
class LayeredModel {
public:
  explicit LayeredModel(const Places &places) : places_(places) { build(); }

  std::unique_ptr<Executor> executor(ExecutorOptions options) {
    Expected<std::unique_ptr<Executor>> executor = model_.finish(options);
    EXPECT_TRUE(executor.ok()) << executor.status().message();
    return executor.ok() ? std::move(*executor) : nullptr;
  }
  Expected<std::unique_ptr<Executor>> tryExecutor(ExecutorOptions options) {
    return model_.finish(options);
  }

private:
  static Argument slot(int32_t number) { return TestModel::slotArgument(number); }
  static Argument step(StepArray array) { return TestModel::stepArgument(array); }
  int32_t vector() { return model_.slot(4 * kWidth); }
  int32_t integers() { return model_.slot(4 * kRecords); }

  void gather(int32_t hotSet, int32_t transfer) {
    model_.add(Command::Gather, package::CreateGather(model_.builder, hotSet, kIn, transfer),
               "gather " + std::to_string(hotSet));
  }
  void wait(int32_t transfer) {
    model_.add(Command::Wait, package::CreateWait(model_.builder, transfer), "wait");
  }
  void writeBack(int32_t cache, int32_t transfer) {
    model_.add(Command::WriteBack, package::CreateWriteBack(model_.builder, cache, kOut, transfer),
               "write back");
  }
  void append(int32_t values, int32_t cache, bool toStage) {
    if (toStage)
      model_.launch("append",
                    {slot(values), step(StepArray::TokenNumbers), step(StepArray::Zeros),
                     step(StepArray::PageNumbers), Argument(ArgumentKind::Stage, cache, 0)});
    else
      model_.launch("append", {slot(values), step(StepArray::Positions), step(StepArray::PageBegin),
                               step(StepArray::Pages), TestModel::cacheArgument(cache)});
  }
  Argument attended(int32_t cache, int32_t hotSet) {
    return places_.rows ? Argument(ArgumentKind::HotSet, hotSet, 0)
                        : TestModel::cacheArgument(cache);
  }
  int32_t records(int32_t rows) {
    int32_t records = integers();
    Argument from = slot(rows), to = slot(records);
    model_.add(Command::Records,
               package::CreateRecords(model_.builder, &from, &to, kRecords, kPageSize), "records");
    return records;
  }

  /// What a group attends by: record numbers of the pool, or slots.
  struct Rows {
    int32_t slots, hits, misses;
  };
  Rows resolve(int32_t records, int32_t table) {
    if (!places_.rows)
      return {records, records, records};
    Rows rows{integers(), integers(), integers()};
    Argument from = slot(records), slots = slot(rows.slots), hits = slot(rows.hits),
             misses = slot(rows.misses);
    model_.add(Command::Resolve,
               package::CreateResolve(model_.builder, &from, table, &slots, &hits, &misses),
               "resolve");
    return rows;
  }
  void speculate(int32_t records, int32_t table) {
    Argument from = slot(records);
    model_.add(Command::Resolve,
               package::CreateResolve(model_.builder, &from, table, nullptr, nullptr, nullptr,
                                      places_.speculation),
               "speculate");
  }

  /// Attention with scores; the hits' come first, in a command of their own, if places say so.
  int32_t attendScored(int32_t query, const Rows &rows, int32_t cache, int32_t hotSet,
                       int32_t transfer) {
    int32_t scores = model_.slot(4 * kRecords), output = vector();
    Argument keys = attended(cache, hotSet);
    auto scored = [&](int32_t which) {
      return model_.launchTable("record_scores", {slot(query), slot(which), keys, slot(scores)});
    };
    if (places_.rows)
      gather(hotSet, transfer);
    if (places_.rows && places_.hitsFirst)
      model_.add(Command::PartialScores,
                 package::CreatePartialScores(model_.builder, 0, scored(rows.hits), 1, hotSet),
                 "hits");
    if (places_.rows)
      wait(transfer);
    bool half = places_.rows && places_.hitsFirst;
    auto attention = model_.launchTable("attend_scored_records",
                                        {slot(rows.slots), keys, slot(scores), slot(output)});
    model_.add(Command::HeadAttention,
               package::CreateHeadAttention(model_.builder, 0, attention, 0, 1,
                                            places_.rows ? hotSet : -1,
                                            scored(half ? rows.misses : rows.slots)),
               "leader");
    return output;
  }
  int32_t mixed(int32_t a, int32_t b) {
    int32_t output = vector();
    model_.launch("mix", {slot(a), slot(b), slot(output)}, Size(kWidth, 0, 0));
    return output;
  }

  void build() {
    int32_t leader = model_.cache(where(places_.rows, Residence::Rows));
    int32_t follower = model_.cache(where(places_.rows, Residence::Rows));
    int32_t second = model_.cache(where(places_.rows, Residence::Rows));
    int32_t whole = model_.cache(where(places_.pages, Residence::Reloaded), 0);
    if (places_.keys)
      model_.setResidence(Residence::Streamed, 0);
    addTables(leader, follower, second);

    int32_t hidden = model_.gatherTable(randomValues(size_t(kVocabulary * kWidth), 1));
    append(hidden, 0, places_.keys);
    if (places_.keys) {
      writeBack(0, 0);
      wait(0);
    }
    int32_t rows = integers();
    model_.select(hidden, hidden, rows, kRecords, 0, places_.keys ? kIn : -1);
    int32_t numbers = records(rows);
    Rows first = resolve(numbers, 0);
    // The follower's gather begins before its cache is appended to.
    if (places_.rows) {
      gather(1, 2);
      if (places_.speculation > 0) {
        speculate(numbers, 1);
        gather(2, 3);
      }
    }
    append(hidden, leader, places_.rows);
    if (places_.rows)
      writeBack(leader, 4);
    int32_t out = mixed(attendScored(hidden, first, leader, 0, 1), hidden);

    append(out, follower, places_.rows);
    if (places_.rows) {
      writeBack(follower, 5);
      wait(2);
    }
    int32_t attendedOut = vector();
    model_.launch("attend_records", {slot(first.slots), attended(follower, 1), slot(attendedOut)});
    out = mixed(attendedOut, out);

    if (places_.rows && places_.speculation > 0)
      wait(3);
    int32_t otherRows = integers();
    model_.select(out, hidden, otherRows, kRecords, 0, places_.keys ? kIn : -1);
    Rows other = resolve(records(otherRows), 1);
    append(out, second, places_.rows);
    if (places_.rows)
      writeBack(second, 6);
    out = mixed(attendScored(out, other, second, 2, 3), out);

    if (places_.weight)
      model_.add(Command::Reload, package::CreateReload(model_.builder, matrix_, -1, kIn, 8),
                 "matrix");
    out = readWhole(out, whole);
    if (places_.weight)
      wait(8);
    out = multiplied(out);
    if (places_.rows)
      for (int32_t transfer : {4, 5, 6})
        wait(transfer);
    model_.setLogits(out);
  }

  int32_t readWhole(int32_t values, int32_t cache) {
    if (places_.pages) {
      model_.add(Command::Reload, package::CreateReload(model_.builder, -1, cache, kIn, 7),
                 "pages");
      wait(7);
    }
    append(values, cache, false);
    if (places_.pages)
      writeBack(cache, 7);
    int32_t sums = vector();
    // The kernel writes the first value of a row alone.
    model_.launch("mix", {slot(values), slot(values), slot(sums)}, Size(kWidth, 0, 0));
    model_.launch("sum_visible",
                  {step(StepArray::Positions), step(StepArray::PageBegin), step(StepArray::Pages),
                   TestModel::cacheArgument(cache), slot(sums)});
    if (places_.pages)
      wait(7);
    return mixed(sums, values);
  }

  int32_t multiplied(int32_t values) {
    int32_t output = vector();
    package::View from = TestModel::view(values, kWidth), to = TestModel::view(output, kWidth);
    Size tokens(1, 0, 0);
    std::vector<flatbuffers::Offset<package::ProductPart>> parts{
        package::CreateProductPart(model_.builder, matrix_, -1, &to, kWidth)};
    model_.add(
        Command::Product,
        package::CreateProductDirect(model_.builder, &from, &parts, nullptr, &tokens, 1, kWidth),
        "product");
    return output;
  }

  Residence where(bool isFar, Residence residence) { return isFar ? residence : Residence::Whole; }

  void addTables(int32_t leader, int32_t follower, int32_t second) {
    matrix_ = model_.weight("matrix", {kWidth, kWidth}, randomValues(size_t(kWidth * kWidth), 2));
    if (!places_.areTiers())
      return;
    model_.tiers.capacities = {places_.capacity, 0};
    model_.tiers.bandwidths = {places_.bandwidth, places_.bandwidth};
    if (places_.rows) {
      model_.tiers.slotTables = {{places_.slots, kRecords}, {places_.slots, kRecords}};
      model_.tiers.hotSets = {{leader, 0}, {follower, 0}, {second, 1}};
    }
    if (places_.pages)
      model_.tiers.stagingPools = 1;
    if (places_.keys)
      model_.tiers.blockRecords = {2 * kPageSize};
    if (places_.weight) {
      model_.tiers.weightSlots = {4 * kWidth * kWidth};
      model_.setWeightSlot(matrix_, 0);
    }
  }

  Places places_;
  TestModel model_{kVocabulary};
  int32_t matrix_ = -1;
};

/// Sequences that come, grow and go, and leave their pages to others.
class Traffic {
public:
  Traffic(uint32_t seed, int64_t sequences, int64_t pages) : random_(seed) {
    sequences_.resize(size_t(sequences));
    for (int64_t page = 0; page < pages; ++page)
      free_.push_back(int32_t(page));
  }

  /// A step of 1 to 12 tokens.
  StepInput next() {
    StepInput input;
    while (input.tokenIds.empty())
      for (size_t s = 0; s < sequences_.size(); ++s)
        addTokens(s, input);
    for (size_t n = 0; n < input.tokenIds.size(); ++n)
      if (below(3) != 0)
        input.wanted.push_back(int32_t(n));
    return input;
  }

private:
  struct Sequence {
    int64_t length = 0;
    std::vector<int32_t> pages;
  };

  int64_t below(int64_t bound) { return int64_t(random_() % uint32_t(bound)); }

  void addTokens(size_t number, StepInput &input) {
    Sequence &sequence = sequences_[number];
    if (below(40) == 0) {
      free_.insert(free_.begin(), sequence.pages.begin(), sequence.pages.end());
      sequence = {};
    }
    // Mostly one token, at times a prompt.
    int64_t tokens = below(12) == 0 ? below(6) : below(2);
    size_t begin = input.pages.size(), first = input.tokenIds.size();
    for (int64_t n = 0; n < tokens; ++n) {
      if (sequence.length % kPageSize == 0) {
        if (free_.empty())
          break;
        sequence.pages.push_back(free_.back());
        free_.pop_back();
      }
      input.tokenIds.push_back(int32_t(below(kVocabulary)));
      input.positions.push_back(int32_t(sequence.length++));
      input.sequences.push_back(int32_t(number));
      input.pageBegin.push_back(int32_t(begin));
    }
    if (input.tokenIds.size() != first)
      input.pages.insert(input.pages.end(), sequence.pages.begin(), sequence.pages.end());
  }

  std::mt19937 random_;
  std::vector<Sequence> sequences_;
  std::vector<int32_t> free_;
};

ExecutorOptions smallOptions() {
  ExecutorOptions options;
  options.maxTokens = options.maxWanted = 16;
  options.maxPages = 40;
  options.maxSequences = 4;
  options.threads = 2;
  options.poison = true;
  return options;
}

struct Result {
  std::vector<float> logits;
  std::vector<std::vector<int32_t>> rows;
};

Result run(Executor &executor, const StepInput &input) {
  Result result;
  result.logits.assign(input.wanted.size() * size_t(kWidth), 0);
  result.rows.assign(2, std::vector<int32_t>(input.tokenIds.size() * size_t(kRecords), -2));
  StepOutput output;
  output.logits = result.logits.data();
  output.rows = {result.rows[0].data(), result.rows[1].data()};
  Status status = executor.step(input, output);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

bool isFull() {
  const char *counts = std::getenv("STRATA_TEST_COUNTS");
  return counts && std::strcmp(counts, "full") == 0;
}

/// The bits of both models over many steps.
void compare(const Places &places, int steps, uint32_t seed, int64_t delay) {
  LayeredModel plainModel{Places()}, model(places);
  ExecutorOptions options = smallOptions();
  std::unique_ptr<Executor> plain = plainModel.executor(options);
  options.transferDelay = delay;
  std::unique_ptr<Executor> tiered = model.executor(options);
  ASSERT_TRUE(plain && tiered);
  Traffic traffic(seed, 4, 40);
  for (int step = 0; step < steps; ++step) {
    StepInput input = traffic.next();
    Result expected = run(*plain, input), got = run(*tiered, input);
    ASSERT_EQ(expected.rows, got.rows) << "step " << step;
    ASSERT_EQ(std::memcmp(expected.logits.data(), got.logits.data(), 4 * got.logits.size()), 0)
        << "step " << step;
    for (float logit : got.logits)
      ASSERT_EQ(logit, logit) << "step " << step;
  }
}

Places everythingFar() {
  Places places;
  places.rows = places.keys = places.pages = places.weight = true;
  return places;
}

TEST(Tiers, RowsThroughHotSets) {
  for (int32_t slots : {6, 9, 17, 64}) {
    Places places;
    places.rows = true;
    places.slots = slots;
    compare(places, 150, uint32_t(slots), 0);
  }
}

TEST(Tiers, HitsAreScoredUnderTheGather) {
  for (int32_t slots : {6, 12, 40}) {
    Places places;
    places.rows = places.hitsFirst = true;
    places.slots = slots;
    compare(places, 150, uint32_t(slots), 100000);
  }
}

TEST(Tiers, Speculation) {
  Places places;
  places.rows = true;
  places.slots = 16;
  places.speculation = 5;
  compare(places, 200, 1, 100000);
}

TEST(Tiers, IndexKeysInBlocks) {
  Places places;
  places.keys = true;
  compare(places, 200, 2, 100000);
}

TEST(Tiers, PagesOfReloadedCaches) {
  Places places;
  places.pages = true;
  compare(places, 200, 3, 100000);
}

TEST(Tiers, WeightsThroughSlots) {
  Places places;
  places.weight = true;
  compare(places, 50, 4, 100000);
}

/// All at once, for long: sequences come and go, engines are late at random.
TEST(Tiers, ManySequencesWithLateEngines) {
  Places places = everythingFar();
  places.hitsFirst = true;
  places.speculation = 3;
  places.slots = 14;
  compare(places, isFull() ? 10000 : 300, 5, 50000);
}

TEST(Tiers, CountsWhatMoves) {
  Places places;
  places.rows = places.weight = true;
  places.slots = 16;
  LayeredModel model(places);
  std::unique_ptr<Executor> executor = model.executor(smallOptions());
  ASSERT_TRUE(executor);
  const TierCounters *counters = executor->tierCounters();
  ASSERT_TRUE(counters);
  run(*executor, oneSequence({1, 2, 3}));
  // Three tokens see 1, 2 and 3 records, all of them their own.
  EXPECT_EQ(counters->hits, 0u);
  EXPECT_EQ(counters->misses, 0u);
  EXPECT_EQ(counters->ownRecords, 6u);
  EXPECT_EQ(counters->engines[kIn].bytesToNear, uint64_t(4 * kWidth * kWidth));
  EXPECT_EQ(counters->engines[kOut].bytesToFar, uint64_t(3 * 3 * 4 * kWidth));
  run(*executor, oneSequence({4}, 3));
  EXPECT_EQ(counters->hits, 6u);
  EXPECT_EQ(counters->ownRecords, 8u);
  EXPECT_EQ(counters->tiers[0].name, "near");
  EXPECT_GT(counters->tiers[0].peakBytes, 0u);
  // The homes of three caches.
  EXPECT_EQ(counters->tiers[1].peakBytes, uint64_t(3 * 40 * kPageSize * 4 * kWidth));
}

TEST(Tiers, TheNearTierIsAsLargeAsItsCapacity) {
  Places places = everythingFar();
  uint64_t need = 0;
  {
    LayeredModel model(places);
    std::unique_ptr<Executor> executor = model.executor(smallOptions());
    ASSERT_TRUE(executor);
    need = executor->tierCounters()->tiers[0].peakBytes;
  }
  places.capacity = need;
  EXPECT_TRUE(LayeredModel(places).executor(smallOptions()));
  places.capacity = need - 1;
  LayeredModel small(places);
  Expected<std::unique_ptr<Executor>> executor = small.tryExecutor(smallOptions());
  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.status().code(), StatusCode::OutOfMemory);
  std::string message = executor.status().message();
  EXPECT_EQ(message.find("tier near has " + std::to_string(need - 1) + " bytes but the run needs " +
                         std::to_string(need) + ": activations "),
            0u)
      << message;
  EXPECT_NE(message.find("; the package was compiled for 2 sequences of 64 positions and steps of "
                         "8 tokens"),
            std::string::npos)
      << message;
}

TEST(Tiers, AnErrorLeavesTheTablesSound) {
  Places places = everythingFar();
  places.slots = 20;
  LayeredModel plainModel{Places()}, model(places);
  std::unique_ptr<Executor> plain = plainModel.executor(smallOptions());
  ExecutorOptions options = smallOptions();
  options.transferDelay = 200000;
  std::unique_ptr<Executor> tiered = model.executor(options);
  ASSERT_TRUE(plain && tiered);
  run(*plain, oneSequence({1, 2, 3, 4, 5}));
  run(*tiered, oneSequence({1, 2, 3, 4, 5}));
  // The second indexer's rows aren't ascending: the step ends with gathers under way.
  StepInput bad = oneSequence({6, 7}, 5);
  std::vector<int32_t> rows(size_t(2 * kRecords), 4);
  bad.importedRows = {nullptr, rows.data()};
  std::vector<float> logits(2 * size_t(kWidth));
  StepOutput output;
  output.logits = logits.data();
  EXPECT_FALSE(tiered->step(bad, output).ok());
  for (int32_t position : {5, 6, 7}) {
    Result expected = run(*plain, oneSequence({position}, position));
    Result got = run(*tiered, oneSequence({position}, position));
    EXPECT_EQ(expected.logits, got.logits);
  }
}

TEST(Tiers, StallsAreNamed) {
  Places places = everythingFar();
  places.bandwidth = 1e7;
  LayeredModel model(places);
  Trace trace;
  ExecutorOptions options = smallOptions();
  options.trace = &trace;
  {
    std::unique_ptr<Executor> executor = model.executor(options);
    ASSERT_TRUE(executor);
    run(*executor, oneSequence({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    run(*executor, oneSequence({1}, 10));
    const TierCounters &counters = *executor->tierCounters();
    EXPECT_GT(counters.stalls[size_t(StallCause::IndexKeys)], 0u);
    EXPECT_GT(counters.stalls[size_t(StallCause::WriteBack)], 0u);
  }
  std::string json = trace.json();
  for (const char *text : {"index keys", "write-back", "engine engine", "hits", "stall ns"})
    EXPECT_NE(json.find(text), std::string::npos) << text;
}

} // namespace
