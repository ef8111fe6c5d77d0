//===- NpyTest.cpp --------------------------------------------------------===//
#include "strata/lib/Support/Npy.h"

#include "strata/lib/Support/TestFolder.h"

#include <gtest/gtest.h>

using namespace strata;

namespace {

/// A version 1.0 file with this header text.
std::string npy(const std::string &header, const std::string &data) {
  std::string text("\x93NUMPY\1\0", 8);
  text += char(header.size() & 255);
  text += char(header.size() >> 8);
  return text + header + data;
}

TEST(Npy, WritesWhatNumpyWrites) {
  TestFolder folder;
  const float values[] = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(writeNpy(folder.file("a.npy"), {2, 3}, values).ok());
  // numpy.save of float32 [[1, 2, 3], [4, 5, 6]]: 128 bytes of header
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header += std::string(128 - 10 - 1 - header.size(), ' ') + "\n";
  EXPECT_EQ(folder.read("a.npy"),
            npy(header, std::string(reinterpret_cast<const char *>(values), sizeof values)));
}

TEST(Npy, RoundTripsEveryRank) {
  TestFolder folder;
  const std::vector<std::vector<int64_t>> shapes = {{}, {4}, {0, 7}, {2, 3, 1, 2}};
  for (const auto &shape : shapes) {
    size_t count = 1;
    for (int64_t extent : shape)
      count *= size_t(extent);
    std::vector<int32_t> values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = int32_t(i) - 1;
    ASSERT_TRUE(writeNpy(folder.file("a.npy"), shape, values.data()).ok());
    Expected<NpyArray<int32_t>> array = readNpyIntegers(folder.file("a.npy"));
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(array->values, values);
    EXPECT_EQ((std::filesystem::file_size(folder.file("a.npy")) - count * 4) % 64, 0u);
  }
}

TEST(Npy, ReadsOtherSpellings) {
  TestFolder folder;
  std::string path =
      folder.write("a.npy", npy("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<i4\"}",
                                std::string(8, '\1')));
  Expected<NpyArray<int32_t>> array = readNpyIntegers(path);
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->values, (std::vector<int32_t>{0x01010101, 0x01010101}));
}

TEST(Npy, Refusals) {
  TestFolder folder;
  auto message = [&](const std::string &content) {
    std::string path = folder.write("a.npy", content);
    std::string text = readNpyFloats(path).status().message();
    EXPECT_EQ(text.substr(0, path.size() + 2), path + ": ");
    return text.substr(std::min(text.size(), path.size() + 2));
  };
  std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_EQ(message("PK"), "not an .npy file");
  EXPECT_EQ(message(""), "not an .npy file");
  EXPECT_EQ(message(npy(good, "12345678").replace(6, 1, "\4")),
            "expected .npy version 1.0, 2.0 or 3.0 but got 4.0");
  EXPECT_EQ(message(npy(good, "").substr(0, 40)), "header is longer than the file");
  EXPECT_EQ(message(npy("{'descr': '<f4'}", "")), "header is no .npy header");
  EXPECT_EQ(message(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "")),
            "header is no .npy header");
  EXPECT_EQ(message(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", "12345678")),
            "expected element type <f4 but got <f8");
  EXPECT_EQ(message(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", "12345678")),
            "expected C order but got Fortran order");
  EXPECT_EQ(message(npy(good, "1234567")), "shape [2] doesn't match 7 bytes of data");
  EXPECT_EQ(
      message(
          npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "")),
      "shape [4611686018427387904, 4] doesn't match 0 bytes of data");
  EXPECT_EQ(readNpyFloats(folder.file("none")).status().code(), StatusCode::NotFound);
}

TEST(Npy, FullDiskIsReported) {
  float value = 1;
  EXPECT_EQ(writeNpy("/dev/full", {1}, &value).message(),
            "/dev/full: writing failed: No space left on device");
}

} // namespace
