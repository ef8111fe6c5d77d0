//===- RunTest.cpp - The program, from the command line to its outputs ----===//
#include "strata/lib/Checkpoint/TestSafetensors.h"
#include "strata/lib/Support/Npy.h"
#include "strata/lib/Support/TestFolder.h"
#include "strata/runtime/core/TestPackage.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

namespace strata {
namespace {

struct Outcome {
  int code = -1;
  std::string output, error;
};

/// The test model continues a prompt of n tokens with n − 1, n, n + 1, …
class RunTest : public testing::Test {
protected:
  void SetUp() override { makeModel(256); }

  void makeModel(int64_t vocabulary) {
    Status status = rt::writePackage(folder_.file("m.strata"), rt::makeClockContent(vocabulary));
    ASSERT_TRUE(status.ok()) << status.message();
    folder_.write("model.safetensors",
                  safetensorsFile({{"hands", "F32", "[" + std::to_string(vocabulary) + ",2]",
                                    bytesOf(rt::makeClockWeights(vocabulary))}}));
  }

  /// Runs the program in the folder; `arguments` is a piece of a shell command.
  Outcome run(const std::string &arguments) {
    std::string command =
        "cd '" + folder_.path() + "' && '" STRATA_RUN "' " + arguments + " 2>stderr.txt";
    std::FILE *pipe = ::popen(command.c_str(), "r");
    Outcome outcome;
    char buffer[4096];
    while (size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
      outcome.output.append(buffer, count);
    int status = ::pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.error = folder_.read("stderr.txt");
    return outcome;
  }
  Outcome runModel(const std::string &arguments) {
    return run("m.strata --weights . --chunk 1 " + arguments);
  }
  /// The message of a run that must fail and print nothing else.
  std::string errorOf(const std::string &command) {
    Outcome outcome = run(command);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.output, "");
    std::string prefix = "strata-run: error: ";
    EXPECT_EQ(outcome.error.substr(0, prefix.size()), prefix);
    EXPECT_EQ(outcome.error.back(), '\n');
    std::string message = outcome.error.substr(prefix.size());
    message.pop_back();
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
  }
  std::string modelErrorOf(const std::string &arguments) {
    return errorOf("m.strata --weights . --chunk 1 " + arguments);
  }

  TestFolder folder_;
};

TEST_F(RunTest, OneLinePerPrompt) {
  Outcome outcome = runModel("--prompt-ids 9,9,9 --prompt-ids 5 --max-new-tokens 4");
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.output, "2 3 4 5\n0 1 2 3\n");
  EXPECT_NE(outcome.error.find("prefill: "), std::string::npos);
  EXPECT_NE(outcome.error.find("decode: "), std::string::npos);
  EXPECT_NE(outcome.error.find("resident at the peak"), std::string::npos);
}

TEST_F(RunTest, TextGoesInAndOut) {
  std::string prompt(66, 'x');
  EXPECT_EQ(runModel("--prompt-text " + prompt + " --max-new-tokens 3").output, "ABC\n");
}

TEST_F(RunTest, ScoreOfAText) {
  // After position p, which has no input that matters, byte p is the most likely one.
  folder_.write("text", std::string("\1\0\1\2\3", 5));
  Outcome right = runModel("--score text --window 4");
  ASSERT_EQ(right.code, 0) << right.error;
  EXPECT_NE(right.error.find("windows: 1 of 4 bytes"), std::string::npos);
  folder_.write("text", std::string("\1\x80\x80\x80\x80", 5));
  Outcome wrong = runModel("--score text --window 4");
  // Logits are cosines: opposite hands of the clock differ by two.
  EXPECT_NEAR(std::stod(wrong.output) - std::stod(right.output), 2, 0.01);
}

TEST_F(RunTest, LogitsOfAllTokens) {
  Outcome outcome = runModel("--prompt-ids 1,2,3 --max-new-tokens 2 --logits l.npy");
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  Expected<NpyArray<float>> logits = readNpyFloats(folder_.file("l.npy"));
  ASSERT_TRUE(logits.ok());
  EXPECT_EQ(logits->shape, (std::vector<int64_t>{4, 256}));
  EXPECT_NEAR(logits->values[2 * 256 + 2], 1, 1e-5);
  EXPECT_EQ(runModel("--prompt-ids 1 --prompt-ids 2 --logits l.npy").code, 0);
  EXPECT_TRUE(readNpyFloats(folder_.file("l-1.npy")).ok());
}

TEST_F(RunTest, SequencesGoOnInAnotherRun) {
  ASSERT_EQ(runModel("--prompt-ids 9,9,9 --max-new-tokens 4 --save-sequence s").output,
            "2 3 4 5\n");
  EXPECT_EQ(runModel("--load-sequence s --max-new-tokens 2").output, "6 7\n");
  Outcome outcome =
      runModel("--load-sequence s --prompt-ids 1,1 --max-new-tokens 3 --logits l.npy");
  EXPECT_EQ(outcome.output, "8 9 10\n") << outcome.error;
  Expected<NpyArray<float>> logits = readNpyFloats(folder_.file("l.npy"));
  ASSERT_TRUE(logits.ok());
  EXPECT_EQ(logits->shape, (std::vector<int64_t>{5, 256})); // of what was not loaded
  // Several prompts have a file each.
  ASSERT_EQ(runModel("--prompt-ids 9 --prompt-ids 9,9 --max-new-tokens 2 --save-sequence s").output,
            "0 1\n1 2\n");
  EXPECT_EQ(runModel("--prompt-ids '' --prompt-ids 5 --load-sequence s --max-new-tokens 2").output,
            "2 3\n4 5\n");
  EXPECT_EQ(modelErrorOf("--load-sequence none"),
            "none: can't be opened: No such file or directory");
  EXPECT_EQ(modelErrorOf("--load-sequence m.strata").substr(0, 10), "m.strata: ");
  EXPECT_EQ(modelErrorOf("--prompt-ids 1 --save-sequence none/s"),
            "none/s: can't be written: No such file or directory");
  makeModel(128);
  EXPECT_EQ(modelErrorOf("--load-sequence s-0"), "s-0: vocabulary: expected 128 but got 256");
}

TEST_F(RunTest, Trace) {
  ASSERT_EQ(runModel("--prompt-ids 1,2 --max-new-tokens 1 --trace t.json").code, 0);
  std::string json = folder_.read("t.json");
  EXPECT_NE(json.find("\"name\": \"angles\""), std::string::npos);
  EXPECT_NE(json.find("\"name\": \"prefill\""), std::string::npos);
}

TEST_F(RunTest, StopsAtTheContextLimit) {
  Outcome outcome = runModel("--prompt-ids 1,2 --max-context 3");
  EXPECT_EQ(outcome.output, "1 2\n");
  EXPECT_NE(outcome.error.find("prompt 0: stopped at the context limit of 3 tokens"),
            std::string::npos);
}

TEST_F(RunTest, PrintHelpAndVersion) {
  EXPECT_EQ(run("--print m.strata").output.substr(0, 33), "package version 3 by strata test\n");
  EXPECT_EQ(run("--help").output.substr(0, 6), "usage:");
  EXPECT_EQ(run("--version").output.substr(0, 11), "strata-run ");
}

TEST_F(RunTest, BadPrompts) {
  EXPECT_EQ(modelErrorOf("--prompt-ids 1,256"),
            "token id 256 at position 1 is outside the vocabulary of 256");
  EXPECT_EQ(modelErrorOf("--prompt-ids 1 --prompt-ids -1"),
            "prompt 1: token id -1 at position 0 is outside the vocabulary of 256");
  EXPECT_EQ(modelErrorOf("--prompt-text ''"), "the prompt is empty");
  EXPECT_EQ(modelErrorOf("--prompt-ids ''"), "the prompt is empty");
  EXPECT_EQ(modelErrorOf("--prompt-ids 1,2,3 --max-context 2"),
            "the prompt has 3 tokens but the context is limited to 2");
  EXPECT_EQ(modelErrorOf("--prompt-text " + std::string(101, 'x')),
            "the prompt has 101 tokens but the model has 100 positions");
}

TEST_F(RunTest, TextNeedsTheVocabularyOfBytes) {
  makeModel(16);
  EXPECT_EQ(modelErrorOf("--prompt-text x"),
            "--prompt-text is for vocabularies of the 256 bytes, but the model's has 16 entries: "
            "ids are needed (--prompt-ids)");
}

TEST_F(RunTest, ScoringNeedsTheVocabularyOfBytes) {
  makeModel(16);
  folder_.write("text", "0123456789");
  EXPECT_EQ(modelErrorOf("--score text --window 4"),
            "text: expected a vocabulary of the 256 bytes, which a text is scored by, but the "
            "model's has 16 entries");
}

TEST_F(RunTest, BadFiles) {
  EXPECT_EQ(errorOf("none.strata --weights . --prompt-ids 1"),
            "none.strata: can't be opened: No such file or directory");
  folder_.write("x.mlir", "module {}");
  EXPECT_EQ(errorOf("x.mlir --weights . --prompt-ids 1"),
            "x.mlir: not a Strata package; modules run with --device=reference, or after "
            "strata-compile");
  EXPECT_EQ(errorOf("m.strata --weights none --prompt-ids 1").substr(0, 4), "none");
  EXPECT_EQ(modelErrorOf("--prompt-ids 1 --logits none/l.npy"),
            "none/l.npy: can't be written: No such file or directory");
  EXPECT_EQ(modelErrorOf("--prompt-ids 1 --rows r.npy"), "--rows: the model has no indexers");
  EXPECT_NE(modelErrorOf("--prompt-ids 1 --import-rows r.npy"), "");
  folder_.write("model.safetensors", safetensorsFile({}));
  EXPECT_NE(modelErrorOf("--prompt-ids 1").find("hands"), std::string::npos);
}

TEST_F(RunTest, DamagedPackage) {
  std::string bytes = folder_.read("m.strata");
  folder_.write("x.strata", bytes.substr(0, bytes.size() - 1));
  EXPECT_EQ(errorOf("x.strata --weights . --prompt-ids 1").substr(0, 30),
            "x.strata: package is truncated");
  bytes[8] = 2;
  folder_.write("x.strata", bytes);
  EXPECT_EQ(errorOf("--print x.strata"),
            "x.strata: package of version 2, but this runtime reads version 3");
}

TEST_F(RunTest, MemoryLimit) { EXPECT_NE(modelErrorOf("--prompt-ids 1 --memory-limit 1K"), ""); }

TEST_F(RunTest, ReferenceNeedsAnInputModule) {
  EXPECT_EQ(modelErrorOf("--prompt-ids 1 --device=reference"),
            "m.strata: the package has no input module, which --device=reference runs; give the "
            ".mlir file instead");
}

TEST_F(RunTest, NoSpaceLeft) {
  if (::access("/dev/full", W_OK) != 0)
    GTEST_SKIP() << "there is no /dev/full";
  Outcome outcome = runModel("--prompt-ids 1 --logits /dev/full");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.error.find("strata-run: error: /dev/full: writing failed: No space left"),
            std::string::npos);
  EXPECT_EQ(modelErrorOf("--prompt-ids 1 >/dev/full"), "writing to standard output failed");
}

} // namespace
} // namespace strata
