//===- AttentionScoresTest.cpp - Attention in two steps against one -------===//
//
// Scores computed apart from softmax and values, and attention cut in two parts, against the kernel
// that does all at once.
//
//===----------------------------------------------------------------------===//
#include "strata/passes/Lower/TestCache.h"

using namespace mlir;
using namespace strata;

namespace {

/// Which rows are there before the others.
enum class Hits { None, Some, All };

struct Shape {
  CacheType cache;
  int64_t heads, k;
  bool roundQuery = false, sinks = false, window = false, nan = false, ties = false;
};

class AttentionScoresTest : public KernelsTest {
protected:
  static constexpr double scale = 0.3;
  const std::vector<int64_t> lengths{1, 5, 200, 64};
  /// Sequences and positions of tokens: alone, at page borders, with fewer positions than k.
  const std::vector<std::pair<size_t, int32_t>> tokens{{0, 0},  {1, 4},   {2, 0},  {2, 63},
                                                       {2, 64}, {2, 199}, {3, 63}, {2, 199}};

  std::vector<CacheType> cacheTypes() {
    std::vector<CacheType> types;
    for (bool bf16 : {false, true})
      for (bool planar : {false, true})
        types.push_back(
            cache({field(FieldRole::KeyValue, 1, 40, bf16), field(FieldRole::Key, 1, 9, bf16)},
                  planar ? 64 : 4, planar));
    types.push_back(cache({field(FieldRole::Key, 2, 16), field(FieldRole::Value, 2, 24)}, 4));
    return types;
  }

  /// Ascending positions, −1 behind them; the last token has none at all, and some rows hold a
  /// position that the token doesn't see.
  std::vector<int32_t> makeRows(int64_t k) {
    std::vector<int32_t> rows;
    for (auto [number, token] : llvm::enumerate(tokens)) {
      std::vector<int32_t> row(size_t(token.second + 1 + int32_t(number % 2)));
      std::iota(row.begin(), row.end(), 0);
      std::shuffle(row.begin(), row.end(), random);
      row.resize(number + 1 == tokens.size() ? 0 : std::min(row.size(), size_t(k)));
      std::sort(row.begin(), row.end());
      row.resize(size_t(k), -1);
      llvm::append_range(rows, row);
    }
    return rows;
  }

  struct Parts {
    std::vector<int32_t> hits, misses;
  };
  Parts split(const std::vector<int32_t> &rows, Hits hits) {
    Parts parts{std::vector<int32_t>(rows.size(), -1), std::vector<int32_t>(rows.size(), -1)};
    for (size_t i = 0; i < rows.size(); ++i) {
      bool isHit = hits == Hits::All || (hits == Hits::Some && random() % 2);
      (isHit ? parts.hits : parts.misses)[i] = rows[i];
    }
    return parts;
  }

  /// The kernels of a shape, each for every processor.
  struct Compiled {
    std::vector<strata_rt_kernel> plain, scores, scored, first, last;
  };
  Compiled compileAll(const Shape &shape) {
    MemRefType query = view({shape.heads, shape.cache.getKeyWidth()}),
               output = view({shape.heads, shape.cache.getValueWidth()}),
               scores = view({shape.heads, shape.k}),
               partial = KernelModule::getPartialType(output);
    auto sources = [&](bool areScored) {
      std::vector<KernelModule::Source> sources;
      if (shape.window)
        sources.push_back(
            {shape.cache, SelectorAttr::get(&context, SelectorKind::Window, 3), MemRefType(), 0});
      sources.push_back({shape.cache, rowsSelector(), integers(shape.k), shape.window ? 1 : 0,
                         areScored ? scores : MemRefType()});
      return sources;
    };
    KernelModule::Source rows{shape.cache, rowsSelector(), integers(shape.k), 0, scores};
    KernelModule::Source rowsAlone{shape.cache, rowsSelector(), integers(shape.k), 0};
    bool round = shape.roundQuery;
    return {compile(generators.attention(query, sources(false), shape.sinks, scale, round, output)),
            compile(generators.attentionScores(query, rows, scale, round)),
            compile(generators.attention(query, sources(true), shape.sinks, scale, round, output)),
            compile(generators.attention(query, rowsAlone, shape.sinks, scale, round, partial,
                                         AttentionPart::First)),
            compile(generators.attention(query, sources(false), /*hasSinks=*/false, scale, round,
                                         output, AttentionPart::Last))};
  }
  SelectorAttr recordsSelector() { return SelectorAttr::get(&context, SelectorKind::Records, 0); }
  SelectorAttr rowsSelector() { return SelectorAttr::get(&context, SelectorKind::Rows, 0); }

  /// Some keys are equal, or have a NaN.
  static void change(TestCache &cache, const Shape &shape) {
    for (int64_t position = 2; shape.ties && position < 200; position += 3)
      for (int64_t i = 0; i < cache.recordElements && !cache.type.getPlanar(); ++i)
        cache.pool.set(cache.index(2, position, 0) + size_t(i),
                       cache.pool.get(cache.index(2, 0, 0) + size_t(i)));
    if (shape.nan)
      for (int64_t position : {1, 63, 150})
        cache.pool.set(cache.index(2, position, 0) + 1, NAN);
  }

  void check(const Shape &shape) {
    Compiled kernels = compileAll(shape);
    int64_t count = int64_t(tokens.size()), items = count * shape.heads,
            valueWidth = shape.cache.getValueWidth();
    for (size_t processor = 0; processor < kernels.plain.size(); ++processor) {
      TestCache other(shape.cache, lengths, random), cache(shape.cache, lengths, random);
      change(cache, shape);
      TestArray query(size_t(items * shape.cache.getKeyWidth())), sinks(size_t(shape.heads)),
          plain(size_t(items * valueWidth));
      query.fill(random);
      sinks.fill(random);
      std::vector<int32_t> positions, pageBegin, rows = makeRows(shape.k);
      for (auto [sequence, position] : tokens) {
        positions.push_back(position);
        pageBegin.push_back(cache.begins[sequence]);
      }

      /// Calls a kernel for all items, with the arguments that it has in their order.
      auto call = [&](strata_rt_kernel kernel, std::vector<int32_t> &chosen, void *scores,
                      void *partial, bool hasWindow, bool hasSinks, void *result) {
        std::vector<void *> arguments{query.data()};
        if (hasWindow)
          arguments.push_back(other.pool.data());
        arguments.push_back(cache.pool.data());
        arguments.push_back(chosen.data());
        if (scores)
          arguments.push_back(scores);
        if (hasSinks)
          arguments.push_back(sinks.data());
        if (partial)
          arguments.push_back(partial);
        arguments.insert(arguments.end(),
                         {positions.data(), pageBegin.data(), cache.pages.data(), result});
        // Parts of the items in any order are the whole.
        for (int64_t begin = items; begin > 0; begin -= 5)
          kernel(arguments.data(), std::max<int64_t>(0, begin - 5), begin);
      };
      call(kernels.plain[processor], rows, nullptr, nullptr, shape.window, shape.sinks,
           plain.data());

      for (Hits hits : {Hits::None, Hits::Some, Hits::All}) {
        Parts parts = split(rows, hits);
        TestArray scores(size_t(items * shape.k)), scored(plain.size());
        call(kernels.scores[processor], parts.hits, nullptr, nullptr, false, false, scores.data());
        TestArray ofHits = scores;
        call(kernels.scores[processor], parts.misses, nullptr, nullptr, false, false,
             scores.data());
        EXPECT_TRUE(scores.hasIntactGuards());
        if (!shape.nan)
          expectWritten(shape, parts, positions, ofHits, scores);
        call(kernels.scored[processor], rows, scores.data(), nullptr, shape.window, shape.sinks,
             scored.data());
        EXPECT_TRUE(scored == plain);

        TestArray partial(size_t(items * (valueWidth + kPartialNumbers))), merged(plain.size());
        call(kernels.first[processor], parts.hits, nullptr, nullptr, false, shape.sinks,
             partial.data());
        call(kernels.last[processor], parts.misses, nullptr, partial.data(), shape.window, false,
             merged.data());
        EXPECT_TRUE(partial.hasIntactGuards() && merged.hasIntactGuards());
        for (size_t i = 0; i < plain.size(); ++i) {
          ASSERT_EQ(std::isnan(merged.get(i)), std::isnan(plain.get(i))) << i;
          ASSERT_TRUE(shape.nan || !std::isnan(plain.get(i))) << i;
          if (!std::isnan(plain.get(i)))
            ASSERT_NEAR(merged.get(i), plain.get(i), 3e-6) << i;
        }
      }
    }
  }

  /// Poison is left exactly where no row is, or one that the token doesn't see.
  static void expectWritten(const Shape &shape, const Parts &parts,
                            const std::vector<int32_t> &positions, const TestArray &ofHits,
                            const TestArray &scores) {
    for (size_t n = 0; n < positions.size(); ++n)
      for (size_t h = 0; h < size_t(shape.heads); ++h)
        for (size_t j = 0; j < size_t(shape.k); ++j) {
          auto counts = [&](int32_t row) { return row >= 0 && row <= positions[n]; };
          size_t entry = (n * size_t(shape.heads) + h) * size_t(shape.k) + j;
          bool isHit = counts(parts.hits[n * size_t(shape.k) + j]),
               isMiss = counts(parts.misses[n * size_t(shape.k) + j]);
          ASSERT_EQ(std::isnan(ofHits.get(entry)), !isHit);
          ASSERT_EQ(std::isnan(scores.get(entry)), !isHit && !isMiss);
        }
  }
};

TEST_F(AttentionScoresTest, CachesOfEveryKind) {
  for (CacheType type : cacheTypes())
    check({type, 4, 70, type.getFields().front().getElementType().isBF16()});
}

TEST_F(AttentionScoresTest, RowsOfEveryLength) {
  for (int64_t k : {1, 3, 64, 65, 128, 200, 260})
    check({cacheTypes().front(), 2, k});
}

TEST_F(AttentionScoresTest, SinksAndOtherSources) {
  for (bool sinks : {false, true})
    for (bool window : {false, true}) {
      Shape shape{cacheTypes().front(), 2, 40};
      shape.sinks = sinks;
      shape.window = window;
      check(shape);
    }
}

TEST_F(AttentionScoresTest, NaNAndTies) {
  for (CacheType type : {cacheTypes().front(), cacheTypes().back()}) {
    Shape shape{type, 2, 200};
    shape.nan = true;
    check(shape);
    shape.nan = false;
    shape.ties = true;
    check(shape);
  }
}

/// A hot set is a cache whose records are numbered from 0 on, in the order of slots.
TEST_F(AttentionScoresTest, RecordsInOtherPlacesScoreTheSame) {
  CacheType type = cacheTypes().front();
  constexpr int64_t k = 90, heads = 2, length = 200;
  MemRefType query = view({heads, type.getKeyWidth()}),
             output = view({heads, type.getValueWidth()}), scoresType = view({heads, k});
  KernelModule::Source plainRows{type, rowsSelector(), integers(k), 0},
      scoredRows{type, recordsSelector(), integers(k), 0, scoresType};
  auto plain = compile(generators.attention(query, plainRows, false, scale, false, output));
  auto scores = compile(generators.attentionScores(query, scoredRows, scale, false));
  auto scored = compile(generators.attention(query, scoredRows, false, scale, false, output));
  KernelModule::Source records{type, recordsSelector(), integers(k), 0};
  auto direct = compile(generators.attention(query, records, false, scale, false, output));
  for (size_t processor = 0; processor < plain.size(); ++processor) {
    TestCache home(type, {length}, random);
    TestArray slots(size_t(128 * home.recordElements)), queries(size_t(heads * type.getKeyWidth())),
        wanted(size_t(heads * type.getValueWidth())), result(wanted.size()),
        scoreArray(size_t(heads * k));
    queries.fill(random);
    std::vector<int32_t> rows(length), order(128), inSlots(k);
    std::iota(rows.begin(), rows.end(), 0);
    std::shuffle(rows.begin(), rows.end(), random);
    rows.resize(k);
    std::sort(rows.begin(), rows.end());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (size_t j = 0; j < size_t(k); ++j) {
      inSlots[j] = order[j];
      for (int64_t i = 0; i < home.recordElements; ++i)
        slots.set(size_t(order[j] * home.recordElements + i),
                  home.pool.get(home.index(0, rows[j], 0) + size_t(i)));
    }
    // Neither the token's position nor its pages matter to records by number.
    int32_t position = length - 1, zero = 0, unseen = -1;
    void *plainArguments[] = {queries.data(), home.pool.data(),  rows.data(),  &position,
                              &zero,          home.pages.data(), wanted.data()};
    plain[processor](plainArguments, 0, heads);
    void *scoresArguments[] = {queries.data(), slots.data(), inSlots.data(),   &unseen,
                               &zero,          nullptr,      scoreArray.data()};
    scores[processor](scoresArguments, 0, heads);
    void *scoredArguments[] = {queries.data(), slots.data(), inSlots.data(), scoreArray.data(),
                               &unseen,        &zero,        nullptr,        result.data()};
    scored[processor](scoredArguments, 0, heads);
    EXPECT_TRUE(result == wanted);
    result = TestArray(wanted.size());
    void *directArguments[] = {queries.data(), slots.data(), inSlots.data(), &unseen,
                               &zero,          nullptr,      result.data()};
    direct[processor](directArguments, 0, heads);
    EXPECT_TRUE(result == wanted);
  }
}

} // namespace
