//===- CheckpointTest.cpp -------------------------------------------------===//
#include "strata/lib/Checkpoint/Checkpoint.h"

#include "strata/lib/Checkpoint/TestSafetensors.h"
#include "strata/lib/Support/TestFolder.h"

#include <gtest/gtest.h>

using namespace strata;

namespace {

std::string oneTensor(const std::string &name, const std::string &data = "x") {
  return safetensorsFile({{name, "U8", "[" + std::to_string(data.size()) + "]", data}});
}

std::string messageFor(const TestFolder &folder) {
  return Checkpoint::open(folder.path()).status().message();
}

std::string dataOf(const Checkpoint &checkpoint, const char *name) {
  const TensorView *tensor = checkpoint.find(name);
  return tensor ? std::string(reinterpret_cast<const char *>(tensor->data), tensor->bytes) : "none";
}

TEST(Checkpoint, OneFile) {
  TestFolder folder;
  folder.write("model.safetensors", oneTensor("a", "abc"));
  folder.write("other.safetensors", "not looked at");
  for (const std::string &path : {folder.path(), folder.file("model.safetensors")}) {
    Expected<Checkpoint> checkpoint = Checkpoint::open(path);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    EXPECT_EQ(checkpoint->names(), (std::vector<std::string_view>{"a"}));
    EXPECT_EQ(dataOf(*checkpoint, "a"), "abc");
    EXPECT_EQ(checkpoint->find("b"), nullptr);
  }
}

TEST(Checkpoint, ShardsWithAnIndex) {
  TestFolder folder;
  folder.write("m-1.safetensors",
               safetensorsFile({{"a", "U8", "[1]", "1"}, {"c", "U8", "[1]", "3"}}));
  folder.write("m-2.safetensors", oneTensor("b", "2"));
  folder.write("unnamed.safetensors", "not looked at");
  folder.write(
      "model.safetensors.index.json",
      R"({"metadata":{},"weight_map":{"a":"m-1.safetensors","c":"m-1.safetensors","b":"m-2.safetensors"}})");
  Expected<Checkpoint> opened = Checkpoint::open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Checkpoint checkpoint = std::move(*opened);
  EXPECT_EQ(checkpoint.names(), (std::vector<std::string_view>{"a", "b", "c"}));
  EXPECT_EQ(dataOf(checkpoint, "a") + dataOf(checkpoint, "b") + dataOf(checkpoint, "c"), "123");
}

TEST(Checkpoint, FilesWithoutAnIndex) {
  TestFolder folder;
  folder.write("y.safetensors", oneTensor("a"));
  folder.write("x.safetensors", oneTensor("b"));
  Expected<Checkpoint> checkpoint = Checkpoint::open(folder.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->size(), 2u);
  folder.write("z.safetensors", oneTensor("a"));
  EXPECT_EQ(messageFor(folder),
            folder.file("z.safetensors") + ": tensor a is in another file of the checkpoint too");
}

TEST(Checkpoint, NothingThere) {
  TestFolder folder;
  Status empty = Checkpoint::open(folder.path()).status();
  EXPECT_EQ(empty.code(), StatusCode::NotFound);
  EXPECT_EQ(empty.message(), folder.path() + ": no .safetensors file in this folder");
  EXPECT_EQ(Checkpoint::open(folder.file("none")).status().message(),
            folder.file("none") + ": no such file or folder");
}

TEST(Checkpoint, TruncatedFileIsNamed) {
  TestFolder folder;
  std::string content = oneTensor("a", "12345678");
  std::string path = folder.write("model.safetensors", content.substr(0, content.size() - 3));
  EXPECT_EQ(messageFor(folder), path + ": tensor a: ends at byte 8 of the data, but the file holds "
                                       "only 5 bytes of data (is it cut off?)");
}

TEST(Checkpoint, BadIndex) {
  TestFolder folder;
  folder.write("m-1.safetensors", oneTensor("a"));
  folder.write("m-2.safetensors", oneTensor("b"));
  auto messageOf = [&](const std::string &index) {
    std::string path = folder.write("model.safetensors.index.json", index),
                text = messageFor(folder);
    return text.substr(0, path.size() + 2) == path + ": " ? text.substr(path.size() + 2) : text;
  };
  std::string noMap = "expected an object with a weight_map, which is an object too";
  EXPECT_EQ(messageOf("{"), "not valid JSON");
  EXPECT_EQ(messageOf("[]"), noMap);
  EXPECT_EQ(messageOf("{}"), noMap);
  EXPECT_EQ(messageOf(R"({"weight_map":[]})"), noMap);
  EXPECT_EQ(messageOf(R"({"weight_map":{}})"), "the weight_map is empty");
  EXPECT_EQ(messageOf(R"({"weight_map":{"a":1}})"), "tensor a: expected a file name");
  EXPECT_EQ(messageOf(R"({"weight_map":{"a":"m-1.safetensors","a":"m-2.safetensors"}})"),
            "'a' is given twice");
  EXPECT_EQ(messageOf(R"({"weight_map":{"a":"m-1.safetensors","b":"m-1.safetensors"}})"),
            "tensors that are not in the file that the index says: b in m-1.safetensors");
  EXPECT_EQ(
      messageOf(
          R"({"weight_map":{"a":"m-1.safetensors","b":"m-1.safetensors","c":"m-2.safetensors"}})"),
      "tensor b is in m-2.safetensors, but the index says m-1.safetensors");
}

TEST(Checkpoint, MissingShardIsNamed) {
  TestFolder folder;
  std::string index =
      folder.write("model.safetensors.index.json", R"({"weight_map":{"a":"m-1.safetensors"}})");
  Status status = Checkpoint::open(folder.path()).status();
  EXPECT_EQ(status.code(), StatusCode::NotFound);
  EXPECT_EQ(status.message(), folder.file("m-1.safetensors") +
                                  ": can't be opened: No such file or directory (named in " +
                                  index + ")");
}

TEST(Checkpoint, IndexCantLeadOutOfTheFolder) {
  TestFolder folder;
  folder.write("secret.safetensors", oneTensor("a"));
  std::filesystem::create_directory(folder.file("model"));
  for (const char *name :
       {"../secret.safetensors", "/tmp/secret.safetensors", "..\\\\secret.safetensors", "..", "",
        "secret.bin", "x\\u0000.safetensors"}) {
    folder.write("model/model.safetensors.index.json",
                 std::string(R"({"weight_map":{"a":")") + name + "\"}}");
    std::string message = Checkpoint::open(folder.file("model")).status().message();
    EXPECT_NE(message.find("expected the name of a .safetensors file in the same folder"),
              std::string::npos)
        << name << ": " << message;
  }
}

} // namespace
