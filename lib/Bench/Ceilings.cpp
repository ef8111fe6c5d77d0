//===- Ceilings.cpp - What this machine can do at most --------------------===//
#include "strata/lib/Bench/Ceilings.h"

#include "strata/lib/Bench/Kernels.h"
#include "strata/lib/Support/ElementType.h"
#include "strata/runtime/cpu/Arena.h"
#include "strata/runtime/cpu/ThreadPool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <random>
#include <sched.h>

namespace strata::bench {

namespace {

/// The part of the buffer that one sample reads: parts follow each other and begin anew.
constexpr uint64_t kParts = 32;
/// What a loop of additions takes some milliseconds for.
constexpr int64_t kSteps = 1 << 20;
/// Ranges are handed to threads in pieces of so many bytes.
constexpr int64_t kPiece = 1 << 16;

/// Keeps the calling thread on one processor while it lives. Workers of a pool have theirs.
class Pinned {
public:
  Pinned() {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0)
      return;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor)
      if (CPU_ISSET(processor, &before_)) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        isPinned_ = sched_setaffinity(0, sizeof one, &one) == 0;
        return;
      }
  }
  ~Pinned() {
    if (isPinned_)
      (void)sched_setaffinity(0, sizeof before_, &before_);
  }

private:
  cpu_set_t before_;
  bool isPinned_ = false;
};

class Measurement {
public:
  Measurement(const CeilingOptions &options, rt::ThreadPool &pool, const std::byte *data)
      : options_(options), pool_(pool), data_(data), kernels_(findKernels()) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-0.9f, 0.9f);
    for (float &value : floats_)
      value = uniform(random);
    for (uint16_t &value : halves_)
      value = roundToBF16(uniform(random));
  }

  Ceilings run();

private:
  /// Something to measure: what runs, and how much it does.
  struct Candidate {
    Line line;
    double amount = 0; ///< bytes or operations of a run
    std::function<void()> run;
  };
  void addRead();
  void addGather(int64_t rowBytes, Prefetch prefetch);
  void addOperations();
  Candidate &add(const char *name, std::string shape, std::string variant, const char *unit);

  const CeilingOptions &options_;
  rt::ThreadPool &pool_;
  const std::byte *data_;
  const Kernels &kernels_;
  std::array<float, 64> floats_;
  std::array<uint16_t, 128> halves_;
  std::vector<Candidate> candidates_;
  std::vector<std::vector<uint32_t>> rows_; ///< in random order, of each row size
  /// Keeps the compiler from leaving loops out.
  std::atomic<uint64_t> sink_{0};
};

} // namespace

Measurement::Candidate &Measurement::add(const char *name, std::string shape, std::string variant,
                                         const char *unit) {
  Candidate candidate;
  candidate.line.name = name;
  candidate.line.shape = std::move(shape);
  candidate.line.variant = std::string(kernels_.name) + ", " + std::move(variant) +
                           std::to_string(pool_.threads()) + " threads";
  candidate.line.unit = unit;
  candidates_.push_back(std::move(candidate));
  return candidates_.back();
}

static std::string sizeText(uint64_t bytes) {
  return bytes < 1 << 20 ? std::to_string(bytes >> 10) + " KiB"
                         : std::to_string(bytes >> 20) + " MiB";
}

void Measurement::addRead() {
  int64_t pieces = int64_t(options_.bufferBytes / kParts) / kPiece;
  Candidate &candidate =
      add("read", sizeText(uint64_t(pieces * kPiece)) + " of " + sizeText(options_.bufferBytes), "",
          "GB/s");
  candidate.amount = double(pieces * kPiece);
  candidate.run = [this, pieces, part = uint64_t(0)]() mutable {
    const std::byte *begin = data_ + part++ % kParts * uint64_t(pieces * kPiece);
    pool_.parallelFor(pieces, 1, [&](int64_t first, int64_t end, int) {
      sink_ += kernels_.read(begin + first * kPiece, size_t((end - first) * kPiece));
    });
  };
}

void Measurement::addGather(int64_t rowBytes, Prefetch prefetch) {
  const std::vector<uint32_t> &rows = rows_.back();
  int64_t count = int64_t(rows.size() / kParts);
  static constexpr const char *kNames[] = {"no prefetch, ", "4 rows ahead to the first level, ",
                                           "4 rows ahead to the second level, "};
  Candidate &candidate = add(
      "gather", "rows of " + std::to_string(rowBytes) + " B over " + sizeText(options_.bufferBytes),
      kNames[int(prefetch)], "GB/s");
  candidate.amount = double(count * rowBytes);
  candidate.run = [this, rowBytes, prefetch, count, &rows, part = uint64_t(0)]() mutable {
    const uint32_t *begin = rows.data() + part++ % kParts * uint64_t(count);
    pool_.parallelFor(count, 64, [&](int64_t first, int64_t end, int) {
      sink_ +=
          kernels_.gather(data_, size_t(rowBytes), begin + first, size_t(end - first), prefetch);
    });
  };
}

void Measurement::addOperations() {
  int64_t pieces = pool_.threads() * 8, steps = kSteps / 8;
  Candidate &add32 = add("multiply-add f32", "12 sums of 16", "", "GFLOP/s");
  add32.amount = 2.0 * double(pieces * steps) * Kernels::kMultiplyAdds;
  add32.run = [this, pieces, steps] {
    pool_.parallelFor(pieces, 1, [&](int64_t first, int64_t end, int) {
      sink_ += uint64_t(kernels_.multiplyAdd(floats_.data(), (end - first) * steps) != 0);
    });
  };
  if (!kernels_.dot)
    return;
  Candidate &dots = add("dot bf16", "12 sums of 16 pairs", "", "GFLOP/s");
  dots.amount = 2.0 * double(pieces * steps) * Kernels::kDots;
  dots.run = [this, pieces, steps] {
    pool_.parallelFor(pieces, 1, [&](int64_t first, int64_t end, int) {
      sink_ += uint64_t(kernels_.dot(halves_.data(), (end - first) * steps) != 0);
    });
  };
}

Ceilings Measurement::run() {
  addRead();
  rows_.reserve(options_.recordBytes.size()); // candidates refer to the lists
  std::mt19937 random(2);
  for (int64_t rowBytes : options_.recordBytes) {
    std::vector<uint32_t> rows(options_.bufferBytes / uint64_t(rowBytes));
    std::iota(rows.begin(), rows.end(), 0);
    std::shuffle(rows.begin(), rows.end(), random);
    rows_.push_back(std::move(rows));
    for (Prefetch prefetch : {Prefetch::None, Prefetch::ToFirstLevel, Prefetch::ToSecondLevel})
      addGather(rowBytes, prefetch);
  }
  addOperations();

  std::vector<std::function<void()>> runs;
  for (const Candidate &candidate : candidates_)
    runs.push_back(candidate.run);
  std::vector<Samples> samples = measure(runs, options_.samples);
  Ceilings ceilings;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    Line &line = candidates_[i].line;
    line.set(samples[i]);
    line.rate = candidates_[i].amount / line.minimum;
    line.boundSeconds = line.minimum;
    if (line.name == "read")
      ceilings.readRate = *line.rate;
    else if (line.name == "dot bf16")
      ceilings.bf16Rate = *line.rate;
    else if (line.name == "multiply-add f32")
      ceilings.f32Rate = *line.rate;
  }
  for (size_t size = 0; size < rows_.size(); ++size) {
    double best = 0;
    for (size_t i = 1 + 3 * size; i < 4 + 3 * size; ++i)
      best = std::max(best, *candidates_[i].line.rate);
    ceilings.gatherRates.push_back(best);
    // The bound of a form without the best prefetch is the form with it.
    for (size_t i = 1 + 3 * size; i < 4 + 3 * size; ++i)
      candidates_[i].line.boundSeconds = candidates_[i].amount / best;
  }
  for (Candidate &candidate : candidates_)
    ceilings.lines.push_back(std::move(candidate.line));
  return ceilings;
}

/// Words of no pattern: processors and memory treat zeros, and pages of them, better.
static void fillRandomly(rt::ThreadPool &pool, std::byte *data, uint64_t bytes) {
  auto *words = reinterpret_cast<uint64_t *>(data);
  pool.parallelFor(int64_t(bytes / kPiece), 1, [&](int64_t first, int64_t end, int) {
    for (int64_t piece = first; piece < end; ++piece) {
      uint64_t state = 0x9e3779b97f4a7c15 * uint64_t(piece + 1);
      for (int64_t i = piece * kPiece / 8; i < (piece + 1) * kPiece / 8; ++i) {
        // xorshift64: Marsaglia, "Xorshift RNGs", 2003.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        words[i] = state;
      }
    }
  });
}

Expected<Ceilings> measureCeilings(const CeilingOptions &options) {
  Expected<std::unique_ptr<rt::ThreadPool>> pool = rt::ThreadPool::create(options.threads);
  if (!pool.ok())
    return pool.status();
  Expected<rt::Memory> buffer = rt::Memory::allocate(options.bufferBytes, "the measured buffer");
  if (!buffer.ok())
    return buffer.status();
  Pinned pinned;
  fillRandomly(**pool, buffer->data(), buffer->size());
  return Measurement(options, **pool, buffer->data()).run();
}

} // namespace strata::bench
