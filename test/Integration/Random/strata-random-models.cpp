//===- strata-random-models.cpp - CPU and reference on random models ------===//
#include "RandomCase.h"

#include "strata/lib/Support/TestFolder.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <map>
#include <new>
#include <optional>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace strata;
using namespace strata::test;

static constexpr const char *help =
    R"(usage: strata-random-models [options]

Makes small random models and batches, and compares runs on the cpu with each other (equal to the bit) and with the
reference on the imported module, before sharing and fusion (the equality rule). Models with several indexers run
once more under a schedule that they were not trained for, against the reference on the shared module. One of ten models
runs within budgets of near memory as well, down to the least feasible, with transfers that come late: equal to the bit.
Ends with counts of what it went through. Exits with 1 after a difference, or if something that should be gone through was not.

  --count N    how many (default: 300)
  --seed N     another seed gives other models (default: 1)
  --only CASE  this one alone, in this process, with its description
  --jobs N     processes (default: one for each processor)
)";

namespace {

struct Options {
  uint64_t count = 300, seed = 1, jobs = std::max(1u, std::thread::hardware_concurrency());
  std::optional<uint64_t> only;
};

/// What processes share. Cases are handed out one by one; a case depends on its number alone.
struct Shared {
  static constexpr size_t kMostJobs = 256;
  struct Job {
    int64_t current = -1; ///< the case that runs
    int64_t failures = 0;
    Coverage coverage;
  };
  std::atomic<uint64_t> next{0};
  Job jobs[kMostJobs];
};

} // namespace

static bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; i += 2) {
    std::string_view name = argv[i];
    uint64_t value = 0;
    bool hasValue = false;
    if (i + 1 < argc) {
      std::string_view text = argv[i + 1];
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      hasValue = error == std::errc() && end == text.data() + text.size();
    }
    if (!hasValue)
      return false;
    if (name == "--count")
      options.count = value;
    else if (name == "--seed")
      options.seed = value;
    else if (name == "--only")
      options.only = value;
    else if (name == "--jobs" && value >= 1 && value <= Shared::kMostJobs)
      options.jobs = value;
    else
      return false;
  }
  return true;
}

/// Says what went wrong in one piece, so that processes do not mix their lines.
static void report(const Options &options, uint64_t number, const std::string &text) {
  std::string all = "case " + std::to_string(number) + ": " + text +
                    "again: strata-random-models --seed " + std::to_string(options.seed) +
                    " --only " + std::to_string(number) + "\n\n";
  std::fwrite(all.data(), 1, all.size(), stderr);
}

static bool run(const Options &options, uint64_t number, const std::string &folder,
                Coverage &coverage) {
  RandomCase randomCase(options.seed, number);
  if (options.only)
    std::fputs(randomCase.describe().c_str(), stdout);
  std::string failure = runCase(randomCase, folder, coverage);
  if (!failure.empty())
    report(options, number, failure + "\n" + randomCase.describe());
  return failure.empty();
}

static void work(const Options &options, Shared &shared, Shared::Job &job,
                 const std::string &folder) {
  for (;;) {
    uint64_t number = shared.next++;
    if (number >= options.count)
      return;
    job.current = int64_t(number);
    job.failures += !run(options, number, folder, job.coverage);
    job.current = -1;
  }
}

static pid_t start(const Options &options, Shared &shared, Shared::Job &job,
                   const std::string &folder) {
  pid_t process = ::fork();
  if (process == 0) {
    work(options, shared, job, folder);
    std::fflush(nullptr);
    ::_exit(0);
  }
  if (process < 0) {
    std::perror("strata-random-models: can't start a process");
    ++job.failures;
  }
  return process;
}

/// Processes instead of threads: a crash is found to be that of one case, and the others go on.
static void runAll(const Options &options, Shared &shared) {
  TestFolder folder; // removed by this process, which does not crash
  std::map<pid_t, Shared::Job *> running;
  auto startJob = [&](Shared::Job &job) {
    std::string model = folder.file("model-" + std::to_string(&job - shared.jobs));
    if (pid_t process = start(options, shared, job, model); process > 0)
      running[process] = &job;
  };
  for (uint64_t i = 0; i < options.jobs; ++i)
    startJob(shared.jobs[i]);
  while (!running.empty()) {
    int status = 0;
    pid_t process = ::wait(&status);
    Shared::Job *job = running[process];
    running.erase(process);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      continue;
    ++job->failures;
    if (job->current < 0)
      continue;
    uint64_t number = uint64_t(job->current);
    report(options, number,
           "the process ended with status " + std::to_string(status) + "\n" +
               RandomCase(options.seed, number).describe());
    startJob(*job);
  }
}

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(help, argc == 2 && std::string_view(argv[1]) == "--help" ? stdout : stderr);
    return argc == 2 && std::string_view(argv[1]) == "--help" ? 0 : 1;
  }
  if (options.only) {
    Coverage coverage;
    TestFolder folder;
    bool passed = run(options, *options.only, folder.file("model"), coverage);
    std::fputs(coverage.table().c_str(), stdout);
    return passed ? 0 : 1;
  }

  void *memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("strata-random-models: no memory to share");
    return 1;
  }
  auto *shared = new (memory) Shared;
  auto begin = std::chrono::steady_clock::now();
  runAll(options, *shared);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Coverage coverage;
  bool passed = true;
  for (const Shared::Job &job : shared->jobs) {
    coverage.add(job.coverage);
    passed &= job.failures == 0;
  }
  std::printf("%s%-42s%12.1f\n", coverage.table().c_str(), "models per second",
              double(options.count) / seconds);
  std::fflush(stdout);
  if (!passed)
    return 1;
  std::string complaints = coverage.complaints();
  std::fputs(complaints.c_str(), stderr);
  return complaints.empty() ? 0 : 1;
}
