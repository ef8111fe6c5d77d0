//===- SequenceFileTest.cpp - Sequences that leave a session --------------===//
#include "strata/runtime/core/SequenceFile.h"

#include "strata/lib/Checkpoint/TestSafetensors.h"
#include "strata/lib/Support/TestFolder.h"
#include "strata/runtime/core/FakeExecutor.h"
#include "strata/runtime/core/Greedy.h"
#include "strata/runtime/core/Session.h"

#include <numeric>

namespace strata::rt {
namespace {

ModelDescription testModel() {
  ModelDescription model;
  model.vocabularySize = 50;
  model.maxPositions = 100;
  model.pageSize = 4;
  return model;
}

std::vector<int32_t> promptOf(int64_t length) {
  std::vector<int32_t> tokens(static_cast<size_t>(length));
  std::iota(tokens.begin(), tokens.end(), 1);
  return tokens;
}

/// What the fake model says after these tokens, without steps, pages and sessions.
std::vector<int32_t> expectedTokens(std::vector<int32_t> tokens, int64_t count) {
  std::vector<int32_t> result;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<float> logits = FakeExecutor::logitsOf(tokens, 50);
    result.push_back(greedyToken(logits.data(), 50));
    tokens.push_back(result.back());
  }
  return result;
}

std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// An executor and a session for two sequences of at most 40 tokens.
struct TestSession {
  explicit TestSession(int64_t newTokens, bool keep = true, int64_t chunk = 3) {
    options.maxNewTokens = newTokens;
    options.maxContext = 40;
    options.chunk = chunk;
    options.keepSequences = keep;
    EXPECT_TRUE(planExecutor(testModel(), options, {40, 40}, limits).ok());
    executor = std::make_unique<FakeExecutor>(testModel(), limits);
    session = std::make_unique<Session>(*executor, limits, options);
  }
  TestSession &add(const std::vector<int32_t> &tokens) {
    EXPECT_TRUE(session->addPrompt({tokens, {}, {}}).ok());
    return *this;
  }
  TestSession &finish() {
    while (!session->finished())
      if (Status status = session->step(); !status.ok()) {
        ADD_FAILURE() << status.message();
        break;
      }
    return *this;
  }

  SessionOptions options;
  ExecutorOptions limits;
  std::unique_ptr<FakeExecutor> executor;
  std::unique_ptr<Session> session;
};

class SequenceFileTest : public testing::Test {
protected:
  /// A file with 10 + 4 tokens, 13 of which went through the model.
  void save(const std::string &name) {
    TestSession first(4);
    first.add(promptOf(10)).finish();
    Status status = first.session->saveSequence(0, folder_.file(name));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  /// Why a file is refused; empty if it isn't.
  std::string refusalOf(const std::string &name) {
    Expected<SequenceFile> file = SequenceFile::open(folder_.file(name));
    if (!file.ok())
      return file.status().message();
    TestSession other(5);
    return other.session->addPrompt({{}, {}, {}}, &*file).status().message();
  }

  TestFolder folder_;
};

TEST_F(SequenceFileTest, GoesOnInAnotherSession) {
  save("s");
  Expected<SequenceFile> file = SequenceFile::open(folder_.file("s"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::vector<int32_t> saved = joined(promptOf(10), expectedTokens(promptOf(10), 4));
  EXPECT_EQ(file->tokens(), saved);
  EXPECT_EQ(file->processed(), 13);

  TestSession second(5);
  second.add(promptOf(7)); // so that the pages are other ones
  ASSERT_TRUE(second.session->step().ok());
  Expected<int64_t> number = second.session->addPrompt({{}, {}, {}}, &*file);
  ASSERT_TRUE(number.ok()) << number.status().message();
  second.finish();
  const Generation &generation = second.session->generation(*number);
  EXPECT_EQ(generation.tokens, expectedTokens(saved, 5));
  EXPECT_EQ(generation.loaded, 13);
  EXPECT_EQ(generation.computed(), 5);
  EXPECT_EQ(second.session->generation(0).tokens, expectedTokens(promptOf(7), 5));
}

TEST_F(SequenceFileTest, TokensMayFollow) {
  save("s");
  Expected<SequenceFile> file = SequenceFile::open(folder_.file("s"));
  ASSERT_TRUE(file.ok());
  TestSession second(5);
  ASSERT_TRUE(second.session->addPrompt({{30, 31, 32}, {}, {}}, &*file).ok());
  second.finish();
  std::vector<int32_t> all = joined(file->tokens(), {30, 31, 32});
  EXPECT_EQ(second.session->generation(0).tokens, expectedTokens(all, 5));
}

TEST_F(SequenceFileTest, UnfinishedOnesMoveToo) {
  for (int64_t steps = 1; steps < 8; ++steps) {
    TestSession first(6, /*keep=*/false);
    first.add(promptOf(10));
    for (int64_t i = 0; i < steps; ++i)
      ASSERT_TRUE(first.session->step().ok());
    ASSERT_TRUE(first.session->saveSequence(0, folder_.file("s")).ok());
    Expected<SequenceFile> file = SequenceFile::open(folder_.file("s"));
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->processed(), steps < 4 ? 3 * steps : 10 + steps - 4);
    TestSession second(3);
    ASSERT_TRUE(second.session->addPrompt({{}, {}, {}}, &*file).ok());
    second.finish();
    EXPECT_EQ(second.session->generation(0).tokens, expectedTokens(file->tokens(), 3));
    // Saving changed nothing.
    EXPECT_EQ(first.finish().session->generation(0).tokens, expectedTokens(promptOf(10), 6));
  }
}

TEST_F(SequenceFileTest, KeptOnesHaveTheirRoomUntilTheyAreDropped) {
  TestSession test(2);
  test.add(promptOf(4)).add(promptOf(5)).finish();
  Session &session = *test.session;
  EXPECT_EQ(session.addPrompt({promptOf(4), {}, {}}).status().message(),
            "all 2 sequences are in use");
  ASSERT_TRUE(session.dropSequence(0).ok());
  ASSERT_TRUE(session.dropSequence(0).ok());
  EXPECT_EQ(session.saveSequence(0, folder_.file("s")).message(),
            "prompt 0 is finished and its sequence was not kept: it can't be saved");
  EXPECT_TRUE(session.saveSequence(1, folder_.file("s")).ok());
  ASSERT_TRUE(session.addPrompt({promptOf(6), {}, {}}).ok());
  EXPECT_EQ(session.saveSequence(2, folder_.file("s")).message(),
            "prompt 2 has not begun: it can't be saved");
  EXPECT_EQ(session.dropSequence(2).message(), "prompt 2 is not finished: it can't be dropped");
  EXPECT_EQ(session.dropSequence(3).message(), "there is no prompt 3");
  EXPECT_EQ(session.saveSequence(-1, folder_.file("s")).message(), "there is no prompt -1");
  EXPECT_EQ(session.saveSequence(1, folder_.file("none/s")).message(),
            folder_.file("none/s") + ": can't be written: No such file or directory");
  test.finish();
  EXPECT_EQ(session.generation(2).tokens, expectedTokens(promptOf(6), 2));
}

TEST_F(SequenceFileTest, LoadingThatFailsLeavesTheRoom) {
  save("s");
  Expected<SequenceFile> file = SequenceFile::open(folder_.file("s"));
  ASSERT_TRUE(file.ok());
  TestSession test(2);
  for (int i = 0; i < 3; ++i) {
    test.executor->failNext = true;
    EXPECT_EQ(test.session->addPrompt({{}, {}, {}}, &*file).status().message(),
              "the fake executor was told to fail");
  }
  test.add(promptOf(4)).add(promptOf(5)).finish();
  EXPECT_EQ(test.session->generation(1).tokens, expectedTokens(promptOf(5), 2));
}

TEST_F(SequenceFileTest, NoDamageGoesUnseen) {
  save("s");
  EXPECT_EQ(refusalOf("s"), "");
  std::string bytes = folder_.read("s");
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = char(damaged[i] ^ (1 << i % 7));
    folder_.write("d", damaged);
    EXPECT_NE(refusalOf("d"), "") << "byte " << i << " of " << bytes.size();
  }
  for (size_t size = 0; size < bytes.size(); size += 7) {
    folder_.write("d", bytes.substr(0, size));
    EXPECT_NE(refusalOf("d"), "") << "cut to " << size << " bytes";
  }
}

TEST_F(SequenceFileTest, DamageIsNamed) {
  save("s");
  std::string bytes = folder_.read("s");
  size_t page = bytes.size() - 8 * (2 + 4) - 2 * 16; // the third of four pages of 16 bytes
  bytes[page + 1] ^= 1;
  folder_.write("d", bytes);
  EXPECT_EQ(refusalOf("d"),
            folder_.file("d") +
                ": ids: checksum of page 2 (positions 8 to 11) differs: the file is damaged");
  EXPECT_EQ(refusalOf("none"),
            folder_.file("none") + ": can't be opened: No such file or directory");
  folder_.write("weights", safetensorsFile({{"w", "F32", "[1]", "0123"}}));
  EXPECT_EQ(refusalOf("weights"), folder_.file("weights") +
                                      ": not a saved sequence: expected tensors descriptor (u8), "
                                      "tokens (i32) and checksums (u64)");
}

TEST_F(SequenceFileTest, OtherModelsRefuse) {
  save("s");
  Expected<SequenceFile> file = SequenceFile::open(folder_.file("s"));
  ASSERT_TRUE(file.ok());
  TestSession other(5);
  other.executor->identity = R"({"model":"another"})";
  Expected<int64_t> number = other.session->addPrompt({{}, {}, {}}, &*file);
  EXPECT_EQ(number.status().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(number.status().message(),
            folder_.file("s") + R"(: model: expected "another" but got "fake")");
}

TEST_F(SequenceFileTest, LongerThanTheContext) {
  save("s");
  Expected<SequenceFile> file = SequenceFile::open(folder_.file("s"));
  ASSERT_TRUE(file.ok());
  TestSession other(5);
  EXPECT_EQ(other.session->addPrompt({promptOf(27), {}, {}}, &*file).status().message(),
            "the prompt has 41 tokens but the context is limited to 40");
}

TEST(CacheIdentity, FirstDifferenceIsNamed) {
  const std::string own =
      R"({"model":"m","caches":[{"name":"keys","page_size":4},{"name":"index keys","page_size":4,"hadamard":true}]})";
  auto refusal = [&](std::string_view found) { return compareIdentities(own, found).message(); };
  EXPECT_EQ(refusal(own), "");
  // The order of fields is of no account.
  EXPECT_EQ(
      refusal(
          R"({"caches":[{"page_size":4,"name":"keys"},{"hadamard":true,"name":"index keys","page_size":4}],"model":"m"})"),
      "");
  EXPECT_EQ(
      refusal(
          R"({"model":"m","caches":[{"name":"keys","page_size":4},{"name":"index keys","page_size":4,"hadamard":false}]})"),
      R"(caches["index keys"].hadamard: expected true but got false)");
  EXPECT_EQ(refusal(R"({"model":"m","caches":[{"name":"keys","page_size":4}]})"),
            R"(caches["index keys"]: expected it to be there but got nothing)");
  EXPECT_EQ(
      refusal(R"({"model":"m","caches":[{"name":"index keys","page_size":4,"hadamard":true}]})"),
      R"(caches["keys"]: expected it to be there but got nothing)");
  EXPECT_EQ(
      refusal(R"({"model":"m"})"),
      R"(caches: expected [{"name":"keys","page_size":4},{"hadamard":true,"name":"index keys","page_size":... but got nothing)");
  EXPECT_EQ(refusal(R"({"model":3})"), R"(model: expected "m" but got 3)");
  EXPECT_EQ(refusal("[]"), "identity: expected a JSON object but got []");
  EXPECT_NE(refusal("{"), "");
}

} // namespace
} // namespace strata::rt
