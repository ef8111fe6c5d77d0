//===- Coverage.cpp - What a run of the comparison went through -----------===//
#include "Coverage.h"

#include <algorithm>
#include <cstdio>

namespace strata::test {

namespace {
struct Line {
  const char *text;
  bool mayBeZero = false;
};
} // namespace

static const Line lines[Coverage::CountOfCounts] = {
    {"models"},
    {"  glm_moe_dsa"},
    {"  deepseek_v32"},
    {"  deepseek_v3"},
    {"  llama"},
    {"  mistral"},
    {"  compiled for bf16"},
    {"  stored in fp8 blocks"},
    {"  with scores that are exact"},
    {"  with scores that are nearly tied"},
    {"  with ops that no config asks for"},
    {"runs on the cpu, memory poisoned"},
    {"  on two threads"},
    {"steps"},
    {"  of prefill and decoding"},
    {"  without tokens"},
    {"tokens"},
    {"  at lengths above k"},
    {"  at lengths above the window"},
    {"page borders crossed"},
    {"sequences of length zero"},
    {"sequences that wait in a step"},
    {"runs of 20 = 7 + 13"},
    {"runs of 20 = 1 + 19"},
    {"runs of 20 = 19 + 1"},
    {"runs token by token"},
    {"runs of each sequence alone"},
    {"runs with their own choices imported"},
    {"models without fusion, equal to the bit"},
    {"models within budgets, equal to the bit"},
    {"  runs"},
    {"  of these, with everything near"},
    {"  records found in hot sets"},
    {"  records that were missing"},
    {"  records of the steps' own"},
    {"  bytes moved near"},
    {"  runs with their own choices imported"},
    {"models under schedules not trained for"},
    {"  by pattern"},
    {"  by frequency"},
    {"  by groups"},
    {"rows chosen by scores"},
    {"  with a tie at the k-th"},
    {"  with the plateau of 0.0 at the k-th"},
    {"  of these, with exact scores"},
    {"  that differ", true},
    {"  that differ where all is nearly tied"},
    {"choices of experts"},
    {"  that differ", true},
    {"reruns with the reference's choices"},
};

void Coverage::add(const Coverage &other) {
  for (int i = 0; i < CountOfCounts; ++i)
    counts[i] += other.counts[i];
  largestError = std::max(largestError, other.largestError);
  largestBF16Error = std::max(largestBF16Error, other.largestBF16Error);
}

static std::string line(const char *text, const char *number) {
  char buffer[96];
  std::snprintf(buffer, sizeof buffer, "%-42s%12s\n", text, number);
  return buffer;
}

static std::string number(const char *format, double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

std::string Coverage::table() const {
  std::string text;
  for (int i = 0; i < CountOfCounts; ++i)
    text += line(lines[i].text, std::to_string(counts[i]).c_str());
  text += line("largest error of a logit", number("%.2g", largestError).c_str());
  text += line("largest rms error with bf16", number("%.2g", largestBF16Error).c_str());
  return text;
}

std::string Coverage::complaints() const {
  std::string text;
  for (int i = 0; i < CountOfCounts; ++i)
    if (counts[i] == 0 && !lines[i].mayBeZero)
      text += "never reached: " + std::string(lines[i].text) + "\n";
  auto checkShare = [&](const char *what, int64_t differing, int64_t all) {
    constexpr double kMostDiffering = 1e-3;
    if (double(differing) > kMostDiffering * double(all))
      text += "too many " + std::string(what) + " differ: " + std::to_string(differing) + " of " +
              std::to_string(all) + "\n";
  };
  checkShare("rows", counts[DifferingRows], counts[ScoredRows]);
  checkShare("choices of experts", counts[DifferingExperts], counts[ChosenExperts]);
  return text;
}

} // namespace strata::test
