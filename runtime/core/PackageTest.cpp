//===- PackageTest.cpp - Packages: round trip and damage ------------------===//
#include "strata/runtime/core/Package.h"

#include "strata-rt/kernel-abi.h"
#include "strata/lib/Support/TestFolder.h"
#include "strata/runtime/core/Checksum.h"
#include "strata/runtime/core/PackageFormat.h"
#include "strata/runtime/core/PackagePrinter.h"
#include "strata/runtime/core/TestPackage.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace strata::rt {
namespace {

std::string packTest() {
  Expected<std::string> bytes = packPackage(makeTestContent());
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return *bytes;
}

std::string errorOf(std::string_view bytes) {
  Expected<std::unique_ptr<Package>> package = Package::fromBytes(bytes);
  return package.ok() ? "" : package.status().message();
}

TEST(Checksum, ChangesWithEveryBit) {
  // Sizes around the 8-byte words and the 32-byte rounds.
  for (size_t size : {1, 7, 8, 9, 31, 32, 33, 40, 63, 64, 65, 200}) {
    std::string bytes(size, 'x');
    uint64_t original = checksum(bytes.data(), size);
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= char(1 << bit % 8);
      EXPECT_NE(checksum(bytes.data(), size), original) << size << " bytes, bit " << bit;
      bytes[bit / 8] ^= char(1 << bit % 8);
    }
  }
}

TEST(Checksum, TellsZerosFromNothing) {
  const char zeros[64] = {};
  for (size_t size = 0; size < 64; ++size)
    EXPECT_NE(checksum(zeros, size), checksum(zeros, size + 1));
}

/// The value is part of the file format: another one needs another package version.
TEST(Checksum, StaysTheSame) {
  EXPECT_EQ(checksum("", 0), 6013575441906347307u);
  EXPECT_EQ(checksum("strata", 6), 10134287054536788827u);
}

TEST(Package, RoundTrip) {
  TestFolder folder;
  std::string path = folder.file("model.strata");
  Status written = writePackage(path, makeTestContent());
  ASSERT_TRUE(written.ok()) << written.message();
  Expected<std::unique_ptr<Package>> opened = Package::open(path);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const Package &package = **opened;
  EXPECT_EQ(package.inputModule(), "module {}");
  ASSERT_EQ(package.manifest().variants()->size(), 2u);
  EXPECT_EQ(package.blob(*package.manifest().variants()->Get(0)->object()), "first object");
  EXPECT_EQ(package.blob(*package.manifest().variants()->Get(1)->object()), "second object");
  EXPECT_EQ(package.manifest().variants()->Get(1)->object()->offset() % kBlobAlignment, 0u);

  const ModelDescription &model = package.model();
  EXPECT_EQ(model.modelType, "test");
  EXPECT_EQ(model.vocabularySize, 10);
  EXPECT_EQ(model.maxPositions, 32);
  EXPECT_EQ(model.pageSize, 4);
  EXPECT_EQ(model.eosTokenIds, (std::vector<int32_t>{7, 9}));
  EXPECT_EQ(model.rowWidths, std::vector<int64_t>{3});
  EXPECT_EQ(model.expertWidths, std::vector<int64_t>{2});
  EXPECT_EQ(model.expertCounts, std::vector<int64_t>{6});
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model.strata"});
}

TEST(Package, WithoutInputModule) {
  PackageContent content = makeTestContent();
  content.inputModule = {};
  Expected<std::string> bytes = packPackage(std::move(content));
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  Expected<std::unique_ptr<Package>> package = Package::fromBytes(*bytes);
  ASSERT_TRUE(package.ok()) << package.status().message();
  EXPECT_EQ((*package)->inputModule(), "");
}

TEST(Package, EveryFlippedBitIsFound) {
  std::string bytes = packTest();
  ASSERT_EQ(errorOf(bytes), "");
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= char(1 << bit % 8);
    EXPECT_NE(errorOf(bytes), "") << "bit " << bit;
    bytes[bit / 8] ^= char(1 << bit % 8);
  }
}

TEST(Package, EveryTruncationIsFound) {
  std::string bytes = packTest();
  for (size_t size = 0; size < bytes.size(); ++size) {
    // An exact copy, so that the sanitizer sees reads beyond it.
    std::vector<char> part(bytes.begin(), bytes.begin() + size);
    EXPECT_NE(errorOf({part.data(), size}), "") << size << " bytes";
  }
}

TEST(Package, BytesAfterTheEnd) {
  std::string bytes = packTest();
  std::string expected = "package is damaged: expected " + std::to_string(bytes.size()) +
                         " bytes but got " + std::to_string(bytes.size() + 1);
  EXPECT_EQ(errorOf(bytes + '\0'), expected);
}

TEST(Package, MessagesNameTheDamage) {
  std::string bytes = packTest();
  EXPECT_EQ(errorOf(""), "not a Strata package");
  EXPECT_EQ(errorOf("module {}"), "not a Strata package");
  EXPECT_EQ(errorOf(bytes.substr(0, 20)), "package is truncated: expected 64 bytes but got 20");
  EXPECT_EQ(errorOf(bytes.substr(0, bytes.size() - 1)),
            "package is truncated: expected " + std::to_string(bytes.size()) + " bytes but got " +
                std::to_string(bytes.size() - 1));
  std::string header = bytes, manifest = bytes, blob = bytes, gap = bytes;
  header[17] ^= 1;
  EXPECT_EQ(errorOf(header), "package is damaged: its header does not match its checksum");
  manifest[200] ^= 1;
  EXPECT_EQ(errorOf(manifest), "package is damaged: its manifest does not match its checksum");
  blob.back() ^= 1;
  EXPECT_EQ(errorOf(blob), "package is damaged: the input module does not match its checksum");
  gap[bytes.size() - 10] ^= 1;
  EXPECT_EQ(errorOf(gap), "package is damaged: expected zeros before the input module");
}

TEST(Package, OfAnotherVersion) {
  std::string bytes = packTest();
  PackageHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.version = STRATA_RT_PACKAGE_VERSION + 1;
  header.headerChecksum = checksum(&header, offsetof(PackageHeader, headerChecksum));
  std::memcpy(bytes.data(), &header, sizeof header);
  EXPECT_EQ(errorOf(bytes), "package of version 4, but this runtime reads version 3");
}

TEST(Package, OpenNamesThePath) {
  TestFolder folder;
  std::string path = folder.write("x.strata", "nothing");
  EXPECT_EQ(Package::open(path).status().message(), path + ": not a Strata package");
  EXPECT_EQ(Package::open(folder.file("none")).status().code(), StatusCode::NotFound);
  EXPECT_FALSE(Package::open(folder.path()).ok());
}

TEST(PackageWriter, RefusesWhatAReaderWouldRefuse) {
  TestFolder folder;
  std::string path = folder.file("x.strata");
  PackageContent content = makeTestContent();
  package::GetMutableManifest(content.manifest.data())->mutate_vocabulary_size(0);
  EXPECT_EQ(writePackage(path, std::move(content)).message(),
            path +
                ": manifest is malformed: expected vocabulary_size in [1, 2147483647] but got 0");
  content = makeTestContent();
  content.objects.pop_back();
  EXPECT_EQ(writePackage(path, std::move(content)).message(),
            path + ": manifest can't be written: expected an object for each of 2 variants but "
                   "got 1");
  content = makeTestContent();
  content.manifest.resize(10);
  EXPECT_EQ(writePackage(path, std::move(content)).message(),
            path + ": manifest can't be written: not a FlatBuffer of its schema");
  EXPECT_TRUE(folder.names().empty());
}

TEST(PackageWriter, NoSpaceLeft) {
  if (::access("/dev/full", W_OK) != 0)
    GTEST_SKIP() << "there is no /dev/full";
  Status status = writePackage("/dev/full", makeTestContent());
  EXPECT_EQ(status.message(), "/dev/full: writing failed: No space left on device");
  EXPECT_EQ(status.code(), StatusCode::Io);
}

TEST(PackageWriter, FolderThatIsNotThere) {
  TestFolder folder;
  EXPECT_EQ(writePackage(folder.file("none/x.strata"), makeTestContent()).code(),
            StatusCode::NotFound);
}

TEST(PackagePrinter, IsDeterministicAndComplete) {
  std::string bytes = packTest();
  Expected<std::unique_ptr<Package>> package = Package::fromBytes(bytes);
  ASSERT_TRUE(package.ok());
  std::string text = printPackage(**package);
  EXPECT_EQ(text, printPackage(**package));
  EXPECT_EQ(text, R"(package version 3 by strata test
model test: vocabulary 10, 32 positions, 1 indexers, 1 mixtures
end of sequence: 7 9
products round to bf16
object for x86-64: 12 bytes
object for x86-64-v4: 13 bytes
input module: 9 bytes
kernels: norm scores_0
cache 0: kv, pages of 4, interleaved, rope Interleaved, KeyValue 1 x 8 bf16
cache 1: index, pages of 4, planar, rope Half, hadamard, Key 1 x 4 f32
weight 0: matrix [8, 8] bf16
weight 1: bias [8] bf16, widened
weight 2: heads [2, 4, 8] f32, rows 2 to 6 of every 6
weight 3: experts.{0..5}.matrix [6, 8, 8] f8E4M3FN, scales experts.{0..5}.scale by 4 x 4
weight 4: correction [6] f32, widened
slot 0: 32 x tokens bytes
slot 1: 64 x tokens bytes
slot 2: 16 x tokens bytes
slot 3: 16 x tokens bytes
slot 4: 28 bytes
slot 5: 40 x wanted bytes
command 0 (rope): RopeTable to (slot 0 by 8), factor 1, frequencies 1 0.5
command 1 (norm): Launch norm(slot 0, weight 1 + 4, cache 0, Positions) over tokens, grain 4
command 2 (linear): Product (slot 0 by 8) x weight 0 + weight 1 to (slot 1 by 8), rows tokens, batch 1, 8 to 8, operands bf16
command 3 (absorb): Product (slot 0 by 8, 4) x weight 2 transposed to (slot 1 by 16, 8), rows tokens, batch 2, 4 to 8, operands f32
command 4 (route): Route 0: (slot 1 by 6) + weight 4 to experts slot 2, weights slot 2, 2 of 6 experts by Sigmoid, 1 of 2 groups by TopTwoSum, normalised, scale 2.5
command 5 (group): GroupByExpert slot 2 to order slot 3, rank slot 3, offsets slot 4, 2 of 6 experts
command 6 (gate): GroupedProduct (slot 0 by 8 gathered) x weight 3 to (slot 1 by 8), order slot 3, offsets slot 4, 2 of 6 experts, 8 to 8, operands bf16
command 7 (down): GroupedProduct (slot 1 by 8) x weight 3 to (slot 1 by 8), order slot 3, offsets slot 4, 2 of 6 experts, 8 to 8, operands bf16
command 8 (select): Select 0: scores_0 of query (slot 0 by 8), head weights (slot 0 by 2), cache 1 to slot 2, k 3
command 9 (parts): Product (slot 0 by 8) x weight 0 to (slot 1 by 8), x weight 0 + weight 1 to (slot 1 by 8), rows tokens, batch 1, 8 to 8 and 8, operands bf16
command 10 (residual): Product (slot 1 by 8) x weight 0 + (slot 0 by 8) to (slot 0 by 8), rows tokens, batch 1, 8 to 8, operands bf16
command 11 (gated): GatedProduct (slot 0 by 8) x weight 0 gates weight 0 by norm to (slot 1 by 8), rows tokens, 8 to 8, operands bf16
command 12 (gated experts): GroupedProduct (slot 0 by 8 gathered) x weight 3 gates weight 3 by norm to (slot 1 by 8), order slot 3, offsets slot 4, 2 of 6 experts, 8 to 8, operands bf16
command 13 (heads): HeadAttention 2 heads: (slot 0 by 8, 4) x weight 2 transposed to (slot 1 by 16, 8), rows tokens, batch 2, 4 to 8, operands f32; then norm(slot 1, weight 4) over 2 x tokens, grain 1; then (slot 1 by 16, 8) x weight 2 to (slot 0 by 8, 4), rows tokens, batch 2, 8 to 4, operands f32
logits: slot 5 by 10
)");
}

} // namespace
} // namespace strata::rt
