//===- BoundWeightTest.cpp ------------------------------------------------===//
#include "strata/lib/Checkpoint/BoundWeight.h"

#include "strata/lib/Checkpoint/TestSafetensors.h"
#include "strata/lib/Support/TestFolder.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace strata;

namespace {

/// `count` values from `first` on.
std::string floats(size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return bytesOf(values);
}

class BoundWeightTest : public testing::Test {
protected:
  void open(const std::vector<TestTensor> &tensors) {
    folder.write("model.safetensors", safetensorsFile(tensors));
    Expected<Checkpoint> opened = Checkpoint::open(folder.path());
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    checkpoint.emplace(std::move(*opened));
  }
  std::vector<float> valuesOf(const WeightDescription &description) {
    Expected<std::vector<BoundWeight>> weights = bindWeights({description}, *checkpoint);
    if (!weights.ok()) {
      ADD_FAILURE() << weights.status().message();
      return {};
    }
    const BoundWeight &weight = weights->front();
    std::vector<float> all(size_t(weight.members() * weight.rows() * weight.columns()));
    weight.readAll(all.data());
    // Row by row gives the same.
    std::vector<float> row(size_t(weight.columns()));
    for (int64_t member = 0; member < weight.members(); ++member)
      for (int64_t r = 0; r < weight.rows(); ++r) {
        weight.readRows(member, r, 1, row.data());
        EXPECT_EQ(std::memcmp(row.data(),
                              &all[size_t((member * weight.rows() + r) * weight.columns())],
                              row.size() * sizeof(float)),
                  0);
      }
    // So does a copy without gaps.
    BoundWeight moved = weight;
    std::vector<std::byte> copy(moved.storedBytes());
    std::vector<float> allOfCopy(all.size());
    moved.copyStored(copy.data());
    moved.readFrom(copy.data());
    moved.readAll(allOfCopy.data());
    EXPECT_EQ(std::memcmp(all.data(), allOfCopy.data(), all.size() * sizeof(float)), 0);
    return all;
  }
  /// The error without the path at its beginning.
  std::string messageFor(const std::vector<WeightDescription> &descriptions) {
    std::string text = bindWeights(descriptions, *checkpoint).status().message(),
                path = folder.path() + ": ";
    return text.substr(0, path.size()) == path ? text.substr(path.size()) : text;
  }

  TestFolder folder;
  std::optional<Checkpoint> checkpoint;
};

TEST_F(BoundWeightTest, VectorIsOneRow) {
  open({{"n", "F32", "[4]", floats(4)}});
  Expected<std::vector<BoundWeight>> weights = bindWeights({{"n", {4}}}, *checkpoint);
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ((*weights)[0].members(), 1);
  EXPECT_EQ((*weights)[0].rows(), 1);
  EXPECT_EQ((*weights)[0].columns(), 4);
  EXPECT_EQ(valuesOf({"n", {4}}), (std::vector<float>{0, 1, 2, 3}));
}

TEST_F(BoundWeightTest, MatrixOfAnyType) {
  open({{"f8", "F8_E4M3", "[1,3]", "\x38\xc0\x7e"}, // 1, -2, 448; the next tensors are not aligned
        {"bf16", "BF16", "[2,1]", bytesOf<uint16_t>({0x3f80, 0xc000})},
        {"f16", "F16", "[2,1]", bytesOf<uint16_t>({0x3c00, 0x3800})}});
  EXPECT_EQ(valuesOf({"f8", {1, 3}, ElementType::F8E4M3}), (std::vector<float>{1, -2, 448}));
  EXPECT_EQ(valuesOf({"bf16", {2, 1}, ElementType::BF16}), (std::vector<float>{1, -2}));
  EXPECT_EQ(valuesOf({"f16", {2, 1}, ElementType::F16}), (std::vector<float>{1, 0.5}));
}

TEST_F(BoundWeightTest, StackOfTensors) {
  open({{"e.1.w", "F32", "[2,2]", floats(4, 4)}, {"e.0.w", "F32", "[2,2]", floats(4)}});
  EXPECT_EQ(valuesOf({"e.{0..1}.w", {2, 2, 2}}), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(BoundWeightTest, StackOfVectors) {
  open({{"e.0.b", "F32", "[2]", floats(2)}, {"e.1.b", "F32", "[2]", floats(2, 2)}});
  EXPECT_EQ(valuesOf({"e.{0..1}.b", {2, 2}}), (std::vector<float>{0, 1, 2, 3}));
}

TEST_F(BoundWeightTest, PartOfEachGroup) {
  // two groups of three rows; the part is the last two rows of each
  open({{"kv_b", "F32", "[6,2]", floats(12)}});
  WeightDescription description{"kv_b", {2, 2, 2}};
  description.partGroups = 2, description.partStride = 3, description.partOffset = 1;
  EXPECT_EQ(valuesOf(description), (std::vector<float>{2, 3, 4, 5, 8, 9, 10, 11}));
}

TEST_F(BoundWeightTest, ScalesByBlocks) {
  // 3 × 5 in blocks of 2 × 3: blocks at the lower and right edge are smaller
  std::string ones(15, '\x38');
  for (const TestTensor &scale :
       {TestTensor{"w_scale_inv", "F32", "[2,2]", bytesOf<float>({1, 2, 3, 4})},
        TestTensor{"w_scale_inv", "BF16", "[2,2]",
                   bytesOf<uint16_t>({0x3f80, 0x4000, 0x4040, 0x4080})}}) {
    open({{"w", "F8_E4M3", "[3,5]", ones}, scale});
    WeightDescription description{"w", {3, 5}, ElementType::F8E4M3, 0, 0, 0, "w_scale_inv", 2, 3};
    EXPECT_EQ(valuesOf(description),
              (std::vector<float>{1, 1, 1, 2, 2, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4}));
  }
}

TEST_F(BoundWeightTest, ScalesOfAPartFollowTheStoredRows) {
  open({{"w", "F8_E4M3", "[6,1]", std::string(6, '\x38')},
        {"w_scale_inv", "F32", "[3,1]", bytesOf<float>({1, 2, 3})}});
  WeightDescription description{"w", {2, 2, 1}, ElementType::F8E4M3, 2, 3, 1, "w_scale_inv", 2, 2};
  EXPECT_EQ(valuesOf(description), (std::vector<float>{1, 2, 3, 3}));
}

TEST_F(BoundWeightTest, ScalesOfAStack) {
  open({{"e.0.w", "F8_E4M3", "[1,1]", "\x38"},
        {"e.1.w", "F8_E4M3", "[1,1]", "\x38"},
        {"e.0.s", "F32", "[1,1]", bytesOf<float>({2})},
        {"e.1.s", "F32", "[1,1]", bytesOf<float>({3})}});
  EXPECT_EQ(
      valuesOf({"e.{0..1}.w", {2, 1, 1}, ElementType::F8E4M3, 0, 0, 0, "e.{0..1}.s", 128, 128}),
      (std::vector<float>{2, 3}));
}

TEST_F(BoundWeightTest, AllMissingTensorsAreNamed) {
  open({{"a", "F32", "[1]", floats(1)}});
  EXPECT_EQ(messageFor({{"b", {1}}}), "1 tensor missing: b");
  EXPECT_EQ(messageFor({{"b", {1}}, {"a", {1}}, {"e.{0..1}", {2, 1}}, {"b", {1}}}),
            "3 tensors missing: b, e.0, e.1");
  std::string many = messageFor({{"e.{0..29}", {30, 1}}});
  EXPECT_EQ(many.substr(0, 29), "30 tensors missing: e.0, e.1,");
  EXPECT_EQ(many.substr(many.size() - 22), ", e.19 … and 10 more");
}

TEST_F(BoundWeightTest, OtherTypesAndShapesAreNamed) {
  open({{"a", "F32", "[2,3]", floats(6)}, {"b", "I64", "[1]", std::string(8, '\0')}});
  EXPECT_EQ(messageFor({{"a", {3, 2}}}),
            "1 tensor not as expected: a: expected f32 [3, 2] but got f32 [2, 3]");
  EXPECT_EQ(messageFor({{"c", {1}}, {"a", {2, 3}, ElementType::BF16}, {"b", {1}}}),
            "1 tensor missing: c; 2 tensors not as expected: a: expected bf16 [2, 3] but got f32 "
            "[2, 3]; b: expected f32 "
            "[1] but got I64 [1]");
}

TEST_F(BoundWeightTest, MissingOrWrongScales) {
  open({{"w", "F8_E4M3", "[3,5]", std::string(15, '\x38')}, {"s", "F32", "[2,1]", floats(2)}});
  WeightDescription description{"w", {3, 5}, ElementType::F8E4M3, 0, 0, 0, "s", 2, 3};
  EXPECT_EQ(messageFor({description}),
            "1 tensor not as expected: s: expected f32 or bf16 [2, 2] but got f32 [2, 1]");
  description.scaleName = "t";
  EXPECT_EQ(messageFor({description}), "1 tensor missing: t");
}

TEST_F(BoundWeightTest, DescriptionsThatCantBe) {
  open({{"a", "F32", "[2,3]", floats(6)}});
  EXPECT_EQ(messageFor({{"a", {2, -3}}}),
            "weight a: expected extents of at least 1 but got [2, -3]");
  EXPECT_EQ(messageFor({{"a", {2, 3, 1}}}),
            "weight a: expected a vector or a matrix but got shape [2, 3, 1]");
  EXPECT_EQ(messageFor({{"a", {}}}), "weight a: expected a vector or a matrix but got shape []");
  EXPECT_EQ(messageFor({{"e.{0..1}", {3, 1}}}),
            "weight e.{0..1}: expected 2 tensors but the shape is [3, 1]");
  EXPECT_EQ(messageFor({{"e.{0}", {3, 1}}}),
            "weight pattern 'e.{0}': expected {first..last}, two numbers");
  for (int64_t offset : {INT64_MAX, int64_t(-1), int64_t(2)})
    EXPECT_EQ(messageFor({{"a", {2, 2, 3}, ElementType::F32, 2, 3, offset}}),
              "weight a: rows " + std::to_string(offset) +
                  " and on of 2 groups of 3 can't have shape [2, 2, 3]");
  EXPECT_EQ(messageFor({{"a", {2, 3}, ElementType::F32, 0, 0, 0, "s", 0, 128}}),
            "weight a: expected a block of at least 1 × 1 but got 0 × 128");
  EXPECT_EQ(messageFor({{"a", {2}, ElementType::F32, 0, 0, 0, "s", 128, 128}}),
            "weight a: expected a matrix for scales by blocks but got a vector");
  EXPECT_EQ(messageFor({{"a", {2, 3}, ElementType::F32, 0, 0, 0, "s.{0..1}", 128, 128}}),
            "weight a: expected 1 scale tensors but 's.{0..1}' names 2");
}

} // namespace
