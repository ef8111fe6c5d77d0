//===- RecordLayoutTest.cpp -----------------------------------------------===//
#include "strata/runtime/cpu/RecordLayout.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace strata::rt;

namespace {

/// A cache of two fields, 3 and 5 bytes a record, in pages of 4.
class RecordLayoutTest : public testing::TestWithParam<bool> {
protected:
  RecordLayoutTest() {
    using namespace strata::package;
    std::vector<flatbuffers::Offset<CacheField>> fields{
        CreateCacheField(builder, FieldRole::Key, 1, 3, ElementType::F8E4M3),
        CreateCacheField(builder, FieldRole::Value, 1, 5, ElementType::F8E4M3)};
    builder.Finish(CreateCacheDirect(builder, "cache", &fields, 4, GetParam()));
    layout.emplace(*flatbuffers::GetRoot<Cache>(builder.GetBufferPointer()));
  }

  /// Where byte `byte` of a record lies.
  size_t place(int64_t record, int64_t byte) const {
    int64_t page = record / 4 * 32, slot = record % 4;
    if (!GetParam())
      return size_t(page + slot * 8 + byte);
    return size_t(byte < 3 ? page + slot * 3 + byte : page + 12 + slot * 5 + byte - 3);
  }

  flatbuffers::FlatBufferBuilder builder;
  std::optional<RecordLayout> layout;
};

TEST_P(RecordLayoutTest, CopiesARecordAndNothingElse) {
  EXPECT_EQ(layout->recordBytes(), 8);
  EXPECT_EQ(layout->pageBytes(), 32);
  EXPECT_EQ(layout->pagesFor(9), 3);
  std::vector<uint8_t> source(96), target(96, 200);
  std::iota(source.begin(), source.end(), uint8_t(0));
  layout->copyRecord(reinterpret_cast<std::byte *>(source.data()), 6,
                     reinterpret_cast<std::byte *>(target.data()), 9);
  size_t copied = 0;
  for (int64_t byte = 0; byte < 8; ++byte)
    copied += target[place(9, byte)] == source[place(6, byte)];
  EXPECT_EQ(copied, 8u);
  EXPECT_EQ(std::count(target.begin(), target.end(), 200), 88);
}

TEST_P(RecordLayoutTest, PoisonsARecordAndNothingElse) {
  std::vector<uint8_t> target(64, 0);
  layout->poisonRecord(reinterpret_cast<std::byte *>(target.data()), 5);
  for (int64_t byte = 0; byte < 8; ++byte)
    EXPECT_EQ(target[place(5, byte)], 0xff);
  EXPECT_EQ(std::count(target.begin(), target.end(), 0xff), 8);
}

INSTANTIATE_TEST_SUITE_P(InterleavedAndPlanar, RecordLayoutTest, testing::Bool());

} // namespace
