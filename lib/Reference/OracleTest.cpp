//===- OracleTest.cpp - A toy model with golden values --------------------===//
//
// Four layers of sparse attention (full, shared, full, shared) whose weights come from Python's
// random number generator with seed 1. The golden rows and outputs were computed by an independent
// program in Python, in f64, with keys and values expanded from the latent for each head: here they
// are absorbed.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Reference/TestStep.h"

#include <array>
#include <cmath>

using namespace strata;
using namespace strata::reference;

namespace {

/// Python's random.Random(1): MT19937, seeded by an array.
class PythonRandom {
public:
  PythonRandom() {
    std::array<uint32_t, kSize> &state = state_;
    state[0] = 19650218;
    for (uint32_t i = 1; i < kSize; ++i)
      state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
    constexpr uint32_t key = 1;
    uint32_t i = 1;
    auto previous = [&] { return state[i - 1] ^ (state[i - 1] >> 30); };
    auto advance = [&] {
      if (++i >= kSize) {
        state[0] = state[kSize - 1];
        i = 1;
      }
    };
    for (uint32_t k = 0; k < kSize; ++k, advance())
      state[i] = (state[i] ^ (previous() * 1664525u)) + key;
    for (uint32_t k = 0; k < kSize - 1; ++k, advance())
      state[i] = (state[i] ^ (previous() * 1566083941u)) - i;
    state[0] = 0x80000000u;
  }

  /// uniform(-1, 1).
  double uniform() {
    uint32_t high = next() >> 5, low = next() >> 6;
    return -1 + 2 * ((high * 67108864.0 + low) / 9007199254740992.0);
  }

private:
  static constexpr uint32_t kSize = 624;

  uint32_t next() {
    if (index_ == kSize) {
      for (uint32_t i = 0; i < kSize; ++i) {
        uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % kSize] & 0x7fffffffu);
        state_[i] = state_[(i + 397) % kSize] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
      }
      index_ = 0;
    }
    uint32_t y = state_[index_++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }

  std::array<uint32_t, kSize> state_;
  uint32_t index_ = kSize;
};

/// What differs between the runs.
struct Variant {
  std::string layout = "interleaved"; ///< of the indexer
  bool hadamard = false;
  int k = 3;
  bool expanded = false; ///< keys and values are made from the latent for each head, not absorbed
};

/// The toy model: hidden size 8, 2 heads of 4 + 4 features, values of 5, latents of 6, an indexer
/// of 2 heads of 8.
class ToyModel {
public:
  explicit ToyModel(const Variant &variant) : variant_(variant) {}

  std::string text() {
    std::string arguments, results = "tensor<?x8xf32>, " + rowsType() + ", " + rowsType(), caches;
    for (int layer = 0; layer < 4; ++layer) {
      arguments += ", %kv" + std::to_string(layer) + ": " + kvType();
      if (layer % 2 == 0)
        arguments += ", %ik" + std::to_string(layer) + ": " + indexType();
    }
    for (int layer = 0; layer < 4; ++layer)
      addLayer(layer);
    std::string input = weight({9, 8});
    return "(%batch: !strata.batch" + arguments + ") -> (" + results +
           ") {\n %ids = strata.token_ids %batch : tensor<?xi32>\n %zero = arith.constant 0 : "
           "index\n %n = tensor.dim %ids, %zero : tensor<?xi32>\n %x = " +
           input +
           "\n %h0 = strata.embedding %ids, %x : (tensor<?xi32>, tensor<9x8xf32>) -> "
           "tensor<?x8xf32>\n" +
           body_ + " return %h4, %rows0, %rows2 : " + results + "\n}";
  }

private:
  std::string rowsType() const { return "tensor<?x" + std::to_string(variant_.k) + "xi32>"; }
  std::string kvType() const {
    if (variant_.expanded)
      return "!strata.cache<key 2x8xf32, value 2x5xf32, page = 4, rope = interleaved>";
    return "!strata.cache<key_value 6xf32, key 4xf32, page = 4, rope = interleaved>";
  }
  std::string indexType() const {
    return "!strata.cache<key 8xf32, page = 4, rope = " + variant_.layout +
           (variant_.hadamard ? ", hadamard>" : ">");
  }
  std::string ropeText(const std::string &layout, int offset) const {
    return "[%batch] {table = #strata.rope<theta = 1.0e4, layout = " + layout +
           ">, offset = " + std::to_string(offset) + ", width = 4}";
  }

  std::string weight(const Shape &shape) {
    std::vector<float> values(countElements(shape));
    for (float &value : values)
      value = float(random_.uniform());
    return constantText(shape, values);
  }

  /// Adds `%name<layer> = text` to the body; `$` in the text stands for the layer.
  void add(const std::string &name, const std::string &text) {
    std::string line = " %" + name + "$ = " + text + "\n";
    for (size_t at; (at = line.find('$')) != std::string::npos;)
      line.replace(at, 1, std::to_string(layer_));
    body_ += line;
  }
  void addLinear(const std::string &name, const std::string &input, const std::string &weight,
                 int inputs, int outputs) {
    std::string in = std::to_string(inputs), out = std::to_string(outputs);
    add(name, "strata.linear %" + input + "$, %" + weight + "$ : (tensor<?x" + in +
                  "xf32>, tensor<" + out + "x" + in + "xf32>) -> tensor<?x" + out + "xf32>");
  }

  void addWeights(bool full) {
    add("qa", weight({6, 8}));
    add("qb", weight({16, 6}));
    add("kva", weight({10, 8}));
    add("kvb", weight({2, 9, 6})); // for each head 4 rows of keys, then 5 of values
    add("wo", weight({8, 10}));
    if (full) {
      add("wqb", weight({16, 6}));
      add("wk", weight({8, 8}));
      add("wp", weight({2, 8}));
    }
    add("uk", "tensor.extract_slice %kvb$[0, 0, 0] [2, 4, 6] [1, 1, 1] : tensor<2x9x6xf32> to "
              "tensor<2x4x6xf32>");
    add("uv", "tensor.extract_slice %kvb$[0, 4, 0] [2, 5, 6] [1, 1, 1] : tensor<2x9x6xf32> to "
              "tensor<2x5x6xf32>");
  }

  void addIndexer() {
    addLinear("ikl", "hn", "wk", 8, 8);
    add("one", "arith.constant dense<1.0> : tensor<8xf32>");
    add("nought", "arith.constant dense<0.0> : tensor<8xf32>");
    add("ikn", "strata.layer_norm %ikl$ weight %one$ bias %nought$ {epsilon = 1.0e-6} : "
               "tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>");
    add("ikr", "strata.rope %ikn$" + ropeText(variant_.layout, 0) + " : tensor<?x8xf32>");
    addLinear("iql", "qr", "wqb", 6, 16);
    add("iqs", "tensor.expand_shape %iql$ [[0], [1, 2]] output_shape [%n, 2, 8] : "
               "tensor<?x16xf32> into tensor<?x2x8xf32>");
    add("iqr", "strata.rope %iqs$" + ropeText(variant_.layout, 0) + " : tensor<?x2x8xf32>");
    std::string query = "%iqr$", key = "%ikr$";
    if (variant_.hadamard) {
      add("iqh", "strata.hadamard %iqr$ : tensor<?x2x8xf32>");
      add("ikh", "strata.hadamard %ikr$ : tensor<?x8xf32>");
      query = "%iqh$", key = "%ikh$";
    }
    addLinear("w", "hn", "wp", 8, 2);
    add("ikc", "strata.append %ik$[%batch], " + key + " : " + indexType() + ", tensor<?x8xf32>");
    add("rows", "strata.select " + query +
                    ", %w$, %ikc$[%batch] {k = " + std::to_string(variant_.k) +
                    ", scale = 0.25} : (tensor<?x2x8xf32>, "
                    "tensor<?x2xf32>, " +
                    indexType() + ") -> " + rowsType());
  }

  std::string attentionText(const std::string &query, int queryWidth, int valueWidth) const {
    return "strata.attention " + query + " over (%kvc$ rows %rows" +
           std::to_string(layer_ / 2 * 2) +
           ")[%batch] {scale = 0.35355339059327379} : (tensor<?x2x" + std::to_string(queryWidth) +
           "xf32>, " + kvType() + ", " + rowsType() + ") -> tensor<?x2x" +
           std::to_string(valueWidth) + "xf32>";
  }

  void attendAbsorbed() {
    add("qu", "strata.head_linear %qn$, %uk$ transposed : (tensor<?x2x4xf32>, tensor<2x4x6xf32>) "
              "-> tensor<?x2x6xf32>");
    add("qc", "tensor.concat dim(2) %qu$, %qp$ : (tensor<?x2x6xf32>, tensor<?x2x4xf32>) -> "
              "tensor<?x2x10xf32>");
    add("kvc", "strata.append %kv$[%batch], %lat$, %pr$ : " + kvType() +
                   ", tensor<?x6xf32>, tensor<?x4xf32>");
    add("a", attentionText("%qc$", 10, 6));
    add("ov", "strata.head_linear %a$, %uv$ : (tensor<?x2x6xf32>, tensor<2x5x6xf32>) -> "
              "tensor<?x2x5xf32>");
  }

  void attendExpanded() {
    add("ukf", "tensor.collapse_shape %uk$ [[0, 1], [2]] : tensor<2x4x6xf32> into tensor<8x6xf32>");
    add("uvf",
        "tensor.collapse_shape %uv$ [[0, 1], [2]] : tensor<2x5x6xf32> into tensor<10x6xf32>");
    add("twice", "arith.constant dense<[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, "
                 "1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], "
                 "[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]> : tensor<8x4xf32>");
    addLinear("kf", "lat", "ukf", 6, 8);
    addLinear("pf", "pr", "twice", 4, 8);
    addLinear("vf", "lat", "uvf", 6, 10);
    for (const char *name : {"k", "p"})
      add(std::string(name) + "h", std::string("tensor.expand_shape %") + name +
                                       "f$ [[0], [1, 2]] output_shape [%n, 2, 4] : tensor<?x8xf32> "
                                       "into tensor<?x2x4xf32>");
    add("vh", "tensor.expand_shape %vf$ [[0], [1, 2]] output_shape [%n, 2, 5] : tensor<?x10xf32> "
              "into tensor<?x2x5xf32>");
    add("kc", "tensor.concat dim(2) %kh$, %ph$ : (tensor<?x2x4xf32>, tensor<?x2x4xf32>) -> "
              "tensor<?x2x8xf32>");
    add("kvc", "strata.append %kv$[%batch], %kc$, %vh$ : " + kvType() +
                   ", tensor<?x2x8xf32>, tensor<?x2x5xf32>");
    add("ov", attentionText("%qt$", 8, 5));
  }

  void addLayer(int layer) {
    layer_ = layer;
    bool full = layer % 2 == 0;
    addWeights(full);
    add("hn", "strata.rms_norm %h$ {epsilon = 1.0e-5} : tensor<?x8xf32>");
    addLinear("ql", "hn", "qa", 8, 6);
    add("qr", "strata.rms_norm %ql$ {epsilon = 1.0e-5} : tensor<?x6xf32>");
    addLinear("q", "qr", "qb", 6, 16);
    add("qs", "tensor.expand_shape %q$ [[0], [1, 2]] output_shape [%n, 2, 8] : tensor<?x16xf32> "
              "into tensor<?x2x8xf32>");
    add("qt", "strata.rope %qs$" + ropeText("interleaved", 4) + " : tensor<?x2x8xf32>");
    add("qn", "tensor.extract_slice %qt$[0, 0, 0] [%n, 2, 4] [1, 1, 1] : tensor<?x2x8xf32> to "
              "tensor<?x2x4xf32>");
    add("qp", "tensor.extract_slice %qt$[0, 0, 4] [%n, 2, 4] [1, 1, 1] : tensor<?x2x8xf32> to "
              "tensor<?x2x4xf32>");
    addLinear("kvl", "hn", "kva", 8, 10);
    add("la", "tensor.extract_slice %kvl$[0, 0] [%n, 6] [1, 1] : tensor<?x10xf32> to "
              "tensor<?x6xf32>");
    add("lat", "strata.rms_norm %la$ {epsilon = 1.0e-5} : tensor<?x6xf32>");
    add("pe", "tensor.extract_slice %kvl$[0, 6] [%n, 4] [1, 1] : tensor<?x10xf32> to "
              "tensor<?x4xf32>");
    add("pr", "strata.rope %pe$" + ropeText("interleaved", 0) + " : tensor<?x4xf32>");
    if (full)
      addIndexer();
    variant_.expanded ? attendExpanded() : attendAbsorbed();
    add("of", "tensor.collapse_shape %ov$ [[0], [1, 2]] : tensor<?x2x5xf32> into "
              "tensor<?x10xf32>");
    addLinear("op", "of", "wo", 10, 8);
    body_ += " %h" + std::to_string(layer + 1) + " = arith.addf %h" + std::to_string(layer) +
             ", %op" + std::to_string(layer) + " : tensor<?x8xf32>\n";
  }

  PythonRandom random_;
  Variant variant_;
  int layer_ = 0;
  std::string body_;
};

/// Nine tokens; outputs, rows of layer 0 and rows of layer 2.
std::vector<Tensor> runToy(const Variant &variant) {
  TestStep step(ToyModel(variant).text());
  rt::StepInput input = tokensAt(0, 9);
  input.tokenIds = input.positions;
  std::vector<Tensor> results = step.run(input);
  EXPECT_EQ(results.size(), 3u) << step.error;
  if (results.size() != 3)
    std::abort();
  return results;
}

TEST(OracleTest, goldenValues) {
  std::vector<Tensor> results = runToy({});
  EXPECT_EQ(results[1].integers, (std::vector<int32_t>{0, -1, -1, 0, 1, -1, 0, 1, 2, 0, 1, 3, 0, 2,
                                                       3, 0,  2,  4, 0, 5,  6, 1, 4, 7, 2, 5, 7}));
  EXPECT_EQ(results[2].integers, (std::vector<int32_t>{0, -1, -1, 0, 1, -1, 0, 1, 2, 0, 1, 2, 0, 1,
                                                       3, 2,  4,  5, 0, 4,  5, 4, 5, 7, 5, 7, 8}));
  expectNear({results[0].row(8), results[0].row(8) + 8},
             {-4.659829, 5.972779, -4.568387, 7.447936, 2.344295, 0.524697, 1.419165, -8.868798},
             1e-5);
}

TEST(OracleTest, absorbedEqualsExpanded) {
  std::vector<Tensor> absorbed = runToy({}), expanded = runToy({"interleaved", false, 3, true});
  EXPECT_EQ(absorbed[1].integers, expanded[1].integers);
  EXPECT_EQ(absorbed[2].integers, expanded[2].integers);
  expectNear(absorbed[0].floats, {expanded[0].floats.begin(), expanded[0].floats.end()}, 1e-5);
}

TEST(OracleTest, hadamardChangesNothing) {
  std::vector<Tensor> plain = runToy({}), spread = runToy({"interleaved", true, 3, false});
  EXPECT_EQ(plain[1].integers, spread[1].integers);
  EXPECT_EQ(plain[2].integers, spread[2].integers);
  EXPECT_EQ(plain[0].floats, spread[0].floats); // the rows are the same, so all is
}

TEST(OracleTest, rows1And5IndexerLayoutShowsBeyondK) {
  std::vector<Tensor> interleaved = runToy({}), half = runToy({"half", false, 3, false});
  EXPECT_TRUE(std::equal(half[1].integers.begin(), half[1].integers.begin() + 9,
                         interleaved[1].integers.begin()));
  EXPECT_NE(half[1].integers, interleaved[1].integers);
  EXPECT_EQ(runToy({"interleaved", false, 99, false})[0].floats,
            runToy({"half", false, 99, false})[0].floats);
}

TEST(OracleTest, chunksAndCausality) {
  std::vector<Tensor> whole = runToy({});
  for (int first : {1, 4, 8}) {
    TestStep step(ToyModel({}).text());
    std::vector<float> outputs;
    for (auto [begin, end] : {std::pair(0, first), std::pair(first, 9)}) {
      rt::StepInput input = tokensAt(begin, end);
      input.tokenIds = input.positions;
      std::vector<Tensor> results = step.run(input);
      ASSERT_EQ(results.size(), 3u) << step.error;
      outputs.insert(outputs.end(), results[0].floats.begin(), results[0].floats.end());
    }
    EXPECT_EQ(outputs, whole[0].floats); // bit for bit
  }
}

} // namespace
