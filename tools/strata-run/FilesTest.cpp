//===- FilesTest.cpp - Names, shapes and content of arrays ----------------===//
#include "Files.h"

#include "strata/lib/Support/Npy.h"
#include "strata/lib/Support/TestFolder.h"

#include <gtest/gtest.h>

namespace strata::run {
namespace {

rt::ModelDescription testModel() {
  rt::ModelDescription model;
  model.vocabularySize = 3;
  model.maxPositions = 100;
  model.pageSize = 4;
  model.rowWidths = {2, 2};
  model.expertWidths = {1};
  model.expertCounts = {4};
  return model;
}

/// Options for `count` prompts of two tokens that may give three new ones: T = 4.
Options testOptions(size_t count) {
  Options options;
  options.prompts.resize(count);
  for (PromptOption &prompt : options.prompts)
    prompt.tokens = {1, 2};
  options.session.maxNewTokens = 3;
  return options;
}

TEST(Files, NumbersGoBeforeTheEnding) {
  EXPECT_EQ(numberedPath("a/F.npy", 0, 1), "a/F.npy");
  EXPECT_EQ(numberedPath("a/F.npy", 0, 2), "a/F-0.npy");
  EXPECT_EQ(numberedPath("a.b/F", 11, 12), "a.b/F-11");
  EXPECT_EQ(numberedPath(".hidden", 1, 2), ".hidden-1");
  EXPECT_EQ(numberedPath("x.tar.npy", 1, 2), "x.tar-1.npy");
}

TEST(Files, OutputsAreCheckedFirst) {
  TestFolder folder;
  Options options = testOptions(2);
  options.logits = folder.file("l.npy");
  options.trace = folder.file("t.json");
  EXPECT_TRUE(checkOutputs(options, testModel()).ok());
  EXPECT_TRUE(folder.names().empty());
  options.rows = folder.file("none/r.npy");
  EXPECT_EQ(checkOutputs(options, testModel()).message(),
            folder.file("none/r-0.npy") + ": can't be written: No such file or directory");
  options.rows = options.logits;
  EXPECT_EQ(checkOutputs(options, testModel()).message(),
            "two outputs would be written to " + folder.file("l-0.npy"));
}

TEST(Files, ModelsWithoutWhatIsAskedFor) {
  rt::ModelDescription model = testModel();
  Options options = testOptions(1);
  options.rows = "/tmp/r.npy";
  model.rowWidths = {};
  EXPECT_EQ(checkOutputs(options, model).message(), "--rows: the model has no indexers");
  model.rowWidths = {2, 3};
  EXPECT_EQ(checkOutputs(options, model).message(),
            "--rows: the model's indexers differ in what they choose: [2, 3]");
  options.rows.clear();
  options.importExperts = "e.npy";
  model.expertWidths = {};
  rt::Prompt prompt{{1, 2}, {}, {}};
  EXPECT_EQ(readImports(options, model, 0, 2, prompt).message(),
            "--import-experts: the model has no mixtures");
}

TEST(Files, ImportsMustHaveTheirShape) {
  TestFolder folder;
  Options options = testOptions(1);
  options.importRows = folder.file("r.npy");
  rt::Prompt prompt{{1, 2}, {}, {}};
  std::vector<int32_t> rows(16, -1);
  ASSERT_TRUE(writeNpy(options.importRows, {2, 4, 2}, rows.data()).ok());
  Status status = readImports(options, testModel(), 0, 2, prompt);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(prompt.importedRows, rows);

  ASSERT_TRUE(writeNpy(options.importRows, {2, 2, 4}, rows.data()).ok());
  EXPECT_EQ(readImports(options, testModel(), 0, 2, prompt).message(),
            options.importRows + ": expected shape [2, 4, 2] (indexers, prompt + new - 1 tokens, "
                                 "choices) but got [2, 2, 4]");
  std::vector<float> floats(16);
  ASSERT_TRUE(writeNpy(options.importRows, {2, 4, 2}, floats.data()).ok());
  EXPECT_FALSE(readImports(options, testModel(), 0, 2, prompt).ok());
  folder.write("r.npy", "nothing");
  EXPECT_FALSE(readImports(options, testModel(), 0, 2, prompt).ok());
}

TEST(Files, WritesWhatWasAskedFor) {
  TestFolder folder;
  Options options = testOptions(2);
  options.logits = folder.file("l.npy");
  options.rows = folder.file("r.npy");
  options.experts = folder.file("e.npy");
  rt::Generation generation;
  generation.processed = 2;
  generation.logits = {0, 1, 2, 3, 4, 5};
  generation.rows = {{0, -1, 0, 1}, {0, -1, 1, -1}};
  generation.experts = {{3, 2}};
  Status status = writeOutputs(options, testModel(), 1, generation);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"e-1.npy", "l-1.npy", "r-1.npy"}));
  Expected<NpyArray<float>> logits = readNpyFloats(folder.file("l-1.npy"));
  ASSERT_TRUE(logits.ok());
  EXPECT_EQ(logits->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(logits->values, generation.logits);
  Expected<NpyArray<int32_t>> rows = readNpyIntegers(folder.file("r-1.npy"));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->shape, (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(rows->values, (std::vector<int32_t>{0, -1, 0, 1, 0, -1, 1, -1}));
  Expected<NpyArray<int32_t>> experts = readNpyIntegers(folder.file("e-1.npy"));
  ASSERT_TRUE(experts.ok());
  EXPECT_EQ(experts->shape, (std::vector<int64_t>{1, 2, 1}));
}

} // namespace
} // namespace strata::run
