//===- Report.cpp - What strata-run says on standard error ----------------===//
#include "Report.h"

#include "Counters.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace strata::run {

ProgressBar::ProgressBar() : terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (shown_)
    std::fputs("\r\033[K", stderr); // clear the line
}

void ProgressBar::update(const rt::Session &session) {
  auto now = std::chrono::steady_clock::now();
  if (!terminal_ || (shown_ && now - last_ < std::chrono::milliseconds(100)))
    return;
  shown_ = true;
  last_ = now;
  int64_t done = session.processedTokens(), all = session.plannedTokens();
  constexpr int64_t kWidth = 40;
  char bar[kWidth + 1] = {};
  for (int64_t i = 0; i < kWidth; ++i)
    bar[i] = i * all < done * kWidth ? '#' : '.';
  std::fprintf(stderr, "\r[%s] %" PRId64 "/%" PRId64 " tokens", bar, done, all);
  std::fflush(stderr);
}

/// The largest resident size that the process has had, in bytes; 0 if the system does not say.
static uint64_t peakMemory() {
  std::FILE *file = std::fopen("/proc/self/status", "r");
  if (!file)
    return 0;
  uint64_t kibibytes = 0;
  char line[256];
  while (std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "VmHWM: %" SCNu64, &kibibytes) == 1)
      break;
  std::fclose(file);
  return kibibytes * 1024;
}

static void printPhase(const char *name, int64_t tokens, double seconds) {
  if (tokens == 0)
    return;
  std::fprintf(stderr, "%s: %" PRId64 " tokens in %.3f s (%.1f tokens/s)\n", name, tokens, seconds,
               seconds > 0 ? double(tokens) / seconds : 0.0);
}

static void printMemory(const rt::Executor &executor) {
  constexpr double kMebi = 1 << 20;
  std::fprintf(stderr,
               "memory: %.1f MiB for activations, caches and widened weights; %.1f MiB resident at "
               "the peak\n",
               double(executor.memoryBytes()) / kMebi, double(peakMemory()) / kMebi);
}

static void warnOfNaN(int64_t scores) {
  if (scores != 0)
    std::fprintf(stderr,
                 "strata-run: warning: %" PRId64 " index scores were NaN and counted as -inf\n",
                 scores);
}

void printSummary(const rt::Session &session, const rt::Executor &executor) {
  const rt::SessionStatistics &statistics = session.statistics();
  printPhase("prefill", statistics.prefillTokens, statistics.prefillSeconds);
  printPhase("decode", statistics.decodeTokens, statistics.decodeSeconds);
  printMemory(executor);
  if (const rt::TierCounters *counters = executor.tierCounters())
    std::fputs(describeCounters(*counters).c_str(), stderr);
  for (int64_t i = 0; i < session.promptCount(); ++i)
    if (session.generation(i).finish == rt::FinishReason::ContextLimit)
      std::fprintf(stderr,
                   "prompt %" PRId64 ": stopped at the context limit of %" PRId64 " tokens\n", i,
                   session.generation(i).processed);
  warnOfNaN(statistics.nanScores);
}

void printScoreSummary(size_t windows, int64_t window, const rt::ScoreStatistics &statistics,
                       const rt::Executor &executor) {
  std::fprintf(stderr, "windows: %zu of %" PRId64 " bytes\n", windows, window);
  printPhase("score", statistics.tokens, statistics.seconds);
  printMemory(executor);
  warnOfNaN(statistics.nanScores);
}

} // namespace strata::run
