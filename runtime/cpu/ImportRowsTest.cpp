//===- ImportRowsTest.cpp -------------------------------------------------===//
#include "strata/runtime/cpu/TestModel.h"

#include <gtest/gtest.h>

using namespace strata;
using namespace strata::rt;

namespace {

constexpr int64_t kRows = 3;

/// A program whose only command takes rows.
struct ImportModel {
  TestModel model{8};
  std::unique_ptr<Executor> executor;

  ImportModel() {
    package::Argument output = TestModel::slotArgument(model.slot(4 * kRows));
    model.add(package::Command::ImportRows,
              package::CreateImportRows(model.builder, &output, kRows, 0), "import_rows");
    ExecutorOptions options;
    options.maxTokens = 4;
    options.maxWanted = 4;
    options.maxPages = 4;
    options.poison = true;
    Expected<std::unique_ptr<Executor>> made = model.finish(options);
    EXPECT_TRUE(made.ok()) << made.status().message();
    executor = std::move(*made);
  }

  std::string error(std::vector<const int32_t *> rows) {
    StepInput input = oneSequence({1, 2});
    input.wanted = {};
    input.importedRows = std::move(rows);
    StepOutput output;
    return executor->step(input, output).message();
  }
};

TEST(ImportRows, describedAsIndexer) {
  ImportModel test;
  EXPECT_EQ(test.executor->model().rowWidths, std::vector<int64_t>{kRows});
  EXPECT_TRUE(test.executor->model().rowsAreInput);
}

TEST(ImportRows, givenBackAsTheyCame) {
  ImportModel test;
  StepInput input = oneSequence({1, 2});
  input.wanted = {};
  std::vector<int32_t> rows = {0, -1, -1, 0, 1, -1}, seen(rows.size());
  input.importedRows = {rows.data()};
  StepOutput output;
  output.rows = {seen.data()};
  Status status = test.executor->step(input, output);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(seen, rows);
}

TEST(ImportRows, refused) {
  ImportModel test;
  EXPECT_EQ(test.error({}), "step: expected 1 arrays of imported rows but got 0");
  EXPECT_EQ(test.error({nullptr}), "import_rows: expected rows for indexer 0 but got none");
  std::vector<int32_t> later = {0, -1, -1, 0, 2, -1};
  EXPECT_EQ(test.error({later.data()}),
            "import_rows: imported rows of indexer 0, token 1 of the step: expected ascending "
            "positions below 2 and then -1 but got 2 at entry 1");
}

} // namespace
