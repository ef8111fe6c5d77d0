//===- CpuExecutor.cpp - Runs a package on the processor ------------------===//
#include "strata/runtime/cpu/CpuExecutor.h"

#include "strata/runtime/core/Trace.h"
#include "strata/runtime/cpu/Command.h"
#include "strata/runtime/cpu/RowProduct.h"
#include "strata/runtime/cpu/StepCheck.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

namespace strata::rt {

namespace {

std::unique_ptr<Command> makeEntry(const package::CommandEntry &entry, const Program &program) {
  switch (entry.command_type()) {
  case package::Command::Launch:
    return makeCommand(*entry.command_as_Launch(), program);
  case package::Command::RopeTable:
    return makeCommand(*entry.command_as_RopeTable(), program);
  case package::Command::Product:
    return makeCommand(*entry.command_as_Product(), program);
  case package::Command::GroupByExpert:
    return makeCommand(*entry.command_as_GroupByExpert(), program);
  case package::Command::GroupedProduct:
    return makeCommand(*entry.command_as_GroupedProduct(), program);
  case package::Command::Route:
    return makeCommand(*entry.command_as_Route(), program);
  case package::Command::Select:
    return makeCommand(*entry.command_as_Select(), program);
  case package::Command::ImportRows:
    return makeCommand(*entry.command_as_ImportRows(), program);
  case package::Command::GatedProduct:
    return makeCommand(*entry.command_as_GatedProduct(), program);
  case package::Command::HeadAttention:
    return makeCommand(*entry.command_as_HeadAttention(), program);
  case package::Command::PartialScores:
    return makeCommand(*entry.command_as_PartialScores(), program);
  case package::Command::NONE:
    break;
  }
  return nullptr;
}

/// Adds up what is to be allocated.
class MemoryPlan {
public:
  void add(const char *what, std::optional<uint64_t> bytes) {
    if (!bytes || __builtin_add_overflow(total_, *bytes, &total_))
      total_ = ~uint64_t(0);
    text_ += (text_.empty() ? "" : ", ") + std::string(what) + " " +
             std::to_string(bytes.value_or(~uint64_t(0)));
  }
  uint64_t total() const { return total_; }

  Status check(uint64_t limit) const {
    bool isMachine = limit == 0;
    if (isMachine)
      limit = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
    if (total_ <= limit)
      return Status::success();
    return Status(StatusCode::OutOfMemory,
                  "expected to need at most " + std::to_string(limit) +
                      (isMachine ? " bytes (the machine's memory)" : " bytes (the memory limit)") +
                      " but it is " + std::to_string(total_) + ": " + text_);
  }

private:
  uint64_t total_ = 0;
  std::string text_;
};

std::optional<uint64_t> product(uint64_t a, uint64_t b) {
  uint64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

/// oneDNN generates its kernels when it is first called, and ends with a segmentation fault where
/// it gets no memory for them: some 20 MiB on processors with AVX-512.
Status checkLibraryMemory() {
  Expected<Memory> memory = Memory::allocate(uint64_t(32) << 20, "the library of products");
  return memory.ok() ? Status() : memory.status();
}

class CpuExecutor : public Executor {
public:
  CpuExecutor(const Package &package, Program program, std::unique_ptr<ThreadPool> pool)
      : model_(package.model()), program_(std::move(program)), pool_(std::move(pool)) {}

  Status prepare();

  const ModelDescription &model() const override { return model_; }
  Status step(const StepInput &input, StepOutput &output) override;
  uint64_t memoryBytes() const override { return memoryBytes_; }

private:
  void copyLogits(const StepState &state);

  const ModelDescription &model_;
  Program program_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<std::unique_ptr<Command>> commands_;
  Arena arena_;
  Memory scratch_;
  uint64_t scratchBytes_ = 0; ///< of each thread
  uint64_t memoryBytes_ = 0;
};

/// Makes the commands and all memory.
Status CpuExecutor::prepare() {
  const package::Manifest &manifest = program_.manifest;
  const ExecutorOptions &options = program_.options;

  Expected<Arena::Layout> arena = Arena::layOut(manifest, options.maxTokens, options.maxWanted);
  if (!arena.ok())
    return arena.status();
  MemoryPlan plan;
  plan.add("arena", arena->size);
  std::vector<uint64_t> cacheBytes;
  std::optional<uint64_t> allCaches = 0;
  for (const package::Cache *cache : *manifest.caches()) {
    std::optional<uint64_t> bytes = product(
        uint64_t(recordBytes(*cache)) * uint64_t(cache->page_size()), uint64_t(options.maxPages));
    cacheBytes.push_back(bytes.value_or(0));
    uint64_t sum;
    if (!bytes || !allCaches || __builtin_add_overflow(*allCaches, *bytes, &sum))
      allCaches = std::nullopt;
    else
      allCaches = sum;
  }
  plan.add("caches", allCaches);
  plan.add("widened weights", program_.weights.copiedBytes());
  // What commands need is known when they are made, which takes caches and weights: so the large
  // parts are checked now, the sum of all below.
  if (Status status = plan.check(options.memoryLimit); !status.ok())
    return status;

  for (uint64_t bytes : cacheBytes) {
    Expected<Memory> cache = Memory::allocate(bytes, "a cache");
    if (!cache.ok())
      return cache.status();
    program_.caches.push_back(std::move(*cache));
  }
  if (Status status = program_.weights.copy(); !status.ok())
    return status;
  if (Status status = checkLibraryMemory(); !status.ok())
    return status;
  SingleThreadedLibrary guard;
  uint64_t sharedBytes = 0;
  for (const package::CommandEntry *entry : *manifest.commands()) {
    commands_.push_back(makeEntry(*entry, program_));
    scratchBytes_ = std::max(scratchBytes_, commands_.back()->scratchBytes());
    sharedBytes = std::max(sharedBytes, commands_.back()->sharedBytes());
  }
  scratchBytes_ = (scratchBytes_ + 63) / 64 * 64;
  uint64_t threadBytes = scratchBytes_ * uint64_t(pool_->threads());
  plan.add("scratch", threadBytes + sharedBytes);
  if (Status status = plan.check(options.memoryLimit); !status.ok())
    return status;
  memoryBytes_ = plan.total();

  Expected<Memory> arenaMemory = Memory::allocate(arena->size, "the arena");
  if (!arenaMemory.ok())
    return arenaMemory.status();
  arena_ = Arena(std::move(*arenaMemory));
  Expected<Memory> scratch = Memory::allocate(threadBytes + sharedBytes, "scratch");
  if (!scratch.ok())
    return scratch.status();
  scratch_ = std::move(*scratch);
  if (options.poison) {
    for (Memory &cache : program_.caches)
      cache.poison(cache.size());
    scratch_.poison(scratch_.size());
  }
  return Status::success();
}

Status CpuExecutor::step(const StepInput &input, StepOutput &output) {
  output.nanScores = 0;
  if (Status status = checkStep(model_, program_.options, input, output); !status.ok())
    return status;
  if (input.tokenIds.empty())
    return Status::success();
  Expected<Arena::Layout> layout = Arena::layOut(program_.manifest, int64_t(input.tokenIds.size()),
                                                 int64_t(input.wanted.size()));
  if (!layout.ok())
    return layout.status();
  StepState state{program_,
                  *pool_,
                  input,
                  output,
                  arena_.slots(*layout, program_.options.poison),
                  scratch_.data(),
                  scratchBytes_,
                  scratch_.data() + scratchBytes_ * uint64_t(pool_->threads())};
  SingleThreadedLibrary guard;
  Trace *trace = program_.options.trace;
  for (uint32_t i = 0; i < commands_.size(); ++i) {
    const package::CommandEntry &entry = *program_.manifest.commands()->Get(i);
    Trace::Clock::time_point begin;
    if (trace)
      begin = Trace::Clock::now();
    if (Status status = commands_[i]->run(state); !status.ok())
      return Status(status.code(), entry.label()->str() + ": " + status.message());
    if (trace)
      trace->add(entry.label()->string_view(), package::EnumNameCommand(entry.command_type()), 0,
                 begin, Trace::Clock::now());
  }
  if (output.logits)
    copyLogits(state);
  return Status::success();
}

void CpuExecutor::copyLogits(const StepState &state) {
  Rows logits(state, *program_.manifest.logits());
  for (int64_t n = 0; n < state.wanted(); ++n)
    std::copy_n(logits.row(n), model_.vocabularySize,
                state.output.logits + n * model_.vocabularySize);
}

/// What each worker does when it starts.
void useLibraryAlone() { static thread_local SingleThreadedLibrary guard; }

Status checkOptions(const ExecutorOptions &options) {
  auto check = [](const char *what, int64_t value, int64_t most) {
    return value >= 1 && value <= most
               ? Status()
               : Status(StatusCode::InvalidArgument, "expected " + std::string(what) + " in [1, " +
                                                         std::to_string(most) + "] but got " +
                                                         std::to_string(value));
  };
  for (Status status : {check("maxTokens", options.maxTokens, kMaxStepTokens),
                        check("maxWanted", options.maxWanted, kMaxStepTokens),
                        check("maxSequences", options.maxSequences, INT32_MAX),
                        check("maxPages", options.maxPages, INT32_MAX)})
    if (!status.ok())
      return status;
  return Status::success();
}

} // namespace

Expected<std::unique_ptr<Executor>> createCpuExecutor(const Package &package,
                                                      const Checkpoint &checkpoint,
                                                      const ExecutorOptions &options) {
  if (Status status = checkOptions(options); !status.ok())
    return status;
  Expected<KernelLibrary> kernels = KernelLibrary::load(package);
  if (!kernels.ok())
    return kernels.status();
  Expected<Weights> weights = Weights::bind(package.manifest(), checkpoint);
  if (!weights.ok())
    return weights.status();
  Expected<std::unique_ptr<ThreadPool>> pool = ThreadPool::create(options.threads, useLibraryAlone);
  if (!pool.ok())
    return pool.status();
  Program program{package.manifest(), options, std::move(*kernels), std::move(*weights), {}};
  program.options.threads = (*pool)->threads();
  auto executor = std::make_unique<CpuExecutor>(package, std::move(program), std::move(*pool));
  if (Status status = executor->prepare(); !status.ok())
    return status;
  return std::unique_ptr<Executor>(std::move(executor));
}

} // namespace strata::rt
