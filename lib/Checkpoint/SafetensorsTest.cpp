//===- SafetensorsTest.cpp ------------------------------------------------===//
#include "strata/lib/Checkpoint/Safetensors.h"

#include "strata/lib/Checkpoint/TestSafetensors.h"
#include "strata/lib/Support/TestFolder.h"

#include <gtest/gtest.h>

using namespace strata;

namespace {

/// The error for a file with this header and this many bytes of data.
std::string messageFor(const std::string &header, size_t dataBytes) {
  return parseSafetensors(safetensorsFile(header, std::string(dataBytes, '\0'))).status().message();
}

/// The error for a file with one tensor "w" and 16 bytes of data.
std::string messageForEntry(const std::string &entry) {
  return messageFor("{\"w\":" + entry + "}", 16);
}

TEST(Safetensors, ReadsTensors) {
  std::string file = safetensorsFile(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},)"
      R"("a":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"empty":{"dtype":"F32","shape":[0,4],"data_offsets":[20,20]}}   )",
      "01234567abcdefghijkl");
  Expected<TensorMap> tensors = parseSafetensors(file);
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  ASSERT_EQ(tensors->size(), 3u);
  const TensorView &b = tensors->at("b");
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.type, ElementType::BF16);
  EXPECT_EQ(b.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(b.data), b.bytes), "abcdefghijkl");
  EXPECT_EQ(tensors->at("a").dtype, "I64"); // listed, though Strata doesn't read it
  EXPECT_EQ(tensors->at("a").type, std::nullopt);
  EXPECT_EQ(tensors->at("empty").bytes, 0u);
}

TEST(Safetensors, NoTensors) { EXPECT_TRUE(parseSafetensors(safetensorsFile("{}", "")).ok()); }

TEST(Safetensors, KnowsTypesOfLessThanAByte) {
  EXPECT_EQ(messageFor(R"({"w":{"dtype":"F4","shape":[2,3],"data_offsets":[0,3]}})", 3), "");
  EXPECT_EQ(messageFor(R"({"w":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2),
            "tensor w: shape [3] of F4 is no whole number of bytes");
}

TEST(Safetensors, FileShorterThanTheHeadersSize) {
  EXPECT_EQ(parseSafetensors("1234567").status().message(), "expected at least 8 bytes but got 7");
  EXPECT_EQ(parseSafetensors("").status().message(), "expected at least 8 bytes but got 0");
}

TEST(Safetensors, HeaderLongerThanTheFile) {
  std::string file = safetensorsFile("{}", "");
  file[0] = 3;
  EXPECT_EQ(parseSafetensors(file).status().message(),
            "the header has 3 bytes, but the file has only 10");
  EXPECT_EQ(parseSafetensors(std::string(8, '\xff')).status().message(),
            "the header has 18446744073709551615 bytes, but the file has only 8");
}

TEST(Safetensors, GitLfsPointer) {
  EXPECT_EQ(parseSafetensors("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n")
                .status()
                .message(),
            "this is a Git LFS pointer, not the file that it stands for");
}

TEST(Safetensors, HeaderIsNoObject) {
  EXPECT_EQ(messageFor("", 0), "header: not valid JSON");
  EXPECT_EQ(messageFor("{\"w\"", 0), "header: not valid JSON");
  EXPECT_EQ(messageFor("{}{}", 0), "header: not valid JSON");
  EXPECT_EQ(messageFor("[1]", 0), "header: expected an object");
  EXPECT_EQ(messageFor("[[[[[[]]]]]]", 0), "header: nested more than 4 deep");
}

TEST(Safetensors, MetadataOfWrongType) {
  EXPECT_EQ(messageFor(R"({"__metadata__":{"a":1}})", 0),
            "__metadata__: expected an object of strings");
  EXPECT_EQ(messageFor(R"({"__metadata__":"a"})", 0),
            "__metadata__: expected an object of strings");
}

TEST(Safetensors, EntryOfWrongType) {
  EXPECT_EQ(messageForEntry("1"),
            "tensor w: expected an object with dtype, shape and data_offsets");
  EXPECT_EQ(messageForEntry(R"({"shape":[4],"data_offsets":[0,16]})"),
            "tensor w: expected a string dtype");
  EXPECT_EQ(messageForEntry(R"({"dtype":7,"shape":[4],"data_offsets":[0,16]})"),
            "tensor w: expected a string dtype");
}

TEST(Safetensors, UnknownDtypeIsNamed) {
  EXPECT_EQ(messageForEntry(R"({"dtype":"F128","shape":[1],"data_offsets":[0,16]})"),
            "tensor w: unknown dtype 'F128'");
  EXPECT_EQ(messageForEntry(R"({"dtype":"f32","shape":[4],"data_offsets":[0,16]})"),
            "tensor w: unknown dtype 'f32'");
}

TEST(Safetensors, BadShape) {
  for (const char *shape :
       {"[-4]", "4", "[4.0]", "[\"4\"]", "[[4]]", "[9223372036854775808]", "[1e3]", "null"})
    EXPECT_EQ(messageForEntry(std::string(R"({"dtype":"F32","data_offsets":[0,16],"shape":)") +
                              shape + "}"),
              "tensor w: expected a shape of integers that are not negative")
        << shape;
  EXPECT_EQ(messageForEntry(R"({"dtype":"F32","data_offsets":[0,16]})"),
            "tensor w: expected a shape of integers that are not negative");
}

TEST(Safetensors, ShapeThatOverflows) {
  EXPECT_EQ(
      messageForEntry(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,16]})"),
      "tensor w: shape [4611686018427387904, 4] is too large");
  // 2^61 elements of 8 bytes wrap around to 0 bytes
  EXPECT_EQ(
      messageForEntry(R"({"dtype":"I64","shape":[2305843009213693952],"data_offsets":[0,0]})"),
      "tensor w: shape [2305843009213693952] is too large");
}

TEST(Safetensors, BadOffsets) {
  for (const char *offsets : {"[0]", "[0,8,16]", "[-1,15]", "[0,\"16\"]", "{}", "16"})
    EXPECT_EQ(messageForEntry(std::string(R"({"dtype":"F32","shape":[4],"data_offsets":)") +
                              offsets + "}"),
              "tensor w: expected two data_offsets, integers that are not negative")
        << offsets;
  EXPECT_EQ(messageForEntry(R"({"dtype":"F32","shape":[4],"data_offsets":[16,0]})"),
            "tensor w: data_offsets [16, 0] don't increase");
  EXPECT_EQ(messageForEntry(R"({"dtype":"F32","shape":[5],"data_offsets":[0,16]})"),
            "tensor w: expected 20 bytes for F32 [5] but data_offsets [0, 16] give 16");
}

TEST(Safetensors, TruncatedData) {
  EXPECT_EQ(messageForEntry(R"({"dtype":"F32","shape":[8],"data_offsets":[0,32]})"),
            "tensor w: ends at byte 32 of the data, but the file holds only 16 bytes of data (is "
            "it cut off?)");
}

TEST(Safetensors, OverlapsAndHoles) {
  auto two = [](const char *first, const char *second) {
    return messageFor(std::string(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":)") + first +
                          R"(},"b":{"dtype":"U8","shape":[8],"data_offsets":)" + second + "}}",
                      16);
  };
  EXPECT_EQ(two("[0,8]", "[8,16]"), "");
  EXPECT_EQ(two("[8,16]", "[0,8]"), "");
  EXPECT_EQ(two("[0,8]", "[7,15]"), "tensors a and b overlap");
  EXPECT_EQ(two("[0,8]", "[0,8]"), "tensors a and b overlap");
  EXPECT_EQ(messageForEntry(R"({"dtype":"U8","shape":[8],"data_offsets":[8,16]})"),
            "bytes [0, 8) of the data belong to no tensor");
  EXPECT_EQ(messageForEntry(R"({"dtype":"U8","shape":[8],"data_offsets":[0,8]})"),
            "bytes [8, 16) of the data belong to no tensor");
}

TEST(Safetensors, NameGivenTwice) {
  EXPECT_EQ(messageFor(R"({"w":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
                       R"("w":{"dtype":"U8","shape":[8],"data_offsets":[8,16]}})",
                       16),
            "header: 'w' is given twice");
  EXPECT_EQ(messageForEntry(R"({"dtype":"U8","dtype":"F32","shape":[4],"data_offsets":[0,16]})"),
            "header: 'dtype' is given twice");
}

TEST(Safetensors, NamesAreCleanInMessages) {
  EXPECT_EQ(messageFor(R"({"a\nb":1})", 0),
            "tensor a?b: expected an object with dtype, shape and data_offsets");
}

TEST(Safetensors, EveryPrefixOfAFileIsRefused) {
  std::string file = safetensorsFile(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F16","shape":[3],"data_offsets":[8,14]}})",
      std::string(14, 'x'));
  ASSERT_TRUE(parseSafetensors(file).ok());
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parseSafetensors(std::string_view(file).substr(0, size)).ok()) << size;
}

TEST(SafetensorsFile, ErrorsBeginWithThePath) {
  TestFolder folder;
  std::string path = folder.write("w.safetensors", "1234");
  EXPECT_EQ(SafetensorsFile::open(path).status().message(),
            path + ": expected at least 8 bytes but got 4");
  EXPECT_EQ(SafetensorsFile::open(folder.file("none")).status().code(), StatusCode::NotFound);
}

} // namespace
