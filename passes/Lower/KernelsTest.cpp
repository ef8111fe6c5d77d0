//===- KernelsTest.cpp - Generated kernels against plain loops in double ---===//
#include "strata/passes/Lower/KernelBuilder.h"
#include "strata/passes/Lower/TestKernels.h"

#include <numeric>

using namespace mlir;
using namespace strata;

namespace {

constexpr int64_t rows = 5, heads = 3;

/// Applies a kernel of one input view and one output view, 2-D and 3-D, with gaps between rows and
/// heads that hold NaN, in two ranges that leave out row 0; compares with `expected(row, head,
/// values of the row)`.
class RowKernelsTest : public KernelsTest {
protected:
  using Expected =
      std::function<std::vector<double>(int64_t row, const std::vector<double> &values)>;
  using Generate = std::function<SymbolRefAttr(MemRefType input, MemRefType output)>;

  void check(int64_t width, std::vector<TestArray *> between, Generate generate, Expected expected,
             double tolerance = 2e-6) {
    for (bool threeDimensional : {false, true}) {
      int64_t count = threeDimensional ? heads : 1, inHead = width + 3, inRow = count * inHead + 5,
              outHead = width, outRow = count * outHead + 1;
      MemRefType inputType = view({width}, {inRow, 1}), outputType = view({width}, {outRow, 1});
      if (threeDimensional) {
        inputType = view({count, width}, {inRow, inHead, 1});
        outputType = view({count, width}, {outRow, outHead, 1});
      }
      for (strata_rt_kernel kernel : compile(generate(inputType, outputType))) {
        TestArray input(rows * inRow), output(rows * outRow);
        TestView in{input, inRow, inHead}, out{output, outRow, outHead};
        std::normal_distribution<float> normal(0.3f, 1);
        for (int64_t n = 0; n < rows; ++n)
          for (int64_t h = 0; h < count; ++h)
            for (int64_t i = 0; i < width; ++i)
              in.set(n, h, i, normal(random));
        std::vector<void *> arguments{input.data()};
        for (TestArray *array : between)
          arguments.push_back(array->data());
        arguments.push_back(output.data());
        kernel(arguments.data(), 3, rows);
        kernel(arguments.data(), 1, 3);
        for (int64_t n = 0; n < rows; ++n)
          for (int64_t h = 0; h < count; ++h) {
            std::vector<double> values;
            for (int64_t i = 0; i < width; ++i)
              values.push_back(in.get(n, h, i));
            std::vector<double> wanted = expected(n, values);
            for (int64_t i = 0; i < width; ++i) {
              if (n == 0)
                EXPECT_TRUE(std::isnan(out.get(n, h, i)));
              else
                ASSERT_NEAR(out.get(n, h, i), wanted[i], tolerance * (1 + std::abs(wanted[i])))
                    << "width " << width << ", row " << n << ", head " << h << ", feature " << i;
            }
          }
        EXPECT_TRUE(output.hasIntactGuards());
        EXPECT_TRUE(std::isnan(output.get(outRow - 1)));
      }
    }
  }
};

double meanOf(const std::vector<double> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

TEST_F(RowKernelsTest, RmsNormOfEveryWidth) {
  for (int64_t width : testWidths)
    for (bool weighted : {false, true}) {
      TestArray weight(width);
      weight.fill(random);
      check(
          width, weighted ? std::vector<TestArray *>{&weight} : std::vector<TestArray *>(),
          [&](MemRefType input, MemRefType output) {
            return generators.rmsNorm(input, weighted, 1e-2, output);
          },
          [&](int64_t, std::vector<double> values) {
            double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
            double root = std::sqrt(squares / double(width) + 1e-2);
            for (int64_t i = 0; i < width; ++i)
              values[i] = values[i] / root * (weighted ? weight.get(i) : 1);
            return values;
          });
    }
}

TEST_F(RowKernelsTest, LayerNormOfEveryWidth) {
  for (int64_t width : testWidths) {
    TestArray weight(width), bias(width);
    weight.fill(random);
    bias.fill(random);
    check(
        width, {&weight, &bias},
        [&](MemRefType input, MemRefType output) {
          return generators.layerNorm(input, 1e-3, output);
        },
        [&](int64_t, std::vector<double> values) {
          double mean = meanOf(values), variance = 0;
          for (double value : values)
            variance += (value - mean) * (value - mean) / double(width);
          for (int64_t i = 0; i < width; ++i)
            values[i] =
                (values[i] - mean) * weight.get(i) / std::sqrt(variance + 1e-3) + bias.get(i);
          return values;
        },
        1e-5);
  }
}

TEST_F(RowKernelsTest, RopeOfBothLayoutsForthAndBack) {
  struct Case {
    int64_t features, offset, width;
  };
  for (Case c : {Case{8, 0, 8}, Case{24, 16, 8}, Case{33, 5, 2}, Case{128, 0, 64}, Case{70, 1, 68}})
    for (RopeLayout layout : {RopeLayout::Interleaved, RopeLayout::Half})
      for (bool inverse : {false, true}) {
        TestArray table(rows * c.width);
        table.fill(random);
        int64_t pairs = c.width / 2;
        check(
            c.features, {&table},
            [&](MemRefType input, MemRefType output) {
              return generators.rope(input, layout, c.offset, c.width, inverse, output);
            },
            [&](int64_t row, std::vector<double> values) {
              for (int64_t i = 0; i < pairs; ++i) {
                bool half = layout == RopeLayout::Half;
                double &x = values[c.offset + (half ? i : 2 * i)],
                       &y = values[c.offset + (half ? i + pairs : 2 * i + 1)];
                double cosine = table.get(row * c.width + i),
                       sine = table.get(row * c.width + pairs + i);
                if (inverse)
                  sine = -sine;
                std::tie(x, y) = std::pair(x * cosine - y * sine, y * cosine + x * sine);
              }
              return values;
            });
      }
}

TEST_F(RowKernelsTest, HadamardInSylvestersOrder) {
  for (int64_t width : {1, 2, 8, 16, 32, 128, 512})
    check(
        width, {},
        [&](MemRefType input, MemRefType output) { return generators.hadamard(input, output); },
        [&](int64_t, const std::vector<double> &values) {
          std::vector<double> result(width);
          for (int64_t i = 0; i < width; ++i) {
            for (int64_t j = 0; j < width; ++j)
              result[i] += __builtin_parityll(uint64_t(i & j)) ? -values[j] : values[j];
            result[i] /= std::sqrt(double(width));
          }
          return result;
        },
        1e-5);
}

TEST_F(RowKernelsTest, CopyBetweenStrides) {
  for (int64_t width : testWidths)
    check(
        width, {},
        [&](MemRefType input, MemRefType output) { return generators.copy(input, output); },
        [](int64_t, const std::vector<double> &values) { return values; }, 0);
}

TEST_F(KernelsTest, SumsAndProducts) {
  for (int64_t width : testWidths)
    for (bool isSum : {true, false}) {
      MemRefType a = view({width}, {width + 2, 1}), b = view({width}), output = view({width});
      SymbolRefAttr name = isSum ? generators.add(a, b, output) : generators.multiply(a, b, output);
      for (strata_rt_kernel kernel : compile(name)) {
        TestArray left(rows * (width + 2)), right(rows * width), result(rows * width);
        left.fill(random, 3);
        right.fill(random);
        void *arguments[] = {left.data(), right.data(), result.data()};
        kernel(arguments, 0, rows);
        for (int64_t n = 0; n < rows; ++n)
          for (int64_t i = 0; i < width; ++i) {
            double x = left.get(n * (width + 2) + i), y = right.get(n * width + i);
            double wanted = isSum ? x + y : x * y;
            ASSERT_NEAR(result.get(n * width + i), wanted, 1e-6 * (1 + std::abs(wanted)));
          }
        EXPECT_TRUE(result.hasIntactGuards());
      }
    }
}

TEST_F(KernelsTest, GatesOfElements) {
  for (strata_rt_kernel kernel : compile(generators.gate(Activation::Silu)))
    for (int64_t count : testWidths) {
      TestArray gate(count), up(count), result(count);
      gate.fill(random, 3);
      up.fill(random);
      void *arguments[] = {gate.data(), up.data(), result.data()};
      kernel(arguments, 0, count / 3); // an element doesn't depend on the range that it is part of
      kernel(arguments, count / 3, count);
      for (int64_t i = 0; i < count; ++i) {
        double x = gate.get(i), wanted = x / (1 + std::exp(-x)) * up.get(i);
        ASSERT_NEAR(result.get(i), wanted, 1e-6 * (1 + std::abs(wanted)));
      }
      EXPECT_TRUE(result.hasIntactGuards());
    }
}

TEST_F(KernelsTest, OneKernelAfterTheOther) {
  MemRefType type = view({24});
  SymbolRefAttr sum = generators.add(type, type, type), spread = generators.copy(type, type);
  // c = a + b, d = c, e = d + a: the same arguments in other places.
  SymbolRefAttr name =
      generators.sequence({{sum, {0, 1, 2}}, {spread, {2, 3}}, {sum, {3, 0, 4}}}, 2);
  for (strata_rt_kernel kernel : compile(name)) {
    TestArray a(rows * 24), b(rows * 24), c(rows * 24), d(rows * 24), e(rows * 24);
    a.fill(random);
    b.fill(random);
    void *arguments[] = {a.data(), b.data(), c.data(), d.data(), e.data()};
    kernel(arguments, 0, 1); // less than a tile, then an odd number of rows
    kernel(arguments, 1, rows);
    for (int64_t i = 0; i < rows * 24; ++i)
      ASSERT_EQ(e.get(i), (a.get(i) + b.get(i)) + a.get(i));
    EXPECT_TRUE(e.hasIntactGuards());
  }
}

TEST_F(KernelsTest, GateOfExtremeValues) {
  const float infinity = INFINITY, inputs[] = {-1e4f, -90, -88.5f, 0, 90, 1e30f, infinity};
  for (strata_rt_kernel kernel : compile(generators.gate(Activation::Silu))) {
    TestArray gate(7), up(7), result(7);
    for (int i = 0; i < 7; ++i) {
      gate.set(i, inputs[i]);
      up.set(i, 2);
    }
    void *arguments[] = {gate.data(), up.data(), result.data()};
    kernel(arguments, 0, 7);
    for (int i = 0; i < 7; ++i) {
      double wanted = 2 * double(inputs[i]) / (1 + std::exp(-double(inputs[i])));
      if (std::isinf(wanted))
        EXPECT_EQ(result.get(i), infinity);
      else
        EXPECT_NEAR(result.get(i), wanted, 1e-6 * (1e-30 + std::abs(wanted))) << inputs[i];
    }
    gate.set(3, NAN);
    kernel(arguments, 0, 7);
    EXPECT_TRUE(std::isnan(result.get(3)));
  }
}

TEST_F(KernelsTest, ExponentialWithinTwoUnits) {
  MemRefType numbers = view({});
  auto name = getOrBuildKernel(*kernels, KernelName("exponential"), {numbers, numbers},
                               [&](KernelBuilder &b) {
                                 b.loop(b.begin(), b.end(), chunkLanes, [&](Value position) {
                                   Value x = b.load(b.row(b.argument(0), {}), position, chunkLanes);
                                   b.store(b.exponential(x), b.row(b.argument(1), {}), position);
                                 });
                               });
  constexpr int64_t count = 1 << 18;
  for (strata_rt_kernel kernel : compile(name)) {
    TestArray input(count), output(count);
    for (int64_t i = 0; i < count; ++i)
      input.set(i, float(-110 + 202.0 * double(i) / count));
    const float special[] = {-INFINITY, INFINITY, NAN,    0,     -0.0f,
                             88.7228f,  88.73f,   -3e38f, 3e38f, 1e-40f};
    for (int i = 0; i < 10; ++i)
      input.set(i, special[i]);
    void *arguments[] = {input.data(), output.data()};
    kernel(arguments, 0, count);
    double worst = 0;
    for (int64_t i = 0; i < count; ++i) {
      float x = input.get(i), got = output.get(i);
      double wanted = std::exp(double(x));
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(got));
      } else if (wanted > 3.4028235e38) {
        EXPECT_EQ(got, INFINITY) << x;
      } else {
        float nearest = float(wanted);
        double unit =
            std::max(double(std::nextafter(nearest, INFINITY)) - nearest, std::ldexp(1, -149));
        worst = std::max(worst, std::abs(got - wanted) / unit);
      }
    }
    EXPECT_LE(worst, 2);
    RecordProperty("worst", std::to_string(worst));
  }
}

TEST_F(KernelsTest, EmbeddingOfStoredTypes) {
  for (int64_t width : testWidths)
    for (bool bf16 : {false, true}) {
      Type element = bf16 ? Type(BFloat16Type::get(&context)) : Float32Type::get(&context);
      auto tableType = MemRefType::get({9, width}, element);
      for (strata_rt_kernel kernel : compile(generators.embedding(tableType, view({width})))) {
        TestArray table(9 * width, bf16), output(3 * width);
        table.fill(random);
        int32_t ids[] = {8, 0, 8};
        void *arguments[] = {ids, table.data(), output.data()};
        kernel(arguments, 0, 3);
        for (int64_t n = 0; n < 3; ++n)
          for (int64_t i = 0; i < width; ++i)
            ASSERT_EQ(output.get(n * width + i), table.get(ids[n] * width + i));
        EXPECT_TRUE(output.hasIntactGuards());
      }
    }
}

TEST_F(KernelsTest, GatherRowsOfAView) {
  for (strata_rt_kernel kernel : compile(generators.gatherRows(view({33}, {40, 1}), view({33})))) {
    TestArray input(4 * 40), output(2 * 33);
    input.fill(random);
    int32_t indices[] = {3, 1};
    void *arguments[] = {indices, input.data(), output.data()};
    kernel(arguments, 0, 2);
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t i = 0; i < 33; ++i)
        EXPECT_EQ(output.get(n * 33 + i), input.get(indices[n] * 40 + i));
  }
}

TEST_F(KernelsTest, CombineExpertsInOrder) {
  constexpr int64_t chosen = 3, width = 33;
  for (strata_rt_kernel kernel :
       compile(generators.combineExperts(view({chosen}), view({width}), view({width})))) {
    TestArray weights(2 * chosen), expertRows(6 * width), output(2 * width);
    weights.fill(random);
    expertRows.fill(random);
    int32_t rank[] = {4, 0, 2, 5, 1, 3};
    void *arguments[] = {rank, weights.data(), expertRows.data(), output.data()};
    kernel(arguments, 0, 2);
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t i = 0; i < width; ++i) {
        double wanted = 0;
        for (int64_t j = 0; j < chosen; ++j)
          wanted += double(weights.get(n * chosen + j)) *
                    expertRows.get(rank[n * chosen + j] * width + i);
        EXPECT_NEAR(output.get(n * width + i), wanted, 1e-6 * (1 + std::abs(wanted)));
      }
  }
}

TEST_F(KernelsTest, AppendWritesRecordsAndNothingElse) {
  constexpr int64_t pageSize = 4, poolPages = 5;
  for (bool planar : {false, true})
    for (bool bf16 : {false, true}) {
      CacheType type =
          cache({field(FieldRole::Key, 2, 7, bf16), field(FieldRole::Value, 2, 24, bf16)}, pageSize,
                planar);
      MemRefType keyType = view({2, 7}, {20, 9, 1}), valueType = view({2, 24});
      for (strata_rt_kernel kernel : compile(generators.append(type, {keyType, valueType}))) {
        // Two sequences: positions 3 and 4 (a page border) of the first, 0 of the second.
        int32_t positions[] = {3, 4, 0}, pageBegin[] = {0, 0, 2}, pages[] = {4, 1, 2};
        TestArray keys(3 * 20), values(3 * 48), pool(poolPages * pageSize * 62, bf16);
        keys.fill(random);
        values.fill(random);
        values.set(5, NAN);
        values.set(6, fromBF16(0x3f80) + 0x1p-8f); // half way: to even
        values.set(7, -INFINITY);
        void *arguments[] = {positions, pageBegin, pages, keys.data(), values.data(), pool.data()};
        kernel(arguments, 0, 3);
        std::vector<bool> written(pool.size());
        for (int64_t n = 0; n < 3; ++n) {
          int64_t page = pages[pageBegin[n] + positions[n] / pageSize],
                  slot = positions[n] % pageSize;
          for (int64_t h = 0; h < 2; ++h)
            for (int64_t i = 0; i < 31; ++i) {
              bool isKey = i < 7;
              float source =
                  isKey ? keys.get(n * 20 + h * 9 + i) : values.get(n * 48 + h * 24 + i - 7);
              int64_t within = isKey ? h * 7 + i : h * 24 + i - 7;
              int64_t index = page * pageSize * 62 +
                              (planar ? (isKey ? slot * 14 : pageSize * 14 + slot * 48)
                                      : slot * 62 + (isKey ? 0 : 14)) +
                              within;
              written[index] = true;
              float wanted = bf16 ? fromBF16(toBF16(source)) : source;
              if (std::isnan(wanted))
                EXPECT_TRUE(std::isnan(pool.get(index)));
              else
                ASSERT_EQ(pool.get(index), wanted) << n << ' ' << h << ' ' << i;
            }
        }
        for (size_t i = 0; i < pool.size(); ++i)
          if (!written[i])
            EXPECT_TRUE(std::isnan(pool.get(i)));
        EXPECT_TRUE(pool.hasIntactGuards());
      }
    }
}

TEST_F(KernelsTest, NamesTellBodiesApart) {
  auto name = [](SymbolRefAttr symbol) { return symbol.getLeafReference().str(); };
  EXPECT_EQ(name(generators.rmsNorm(view({512}, {576, 1}), true, 1e-5, view({512}))),
            "rms_norm_512s576_512_eps1em05_weighted");
  // The same again, then one constant or type after the other changed.
  std::set<std::string> names;
  for (MemRefType input : {view({512}, {576, 1}), view({512}), view({512}), view({2, 256})})
    for (double epsilon : {1e-5, 1e-6, 1e5, std::nextafter(1e-5, 1.0)})
      for (bool weighted : {false, true})
        names.insert(name(generators.rmsNorm(input, weighted, epsilon, view({512}))));
  EXPECT_EQ(names.size(), 24u);
  EXPECT_EQ(llvm::range_size(kernels->getOps<func::FuncOp>()), 24u);
}

} // namespace
