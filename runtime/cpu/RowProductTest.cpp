//===- RowProductTest.cpp -------------------------------------------------===//
#include "strata/runtime/cpu/RowProduct.h"

#include "strata/lib/Support/Text.h"
#include "strata/runtime/cpu/Arena.h"
#include "strata/runtime/cpu/TestModel.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace strata;
using namespace strata::rt;

namespace {

/// A weight in a checkpoint of its own.
struct TestWeight {
  std::optional<Checkpoint> checkpoint;
  std::vector<BoundWeight> bound;

  TestWeight(const WeightDescription &description, const std::vector<TestTensor> &tensors) {
    Expected<Checkpoint> opened = makeCheckpoint(tensors);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    checkpoint.emplace(std::move(*opened));
    Expected<std::vector<BoundWeight>> weights = bindWeights({description}, *checkpoint);
    EXPECT_TRUE(weights.ok()) << weights.status().message();
    bound = std::move(*weights);
  }
};

TestWeight floatWeight(const std::vector<int64_t> &shape, uint32_t seed) {
  WeightDescription description;
  description.name = "w";
  description.shape = shape;
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return {description, {floatTensor("w", shapeText(shape), randomValues(size_t(count), seed))}};
}

/// All output blocks for rows that lie one after the other.
std::vector<float> multiply(const RowProduct &product, int64_t member, const float *input,
                            int64_t rows) {
  std::vector<float> output(size_t(rows * product.outputs()));
  Expected<Memory> scratch = Memory::allocate(product.scratchBytes(), "scratch");
  EXPECT_TRUE(scratch.ok());
  scratch->poison(scratch->size());
  for (int64_t block = 0; block < product.outputBlocks(); ++block)
    EXPECT_TRUE(product.run(
        member, block, rows, [&](int64_t i) { return input + i * product.inputs(); },
        [&](int64_t i, const float *sums) {
          std::copy_n(sums, product.blockWidth(block),
                      output.data() + i * product.outputs() + product.firstOutput(block));
        },
        scratch->data()));
  return output;
}

/// The same in f64, from the weight's f32 values, and the sum of absolute values of each term.
void expectClose(const BoundWeight &weight, int64_t member, bool transposed,
                 const std::vector<float> &input, const std::vector<float> &output,
                 ElementType operands) {
  int64_t inputs = transposed ? weight.rows() : weight.columns();
  int64_t outputs = transposed ? weight.columns() : weight.rows();
  int64_t rows = int64_t(input.size()) / inputs;
  std::vector<float> w(size_t(inputs * outputs));
  weight.readRows(member, 0, weight.rows(), w.data());
  auto operand = [&](float value) {
    return double(operands == ElementType::BF16 ? widenBF16(roundToBF16(value)) : value);
  };
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t m = 0; m < outputs; ++m) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < inputs; ++k) {
        double term = operand(input[size_t(n * inputs + k)]) *
                      operand(w[size_t(transposed ? k * outputs + m : m * inputs + k)]);
        sum += term;
        magnitude += std::abs(term);
      }
      // A sum of f32 terms in any sensible order: far from the worst case, inputs × 2⁻²⁴.
      double tolerance = magnitude * std::sqrt(double(inputs) + 1) * 0x1p-23;
      ASSERT_NEAR(output[size_t(n * outputs + m)], sum, tolerance)
          << "row " << n << " output " << m;
    }
}

bool sameBits(const float *a, const float *b, int64_t count) {
  return std::memcmp(a, b, size_t(count) * sizeof(float)) == 0;
}

const std::vector<int64_t> kInputs = {1,  2,   3,   5,   8,   13,  16,  24,  31,   32,
                                      64, 100, 128, 256, 257, 384, 512, 768, 1000, 2050};
const std::vector<int64_t> kOutputs = {1, 2, 3, 7, 16, 17, 31, 48, 63, 64, 65, 100, 129};

// What the whole scheme rests on: for every shape there is a number of rows for which a row's place
// does not matter.
TEST(RowProduct, SomeBlockOfRowsIsIndependentForEveryShape) {
  for (bool transposed : {false, true})
    for (int64_t inputs : kInputs)
      for (int64_t outputs : kOutputs)
        EXPECT_GT(chooseBlockRows({{inputs, outputs, transposed}}), 0)
            << inputs << " inputs, " << outputs << " outputs, transposed " << transposed;
}

TEST(RowProduct, ARowHasTheSameBitsAloneInChunksAndAmongOthers) {
  constexpr int64_t kRows = 21;
  for (bool transposed : {false, true})
    for (int64_t inputs : {1, 3, 16, 31, 100, 256, 768, 2050})
      for (int64_t outputs : {1, 2, 17, 64, 100, 129}) {
        TestWeight weight = floatWeight(transposed ? std::vector<int64_t>{inputs, outputs}
                                                   : std::vector<int64_t>{outputs, inputs},
                                        uint32_t(inputs * 1000 + outputs));
        RowProduct product(weight.bound[0], transposed, ElementType::F32);
        std::vector<float> input = randomValues(size_t(kRows * inputs), 7);
        std::vector<float> whole = multiply(product, 0, input.data(), kRows);
        auto expectSame = [&](const std::vector<float> &part, int64_t first, int64_t count) {
          EXPECT_TRUE(sameBits(part.data(), &whole[size_t(first * outputs)], count * outputs))
              << inputs << " inputs, " << outputs << " outputs, rows " << first << " to "
              << first + count << ", transposed " << transposed;
        };
        for (int64_t row = 0; row < kRows; ++row)
          expectSame(multiply(product, 0, &input[size_t(row * inputs)], 1), row, 1);
        for (int64_t cut : {1, 7, 13, 19}) {
          expectSame(multiply(product, 0, input.data(), cut), 0, cut);
          expectSame(multiply(product, 0, &input[size_t(cut * inputs)], kRows - cut), cut,
                     kRows - cut);
        }
      }
}

TEST(RowProduct, OtherRowsThatAreNotFiniteChangeNothing) {
  TestWeight weight = floatWeight({70, 96}, 3);
  RowProduct product(weight.bound[0], false, ElementType::F32);
  std::vector<float> input = randomValues(5 * 96, 4);
  std::vector<float> alone = multiply(product, 0, &input[2 * 96], 1);
  for (float value : {NAN, INFINITY, -INFINITY, 3e38f}) {
    std::vector<float> spoilt(5 * 96, value);
    std::copy_n(&input[2 * 96], 96, &spoilt[2 * 96]);
    std::vector<float> output = multiply(product, 0, spoilt.data(), 5);
    EXPECT_TRUE(sameBits(&output[2 * 70], alone.data(), 70)) << value;
  }
}

TEST(RowProduct, BothLayoutsAreAccurate) {
  for (bool transposed : {false, true})
    for (auto [inputs, outputs] : {std::pair<int64_t, int64_t>{5, 3}, {64, 130}, {1500, 17}}) {
      TestWeight weight = floatWeight(transposed ? std::vector<int64_t>{inputs, outputs}
                                                 : std::vector<int64_t>{outputs, inputs},
                                      11);
      RowProduct product(weight.bound[0], transposed, ElementType::F32);
      std::vector<float> input = randomValues(size_t(9 * inputs), 12);
      expectClose(weight.bound[0], 0, transposed, input, multiply(product, 0, input.data(), 9),
                  ElementType::F32);
    }
}

TEST(RowProduct, OperandsAreRoundedToBF16) {
  TestWeight weight = floatWeight({65, 200}, 21);
  RowProduct product(weight.bound[0], false, ElementType::BF16);
  std::vector<float> input = randomValues(3 * 200, 22);
  expectClose(weight.bound[0], 0, false, input, multiply(product, 0, input.data(), 3),
              ElementType::BF16);
}

template <typename T> std::vector<T> randomCodes(size_t count, uint32_t seed, uint32_t mask) {
  std::mt19937 random(seed);
  std::vector<T> codes(count);
  for (T &code : codes)
    code = T(random() & mask);
  return codes;
}

TEST(RowProduct, NarrowWeightsAreConvertedInBlocks) {
  constexpr int64_t kRows = 90, kColumns = 150;
  for (ElementType operands : {ElementType::F32, ElementType::BF16}) {
    std::vector<float> input = randomValues(4 * kColumns, 31);
    auto check = [&](TestWeight weight) {
      RowProduct product(weight.bound[0], false, operands);
      expectClose(weight.bound[0], 0, false, input, multiply(product, 0, input.data(), 4),
                  operands);
    };
    WeightDescription description;
    description.name = "w";
    description.shape = {kRows, kColumns};
    constexpr size_t kCount = kRows * kColumns;
    // Codes without the topmost exponent bits: all finite, of moderate size.
    description.stored = ElementType::BF16;
    check({description,
           {{"w", "BF16", "[90,150]", bytesOf(randomCodes<uint16_t>(kCount, 32, 0xbfff))}}});
    description.stored = ElementType::F16;
    check({description,
           {{"w", "F16", "[90,150]", bytesOf(randomCodes<uint16_t>(kCount, 33, 0xbfff))}}});
    description.stored = ElementType::F8E4M3;
    std::vector<uint8_t> codes = randomCodes<uint8_t>(kCount, 34, 0xbf);
    check({description, {{"w", "F8_E4M3", "[90,150]", bytesOf(codes)}}});
    description.scaleName = "s";
    description.blockRows = 64;
    description.blockColumns = 128;
    check({description,
           {{"w", "F8_E4M3", "[90,150]", bytesOf(codes)},
            floatTensor("s", "[2,2]", {0.5f, 3, 0.1f, 1})}});
  }
}

TEST(RowProduct, StacksAndPartsOfATensor) {
  WeightDescription part;
  part.name = "w";
  part.shape = {3, 4, 10};
  part.partGroups = 3;
  part.partStride = 9;
  part.partOffset = 5;
  TestWeight heads(part, {floatTensor("w", "[27,10]", randomValues(270, 41))});
  std::vector<float> wide = randomValues(2 * 10, 42), narrow = randomValues(2 * 4, 43);
  RowProduct product(heads.bound[0], false, ElementType::F32);
  RowProduct transposed(heads.bound[0], true, ElementType::F32);
  for (int64_t head = 0; head < 3; ++head) {
    expectClose(heads.bound[0], head, false, wide, multiply(product, head, wide.data(), 2),
                ElementType::F32);
    expectClose(heads.bound[0], head, true, narrow, multiply(transposed, head, narrow.data(), 2),
                ElementType::F32);
  }

  WeightDescription stack;
  stack.name = "e.{0..1}.w";
  stack.shape = {2, 6, 10};
  TestWeight experts(stack, {floatTensor("e.0.w", "[6,10]", randomValues(60, 44)),
                             floatTensor("e.1.w", "[6,10]", randomValues(60, 45))});
  RowProduct expertProduct(experts.bound[0], false, ElementType::F32);
  for (int64_t e = 0; e < 2; ++e)
    expectClose(experts.bound[0], e, false, wide, multiply(expertProduct, e, wide.data(), 2),
                ElementType::F32);
}

TEST(RowProduct, FloatsAtOddAddressesAreUsedToo) {
  WeightDescription description;
  description.name = "w";
  description.shape = {5, 7};
  // Three bytes before it put the tensor out of line.
  TestWeight weight(description, {{"a", "F8_E4M3", "[3]", "abc"},
                                  floatTensor("w", "[5,7]", randomValues(35, 51))});
  RowProduct product(weight.bound[0], false, ElementType::F32);
  std::vector<float> input = randomValues(14, 52);
  expectClose(weight.bound[0], 0, false, input, multiply(product, 0, input.data(), 2),
              ElementType::F32);
}

TEST(RowProduct, TheLoopWithoutLibraryIsAccurate) {
  for (bool transposed : {false, true}) {
    TestWeight weight = floatWeight({37, 37}, 61);
    std::vector<float> w(37 * 37), input = randomValues(37, 62), output(37);
    weight.bound[0].readAll(w.data());
    EXPECT_TRUE(multiplyBlock({37, 37, transposed}, 0, input.data(), w.data(), output.data()));
    expectClose(weight.bound[0], 0, transposed, input, output, ElementType::F32);
  }
}

TEST(RowProduct, ValuesRoundAsTheElementTypeSays) {
  std::vector<uint32_t> codes = randomCodes<uint32_t>(100000, 71, 0xffffffff);
  codes.insert(codes.end(), {0x7f800000, 0xff800000, 0x7f800001, 0x7fffffff, 0xffffffff, 0x7f7fffff,
                             0x00008000, 0x00018000, 0x3f808000, 0x3f818000, 0, 0x80000000});
  for (uint32_t code : codes) {
    float value;
    std::memcpy(&value, &code, sizeof value);
    float expected = widenBF16(roundToBF16(value));
    roundValuesToBF16(&value, 1);
    EXPECT_TRUE(sameBits(&value, &expected, 1)) << std::hex << code;
  }
}

} // namespace
