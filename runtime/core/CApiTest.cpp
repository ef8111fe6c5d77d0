//===- CApiTest.cpp - The C functions, through the shared library ---------===//
#include "strata-rt/strata-rt.h"

#include "strata/lib/Checkpoint/TestSafetensors.h"
#include "strata/lib/Support/TestFolder.h"
#include "strata/runtime/core/TestPackage.h"

#include <gtest/gtest.h>

#include <cstdio>

/// In a C file, so that a C compiler reads the header.
extern "C" int strataHeaderIsC(void);

namespace strata::rt {
namespace {

constexpr int64_t kVocabulary = 16;

class CApi : public testing::Test {
protected:
  void SetUp() override {
    Status status = writePackage(folder_.file("m.strata"), makeClockContent(kVocabulary));
    ASSERT_TRUE(status.ok()) << status.message();
    folder_.write("model.safetensors",
                  safetensorsFile({{"hands", "F32", "[16,2]", bytesOf(makeClockWeights(16))}}));
    ASSERT_EQ(strata_rt_package_open(folder_.file("m.strata").c_str(), &package_), STRATA_RT_OK);
    strata_rt_session_options_init(&options_, sizeof options_);
    options_.chunk = 1; // as the test model needs it
    options_.max_new_tokens = 4;
  }
  void TearDown() override {
    strata_rt_session_destroy(session_);
    strata_rt_package_close(package_);
  }
  strata_rt_status create() {
    return strata_rt_session_create(package_, folder_.path().c_str(), &options_, &session_);
  }

  TestFolder folder_;
  strata_rt_package *package_ = nullptr;
  strata_rt_session *session_ = nullptr;
  strata_rt_session_options options_;
};

TEST(CApiLibrary, HeaderIsC) { EXPECT_EQ(strataHeaderIsC(), 1); }

TEST(CApiLibrary, ExportsItsFunctionsAlone) {
  std::FILE *pipe = ::popen(STRATA_NM " -D --defined-only " STRATA_RT_LIBRARY, "r");
  ASSERT_TRUE(pipe);
  int symbols = 0;
  char line[1024];
  while (std::fgets(line, sizeof line, pipe)) {
    ++symbols;
    EXPECT_NE(std::string(line).find(" T strata_rt_"), std::string::npos) << line;
  }
  EXPECT_EQ(::pclose(pipe), 0);
  EXPECT_EQ(symbols, 21);
}

TEST_F(CApi, Package) {
  EXPECT_STREQ(strata_rt_version(), STRATA_VERSION);
  EXPECT_EQ(strata_rt_package_vocabulary_size(package_), kVocabulary);
  EXPECT_EQ(strata_rt_package_max_positions(package_), 100);
  EXPECT_EQ(strata_rt_package_indexer_count(package_), 0);
  EXPECT_EQ(strata_rt_package_row_width(package_, 0), 0);
}

TEST_F(CApi, Generates) {
  options_.all_logits = 1;
  options_.max_sequences = 2;
  ASSERT_EQ(create(), STRATA_RT_OK) << strata_rt_last_error();
  const int32_t ids[] = {5, 9, 1};
  int64_t first = -1, second = -1, count = 0;
  ASSERT_EQ(strata_rt_session_add_prompt(session_, ids, 3, &first), STRATA_RT_OK);
  ASSERT_EQ(strata_rt_session_add_prompt(session_, ids, 1, &second), STRATA_RT_OK);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  int32_t finished = 1;
  ASSERT_EQ(strata_rt_session_step(session_, &finished), STRATA_RT_OK);
  EXPECT_EQ(finished, 0);
  ASSERT_EQ(strata_rt_session_generate(session_), STRATA_RT_OK) << strata_rt_last_error();
  const int32_t *tokens = nullptr;
  ASSERT_EQ(strata_rt_session_tokens(session_, first, &tokens, &count), STRATA_RT_OK);
  EXPECT_EQ(std::vector<int32_t>(tokens, tokens + count), (std::vector<int32_t>{2, 3, 4, 5}));
  ASSERT_EQ(strata_rt_session_tokens(session_, second, &tokens, &count), STRATA_RT_OK);
  EXPECT_EQ(std::vector<int32_t>(tokens, tokens + count), (std::vector<int32_t>{0, 1, 2, 3}));
  ASSERT_EQ(strata_rt_session_finished(session_, second, &finished), STRATA_RT_OK);
  EXPECT_EQ(finished, 1);
  const float *logits = nullptr;
  ASSERT_EQ(strata_rt_session_logits(session_, first, &logits, &count), STRATA_RT_OK);
  EXPECT_EQ(count, 6);
  EXPECT_NEAR(logits[5 * kVocabulary + 5], 1, 1e-5);
}

TEST_F(CApi, SequencesMove) {
  options_.keep_sequences = 1;
  ASSERT_EQ(create(), STRATA_RT_OK) << strata_rt_last_error();
  const int32_t ids[] = {5, 9, 1};
  int64_t prompt = -1, count = 0;
  const int32_t *tokens = nullptr;
  std::string path = folder_.file("sequence");
  ASSERT_EQ(strata_rt_session_add_prompt(session_, ids, 3, &prompt), STRATA_RT_OK);
  EXPECT_EQ(strata_rt_session_save_sequence(session_, prompt, path.c_str()),
            STRATA_RT_INVALID_ARGUMENT);
  EXPECT_STREQ(strata_rt_last_error(), "prompt 0 has not begun: it can't be saved");
  ASSERT_EQ(strata_rt_session_generate(session_), STRATA_RT_OK);
  ASSERT_EQ(strata_rt_session_save_sequence(session_, prompt, path.c_str()), STRATA_RT_OK)
      << strata_rt_last_error();
  EXPECT_EQ(strata_rt_session_load_sequence(session_, path.c_str(), nullptr, 0, &prompt),
            STRATA_RT_OUT_OF_MEMORY);
  ASSERT_EQ(strata_rt_session_drop_sequence(session_, prompt), STRATA_RT_OK);
  // Seven tokens were saved; the last one, at position 6, is followed by 6.
  ASSERT_EQ(strata_rt_session_load_sequence(session_, path.c_str(), nullptr, 0, &prompt),
            STRATA_RT_OK)
      << strata_rt_last_error();
  EXPECT_EQ(prompt, 1);
  ASSERT_EQ(strata_rt_session_generate(session_), STRATA_RT_OK);
  ASSERT_EQ(strata_rt_session_tokens(session_, prompt, &tokens, &count), STRATA_RT_OK);
  EXPECT_EQ(std::vector<int32_t>(tokens, tokens + count), (std::vector<int32_t>{6, 7, 8, 9}));
  EXPECT_EQ(strata_rt_session_load_sequence(session_, "/none", nullptr, 0, nullptr),
            STRATA_RT_NOT_FOUND);
}

TEST_F(CApi, TellsWhatIsWrong) {
  strata_rt_package *package = package_;
  EXPECT_EQ(strata_rt_package_open("/none", &package), STRATA_RT_NOT_FOUND);
  EXPECT_EQ(package, nullptr);
  EXPECT_STREQ(strata_rt_last_error(), "/none: can't be opened: No such file or directory");
  EXPECT_EQ(strata_rt_package_open(nullptr, &package), STRATA_RT_INVALID_ARGUMENT);
  EXPECT_EQ(strata_rt_package_open("x", nullptr), STRATA_RT_INVALID_ARGUMENT);

  EXPECT_EQ(strata_rt_session_create(package_, "/none", nullptr, &session_), STRATA_RT_NOT_FOUND);
  EXPECT_EQ(session_, nullptr);
  options_.max_sequences = 0;
  EXPECT_EQ(create(), STRATA_RT_INVALID_ARGUMENT);
  EXPECT_STREQ(strata_rt_last_error(), "expected max_sequences of 1 to 1048576 but got 0");
  options_.max_sequences = 1;
  options_.struct_size = 1000;
  EXPECT_EQ(create(), STRATA_RT_INVALID_ARGUMENT);
  options_.struct_size = sizeof options_;
  options_.memory_limit = 1;
  EXPECT_EQ(create(), STRATA_RT_OUT_OF_MEMORY);
  options_.memory_limit = 0;
  ASSERT_EQ(create(), STRATA_RT_OK) << strata_rt_last_error();

  const int32_t outside = 16;
  EXPECT_EQ(strata_rt_session_add_prompt(session_, &outside, 1, nullptr),
            STRATA_RT_INVALID_ARGUMENT);
  EXPECT_STREQ(strata_rt_last_error(), "token id 16 at position 0 is outside the vocabulary of 16");
  EXPECT_EQ(strata_rt_session_add_prompt(session_, nullptr, 0, nullptr),
            STRATA_RT_INVALID_ARGUMENT);
  EXPECT_STREQ(strata_rt_last_error(), "the prompt is empty");
  const int32_t *tokens;
  const float *logits;
  int64_t count;
  EXPECT_EQ(strata_rt_session_tokens(session_, 0, &tokens, &count), STRATA_RT_INVALID_ARGUMENT);
  EXPECT_STREQ(strata_rt_last_error(), "there is no prompt 0");
  const int32_t inside = 3;
  ASSERT_EQ(strata_rt_session_add_prompt(session_, &inside, 1, nullptr), STRATA_RT_OK);
  EXPECT_EQ(strata_rt_session_logits(session_, 0, &logits, &count), STRATA_RT_INVALID_ARGUMENT);
  EXPECT_STREQ(strata_rt_last_error(), "logits are kept with all_logits only");
  EXPECT_EQ(strata_rt_session_rows(session_, 0, 0, &tokens, &count), STRATA_RT_INVALID_ARGUMENT);
}

TEST_F(CApi, TakesOptionsOfAnOlderHeader) {
  // A caller that knows the fields up to chunk alone.
  size_t size = offsetof(strata_rt_session_options, memory_limit);
  options_.memory_limit = 1;
  strata_rt_session_options_init(&options_, size);
  EXPECT_EQ(options_.memory_limit, 1u);
  EXPECT_EQ(create(), STRATA_RT_OK) << strata_rt_last_error();
}

} // namespace
} // namespace strata::rt
