//===- OptionsTest.cpp - Command lines, good and bad ----------------------===//
#include "Options.h"

#include <gtest/gtest.h>

namespace strata::run {
namespace {

std::string errorOf(const std::vector<std::string> &arguments) {
  Expected<Options> options = parseOptions(arguments);
  return options.ok() ? "" : options.status().message();
}

/// What is wrong with one option beside a good command line.
std::string errorWith(std::vector<std::string> extra) {
  std::vector<std::string> arguments{"m.strata", "--weights", "d", "--prompt-ids", "1"};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return errorOf(arguments);
}

TEST(Options, AllOfThem) {
  Expected<Options> options = parseOptions({"m.strata",
                                            "--weights=d",
                                            "--prompt-ids",
                                            "1,2,3",
                                            "--prompt-text=ab",
                                            "--max-new-tokens",
                                            "5",
                                            "--device",
                                            "reference",
                                            "--logits=l.npy",
                                            "--rows",
                                            "r.npy",
                                            "--experts=e.npy",
                                            "--trace=t.json",
                                            "--import-rows=i",
                                            "--import-experts",
                                            "j",
                                            "--ignore-eos",
                                            "--chunk=7",
                                            "--max-context",
                                            "100",
                                            "--memory-limit=2G",
                                            "--threads=3",
                                            "--late-transfers=9",
                                            "--poison"});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->lateTransfers, 9);
  EXPECT_EQ(options->input, "m.strata");
  EXPECT_EQ(options->weights, "d");
  ASSERT_EQ(options->prompts.size(), 2u);
  EXPECT_EQ(options->prompts[0].tokens, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_FALSE(options->prompts[0].isText);
  EXPECT_EQ(options->prompts[1].tokens, (std::vector<int32_t>{'a', 'b'}));
  EXPECT_TRUE(options->prompts[1].isText);
  EXPECT_EQ(options->device, Device::Reference);
  EXPECT_EQ(options->session.maxNewTokens, 5);
  EXPECT_EQ(options->session.chunk, 7);
  EXPECT_EQ(options->session.maxContext, 100);
  EXPECT_TRUE(options->session.ignoreEos);
  EXPECT_TRUE(options->session.allLogits);
  EXPECT_TRUE(options->session.keepRows);
  EXPECT_TRUE(options->session.keepExperts);
  EXPECT_EQ(options->logits, "l.npy");
  EXPECT_EQ(options->rows, "r.npy");
  EXPECT_EQ(options->experts, "e.npy");
  EXPECT_EQ(options->trace, "t.json");
  EXPECT_EQ(options->importRows, "i");
  EXPECT_EQ(options->importExperts, "j");
  EXPECT_EQ(options->memoryLimit, uint64_t(2) << 30);
  EXPECT_EQ(options->threads, 3);
  EXPECT_TRUE(options->poison);
}

TEST(Options, BytesAboveAsciiAreTokens) {
  Expected<Options> options = parseOptions({"m", "--weights=d", "--prompt-text", "\xc3\xa9"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->prompts[0].tokens, (std::vector<int32_t>{0xc3, 0xa9}));
}

TEST(Options, Incomplete) {
  EXPECT_EQ(errorOf({}), "expected a package; see --help");
  EXPECT_EQ(errorOf({"m", "--prompt-ids=1"}), "--weights is missing: the folder of the checkpoint");
  EXPECT_EQ(errorOf({"m", "--weights=d"}),
            "expected at least one --prompt-ids or --prompt-text, or --score");
  EXPECT_EQ(errorOf({"--help"}), "");
  EXPECT_EQ(errorOf({"--version"}), "");
  EXPECT_EQ(errorOf({"--print", "m"}), "");
  EXPECT_EQ(errorOf({"--print"}), "expected a package; see --help");
}

TEST(Options, Scoring) {
  Expected<Options> options =
      parseOptions({"m", "--weights=d", "--score=t", "--window=64", "--recall", "--chunk=32"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->score, "t");
  EXPECT_EQ(options->window, 64);
  EXPECT_TRUE(options->recall);
  EXPECT_EQ(errorOf({"m", "--score=t"}), "--weights is missing: the folder of the checkpoint");
  EXPECT_EQ(errorWith({"--window=64"}), "--window is for --score, which is missing");
  EXPECT_EQ(errorWith({"--recall"}), "--recall is for --score, which is missing");
  EXPECT_EQ(errorWith({"--score=t"}), "--prompt-ids is for prompts, not for --score");
  EXPECT_EQ(errorOf({"m", "--weights=d", "--score=t", "--logits=l"}),
            "--logits is for prompts, not for --score");
  EXPECT_EQ(errorOf({"m", "--weights=d", "--score=t", "--window=0"}),
            "--window: expected a number from 1 to 1048576 but got '0'");
}

TEST(Options, Sequences) {
  Expected<Options> options = parseOptions({"m", "--weights=d", "--load-sequence=s"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->loadSequence, "s");
  ASSERT_EQ(options->prompts.size(), 1u); // which adds nothing
  EXPECT_TRUE(options->prompts[0].tokens.empty());
  EXPECT_FALSE(options->session.keepSequences);
  options = parseOptions({"m", "--weights=d", "--prompt-ids=1", "--save-sequence", "t"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->saveSequence, "t");
  EXPECT_EQ(options->prompts.size(), 1u);
  EXPECT_TRUE(options->session.keepSequences);
  EXPECT_EQ(errorWith({"--save-sequence=t", "--device=reference"}),
            "--save-sequence needs --device=cpu");
  EXPECT_EQ(errorOf({"m", "--weights=d", "--score=t", "--load-sequence=s"}),
            "--load-sequence is for prompts, not for --score");
}

TEST(Options, Unknown) {
  EXPECT_EQ(errorWith({"--frobnicate"}), "unknown option '--frobnicate'; see --help");
  EXPECT_EQ(errorWith({"--frob=1"}), "unknown option '--frob'; see --help");
  EXPECT_EQ(errorWith({"-x"}), "unknown option '-x'; see --help");
  EXPECT_EQ(errorWith({"n.strata"}), "expected one package but got 'm.strata' and 'n.strata'");
}

TEST(Options, BadValues) {
  EXPECT_EQ(errorWith({"--chunk"}), "--chunk: its value is missing");
  EXPECT_EQ(errorWith({"--chunk=0"}), "--chunk: expected a number from 1 to 1048576 but got '0'");
  EXPECT_EQ(errorWith({"--chunk=7x"}), "--chunk: expected a number from 1 to 1048576 but got '7x'");
  EXPECT_EQ(errorWith({"--max-new-tokens="}),
            "--max-new-tokens: expected a number from 1 to 2147483647 but got ''");
  EXPECT_EQ(errorWith({"--max-new-tokens=99999999999999999999"}),
            "--max-new-tokens: expected a number from 1 to 2147483647 but got "
            "'99999999999999999999'");
  EXPECT_EQ(errorWith({"--poison=1"}), "--poison takes no value");
  EXPECT_EQ(errorWith({"--trace="}), "--trace: expected a name but got nothing");
  EXPECT_EQ(errorWith({"--device=cuda"}), "--device: expected cpu or reference but got 'cuda'");
  EXPECT_EQ(errorWith({"--memory-limit=8T"}),
            "--memory-limit: expected a size such as 512M or 8G but got '8T'");
  EXPECT_EQ(errorWith({"--memory-limit=99999999999G"}),
            "--memory-limit: expected a size such as 512M or 8G but got '99999999999G'");
}

TEST(Options, BadIds) {
  EXPECT_EQ(errorWith({"--prompt-ids=1,x"}),
            "--prompt-ids: expected token ids such as 1,2,3 but got 'x' at position 1");
  EXPECT_EQ(errorWith({"--prompt-ids=1,,2"}),
            "--prompt-ids: expected token ids such as 1,2,3 but got '' at position 1");
  EXPECT_EQ(errorWith({"--prompt-ids=1,"}),
            "--prompt-ids: expected a token id after the last comma");
  EXPECT_EQ(errorWith({"--prompt-ids=5000000000"}),
            "--prompt-ids: token id 5000000000 at position 0 is out of range");
}

} // namespace
} // namespace strata::run
