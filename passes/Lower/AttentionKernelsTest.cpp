//===- AttentionKernelsTest.cpp - Scores and attention against double ------===//
#include "strata/passes/Lower/TestCache.h"

#include <numeric>

using namespace mlir;
using namespace strata;

namespace {

double dot(const std::vector<double> &a, const std::vector<double> &b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

struct Token {
  size_t sequence;
  int32_t position;
};

class AttentionKernelsTest : public KernelsTest {
protected:
  SelectorAttr selector(SelectorKind kind, int64_t count = 0) {
    return SelectorAttr::get(&context, kind, count);
  }

  /// Everything that an attention kernel gets; caches share one page table, as in the runtime.
  struct Case {
    std::vector<CacheType> caches;
    std::vector<KernelModule::Source> sources;
    std::vector<std::vector<int32_t>> rows; ///< of each rows source: [tokens, k]
    int64_t heads;
    bool sinks = false, roundQuery = false;
    std::vector<Token> tokens = {};
    std::vector<int64_t> lengths = {};
  };

  KernelModule::Source source(const Case &c, int64_t number, SelectorAttr selector, int64_t k = 0) {
    return {c.caches[size_t(number)], selector, k ? integers(k) : MemRefType(), number};
  }

  /// The positions that the sources of cache `number` choose for a token.
  static std::set<int64_t> chosen(const Case &c, int64_t number, size_t token) {
    std::set<int64_t> positions;
    int64_t visible = c.tokens[token].position + 1;
    size_t rowsNumber = 0;
    for (const KernelModule::Source &source : c.sources) {
      int64_t count = source.selector.getCount(), begin = 0, end = visible;
      const std::vector<int32_t> *rows = source.rows ? &c.rows[rowsNumber++] : nullptr;
      if (source.cacheArgument != number)
        continue;
      if (rows) {
        int64_t k = source.rows.getDimSize(1);
        for (int64_t j = 0; j < k; ++j)
          if (int32_t position = (*rows)[token * size_t(k) + size_t(j)];
              position >= 0 && position < visible)
            positions.insert(position);
        continue;
      }
      if (source.selector.getKind() == SelectorKind::Window)
        begin = std::max<int64_t>(0, visible - count);
      if (source.selector.getKind() == SelectorKind::First)
        end = std::min(visible, count);
      for (int64_t position = begin; position < end; ++position)
        positions.insert(position);
    }
    return positions;
  }

  void check(const Case &c, double tolerance = 3e-6) {
    int64_t keyWidth = c.caches[0].getKeyWidth(), valueWidth = c.caches[0].getValueWidth();
    int64_t queryHead = keyWidth + 1, queryRow = c.heads * queryHead + 2, outHead = valueWidth + 1,
            outRow = c.heads * outHead;
    double scale = 1.5 / std::sqrt(double(keyWidth));
    SymbolRefAttr name = generators.attention(view({c.heads, keyWidth}, {queryRow, queryHead, 1}),
                                              c.sources, c.sinks, scale, c.roundQuery,
                                              view({c.heads, valueWidth}, {outRow, outHead, 1}));
    for (strata_rt_kernel kernel : compile(name)) {
      std::vector<TestCache> caches;
      for (CacheType type : c.caches)
        caches.emplace_back(type, c.lengths, random);
      int64_t tokens = int64_t(c.tokens.size());
      TestArray query(size_t(tokens * queryRow)), sinks(size_t(c.heads)),
          output(size_t(tokens * outRow));
      std::normal_distribution<float> normal;
      for (int64_t n = 0; n < tokens; ++n)
        for (int64_t h = 0; h < c.heads; ++h)
          for (int64_t i = 0; i < keyWidth; ++i)
            query.set(size_t(n * queryRow + h * queryHead + i), normal(random));
      sinks.fill(random);
      std::vector<int32_t> positions, pageBegin;
      for (Token token : c.tokens) {
        positions.push_back(token.position);
        pageBegin.push_back(caches[0].begins[token.sequence]);
      }
      std::vector<void *> arguments{query.data()};
      for (TestCache &cache : caches)
        arguments.push_back(cache.pool.data());
      for (const std::vector<int32_t> &rows : c.rows)
        arguments.push_back(const_cast<int32_t *>(rows.data()));
      if (c.sinks)
        arguments.push_back(sinks.data());
      TestArray again = output;
      for (void *argument :
           {(void *)positions.data(), (void *)pageBegin.data(), (void *)caches[0].pages.data()})
        arguments.push_back(argument);
      arguments.push_back(output.data());
      int64_t items = tokens * c.heads;
      kernel(arguments.data(), 0, items);
      arguments.back() = again.data();
      for (int64_t begin = items; begin > 0; begin -= 3)
        kernel(arguments.data(), std::max<int64_t>(0, begin - 3), begin);
      EXPECT_TRUE(output == again);
      EXPECT_TRUE(output.hasIntactGuards());

      for (int64_t n = 0; n < tokens; ++n)
        for (int64_t h = 0; h < c.heads; ++h) {
          std::vector<double> q, wanted(size_t(valueWidth), 0.0);
          for (int64_t i = 0; i < keyWidth; ++i) {
            float value = query.get(size_t(n * queryRow + h * queryHead + i));
            q.push_back(c.roundQuery ? fromBF16(toBF16(value)) : value);
          }
          double denominator = c.sinks ? std::exp(double(sinks.get(size_t(h)))) : 0;
          for (size_t number = 0; number < caches.size(); ++number) {
            TestCache &cache = caches[number];
            int64_t keyHead = h / (c.heads / cache.type.getKeyHeads());
            for (int64_t position : chosen(c, int64_t(number), size_t(n))) {
              size_t sequence = c.tokens[size_t(n)].sequence;
              double weight =
                  std::exp(scale * dot(q, cache.get(sequence, position, keyHead, true)));
              std::vector<double> value = cache.get(sequence, position, keyHead, false);
              for (size_t i = 0; i < value.size(); ++i)
                wanted[i] += weight * value[i];
              denominator += weight;
            }
          }
          for (int64_t i = 0; i < valueWidth; ++i) {
            double expected = denominator > 0 ? wanted[size_t(i)] / denominator : 0;
            ASSERT_NEAR(output.get(size_t(n * outRow + h * outHead + i)), expected, tolerance)
                << "token " << n << ", head " << h << ", feature " << i;
          }
        }
    }
  }

  /// Tokens at the begin, at page borders and at the end of sequences of different lengths.
  static void addTokens(Case &c) {
    c.lengths = {5, 0, 200, 12};
    c.tokens = {{0, 0}, {0, 4}, {2, 3}, {2, 4}, {2, 63}, {2, 64}, {2, 127}, {2, 199}, {3, 11}};
  }
  /// For each token k positions: some, with −1 behind or between them, some that the token doesn't
  /// see.
  std::vector<int32_t> makeRows(const Case &c, int64_t k, bool shuffled) {
    std::vector<int32_t> rows;
    for (Token token : c.tokens) {
      std::vector<int32_t> row(size_t(token.position + 1));
      std::iota(row.begin(), row.end(), 0);
      std::shuffle(row.begin(), row.end(), random);
      row.resize(size_t(std::min<int64_t>(int64_t(row.size()), k - 2)));
      std::sort(row.begin(), row.end());
      row.resize(size_t(k), -1);
      if (shuffled) {
        row.back() = token.position + 1;
        std::shuffle(row.begin(), row.end(), random);
      }
      llvm::append_range(rows, row);
    }
    return rows;
  }
};

TEST_F(AttentionKernelsTest, AllKeysOfEveryWidth) {
  for (int64_t width : testWidths) {
    Case c{{cache({field(FieldRole::Key, 1, width), field(FieldRole::Value, 1, width)}, 4)},
           {},
           {},
           2};
    c.sources = {source(c, 0, selector(SelectorKind::All))};
    addTokens(c);
    check(c);
  }
}

TEST_F(AttentionKernelsTest, LatentCacheWithRows) {
  for (bool bf16 : {false, true})
    for (bool planar : {false, true}) {
      Case c{{cache({field(FieldRole::KeyValue, 1, 48, bf16), field(FieldRole::Key, 1, 9, bf16)},
                    64, planar)},
             {},
             {},
             3};
      c.roundQuery = bf16;
      addTokens(c);
      for (bool shuffled : {false, true}) {
        c.sources = {source(c, 0, selector(SelectorKind::Rows), 70)};
        c.rows = {makeRows(c, 70, shuffled)};
        check(c);
      }
    }
}

TEST_F(AttentionKernelsTest, GroupedHeads) {
  for (bool planar : {false, true}) {
    Case c{{cache({field(FieldRole::Key, 2, 16), field(FieldRole::Value, 2, 24)}, 4, planar)},
           {},
           {},
           6};
    c.sources = {source(c, 0, selector(SelectorKind::All))};
    addTokens(c);
    check(c);
  }
}

TEST_F(AttentionKernelsTest, WindowsShorterAndLongerThanTheContext) {
  for (int64_t window : {1, 12, 64, 1000}) {
    Case c{{cache({field(FieldRole::KeyValue, 1, 16)}, 4)}, {}, {}, 2};
    c.sources = {source(c, 0, selector(SelectorKind::Window, window))};
    addTokens(c);
    check(c);
  }
}

TEST_F(AttentionKernelsTest, RecordsOfSeveralSourcesCountOnce) {
  Case c{{cache({field(FieldRole::KeyValue, 1, 16)}, 4)}, {}, {}, 2};
  addTokens(c);
  c.rows = {makeRows(c, 40, /*shuffled=*/true)};
  c.sources = {source(c, 0, selector(SelectorKind::Rows), 40),
               source(c, 0, selector(SelectorKind::Window, 12)),
               source(c, 0, selector(SelectorKind::First, 5)),
               source(c, 0, selector(SelectorKind::Window, 3))};
  check(c);
}

TEST_F(AttentionKernelsTest, TwoCachesAndSinks) {
  CacheType type = cache({field(FieldRole::KeyValue, 1, 33)}, 4);
  Case c{{type, type.withElementType(BFloat16Type::get(&context))}, {}, {}, 2};
  addTokens(c);
  c.sinks = true;
  c.rows = {makeRows(c, 10, /*shuffled=*/false)};
  c.sources = {source(c, 0, selector(SelectorKind::Window, 8)),
               source(c, 1, selector(SelectorKind::Rows), 10),
               source(c, 1, selector(SelectorKind::First, 2))};
  check(c);
}

TEST_F(AttentionKernelsTest, NoKeysGiveZero) {
  for (bool sinks : {false, true}) {
    Case c{{cache({field(FieldRole::KeyValue, 1, 24)}, 4)}, {}, {}, 2};
    c.sinks = sinks;
    c.lengths = {5, 5};
    c.tokens = {{0, 2}, {1, 4}};
    c.rows = {{-1, -1, -1, -1, 1, -1}};
    c.sources = {source(c, 0, selector(SelectorKind::Rows), 3)};
    check(c);
  }
}

TEST_F(AttentionKernelsTest, MinusOneBetweenRowsChangesNothing) {
  CacheType type = cache({field(FieldRole::KeyValue, 1, 16)}, 4);
  MemRefType heads = view({1, 16});
  for (bool withGaps : {false, true}) {
    KernelModule::Source rows{type, selector(SelectorKind::Rows), integers(withGaps ? 4 : 2), 0};
    auto kernelsOfBoth = compile(generators.attention(heads, rows, false, 0.25, false, heads));
    static TestArray first(16);
    for (strata_rt_kernel kernel : kernelsOfBoth) {
      std::mt19937 same(5);
      TestCache cache(type, {4}, same);
      TestArray query(16), output(16);
      query.fill(same);
      int32_t chosen[] = {-1, 2, -1, 0}, dense[] = {2, 0}, positions[] = {3}, pageBegin[] = {0};
      void *arguments[] = {query.data(), cache.pool.data(), withGaps ? chosen : dense,
                           positions,    pageBegin,         cache.pages.data(),
                           output.data()};
      kernel(arguments, 0, 1);
      if (kernel != kernelsOfBoth.front())
        continue;
      if (withGaps)
        EXPECT_TRUE(first == output);
      first = output;
    }
  }
}

TEST_F(AttentionKernelsTest, GreatScoresDoNotOverflow) {
  CacheType type = cache({field(FieldRole::KeyValue, 1, 16)}, 64);
  MemRefType heads = view({1, 16});
  KernelModule::Source all{type, selector(SelectorKind::All), MemRefType(), 0};
  for (strata_rt_kernel kernel :
       compile(generators.attention(heads, all, false, 1e4, false, heads))) {
    TestCache cache(type, {130}, random);
    TestArray query(16), output(16);
    query.fill(random);
    int32_t positions[] = {129}, pageBegin[] = {0};
    void *arguments[] = {query.data(), cache.pool.data(),  positions,
                         pageBegin,    cache.pages.data(), output.data()};
    kernel(arguments, 0, 1);
    for (int i = 0; i < 16; ++i)
      EXPECT_TRUE(std::isfinite(output.get(i)));
  }
}

TEST_F(AttentionKernelsTest, IndexScoresOfEveryShape) {
  for (int64_t heads : {1, 4, 6, 32})
    for (int64_t width : {7, 16, 33, 128})
      for (bool bf16 : {false, true}) {
        CacheType type = cache({field(FieldRole::Key, 1, width, bf16)}, 4, /*planar=*/bf16);
        constexpr double scale = 0.25;
        for (strata_rt_kernel kernel : compile(generators.indexScores(type, heads, scale, bf16))) {
          TestCache cache(type, {7, 30}, random);
          TestArray query(size_t(heads * width)), weights{size_t(heads)}, scores(30), again(30);
          query.fill(random);
          weights.fill(random);
          void *arguments[] = {query.data(), weights.data(), cache.pool.data(),
                               cache.pages.data() + cache.begins[1], scores.data()};
          kernel(arguments, 0, 30);
          for (int64_t begin = 0; begin < 30; begin += 7) {
            arguments[4] = static_cast<float *>(again.data()) + begin;
            kernel(arguments, begin, std::min<int64_t>(30, begin + 7));
          }
          EXPECT_TRUE(scores == again);
          for (int64_t s = 0; s < 30; ++s) {
            double wanted = 0, magnitude = 0;
            std::vector<double> key = cache.get(1, s, 0, true);
            for (int64_t h = 0; h < heads; ++h) {
              double product = 0;
              for (int64_t i = 0; i < width; ++i) {
                float x = query.get(size_t(h * width + i));
                product += (bf16 ? fromBF16(toBF16(x)) : x) * key[size_t(i)];
              }
              wanted += scale * weights.get(size_t(h)) * std::max(0.0, product);
              magnitude += scale * std::abs(weights.get(size_t(h)) * product);
            }
            ASSERT_NEAR(scores.get(size_t(s)), wanted, 1e-6 * (1 + magnitude));
          }
        }
      }
}

TEST_F(AttentionKernelsTest, EqualKeysScoreEquallyAndNaNStays) {
  CacheType type = cache({field(FieldRole::Key, 1, 16)}, 4);
  for (strata_rt_kernel kernel : compile(generators.indexScores(type, 5, 1, false))) {
    TestCache cache(type, {11}, random);
    TestArray query(80), weights(5), scores(11);
    query.fill(random);
    weights.fill(random);
    for (int64_t s = 1; s < 11; ++s)
      for (size_t i = 0; i < 16; ++i)
        cache.pool.set(cache.index(0, s, 0) + i, cache.pool.get(cache.index(0, 0, 0) + i));
    cache.pool.set(cache.index(0, 6, 0) + 3, NAN);
    void *arguments[] = {query.data(), weights.data(), cache.pool.data(), cache.pages.data(),
                         scores.data()};
    kernel(arguments, 0, 11);
    for (size_t s = 0; s < 11; ++s) {
      if (s == 6)
        EXPECT_TRUE(std::isnan(scores.get(s)));
      else
        EXPECT_EQ(scores.get(s), scores.get(0));
    }
  }
}

} // namespace
