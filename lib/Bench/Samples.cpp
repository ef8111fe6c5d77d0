//===- Samples.cpp - Interleaved measurements -----------------------------===//
#include "strata/lib/Bench/Samples.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <dirent.h>
#include <string>
#include <sys/resource.h>

namespace strata::bench {

Disturbance::Count Disturbance::count() {
  Count count;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  count.switches = usage.ru_nivcsw;
  DIR *threads = opendir("/proc/self/task");
  if (!threads)
    return count;
  while (const dirent *thread = readdir(threads)) {
    std::string path = std::string("/proc/self/task/") + thread->d_name + "/schedstat";
    FILE *file = thread->d_name[0] == '.' ? nullptr : std::fopen(path.c_str(), "re");
    long long ran = 0, waited = 0;
    if (file && std::fscanf(file, "%lld %lld", &ran, &waited) == 2)
      count.waited = std::max<int64_t>(count.waited, 0) + waited;
    if (file)
      std::fclose(file);
  }
  closedir(threads);
  return count;
}

double Disturbance::seconds() const {
  Count now = count();
  if (now.waited >= 0 && before_.waited >= 0)
    return double(now.waited - before_.waited) / 1e9;
  return now.switches != before_.switches ? HUGE_VAL : 0;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  double place = share * double(values.size() - 1);
  size_t below = size_t(place), above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - double(below));
}

double Samples::quantile(double share) const {
  return bench::quantile(quiet_.empty() ? disturbed_ : quiet_, share);
}

std::vector<Samples> measure(const std::vector<std::function<void()>> &candidates, int wanted) {
  using Clock = std::chrono::steady_clock;
  for (const std::function<void()> &run : candidates)
    run();
  std::vector<Samples> all(candidates.size());
  auto isEnough = [&] {
    return std::all_of(all.begin(), all.end(),
                       [&](const Samples &samples) { return samples.quiet() >= size_t(wanted); });
  };
  for (int round = 0; round < 4 * wanted && !isEnough(); ++round)
    for (size_t i = 0; i < candidates.size(); ++i) {
      Disturbance disturbance;
      Clock::time_point begin = Clock::now();
      candidates[i]();
      Clock::time_point end = Clock::now();
      double seconds = std::chrono::duration<double>(end - begin).count();
      all[i].add(seconds, disturbance.seconds() > Disturbance::kMost * seconds);
    }
  return all;
}

} // namespace strata::bench
