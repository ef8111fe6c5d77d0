//===- CpuExecutor.cpp - Runs a package on the processor ------------------===//
#include "strata/runtime/cpu/CpuExecutor.h"

#include "strata/runtime/core/Trace.h"
#include "strata/runtime/cpu/Command.h"
#include "strata/runtime/cpu/RowProduct.h"
#include "strata/runtime/cpu/StepCheck.h"
#include "strata/runtime/cpu/Tiers.h"

#include <algorithm>
#include <cstring>

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
  case package::Command::Records:
    return makeCommand(*entry.command_as_Records(), program);
  case package::Command::Resolve:
    return makeCommand(*entry.command_as_Resolve(), program);
  case package::Command::Gather:
    return makeCommand(*entry.command_as_Gather(), program);
  case package::Command::WriteBack:
    return makeCommand(*entry.command_as_WriteBack(), program);
  case package::Command::Reload:
    return makeCommand(*entry.command_as_Reload(), program);
  case package::Command::Wait:
    return makeCommand(*entry.command_as_Wait(), program);
  case package::Command::NONE:
    break;
  }
  return nullptr;
}

/// oneDNN generates its kernels when it is first called, and ends with a segmentation fault where
/// it gets no memory for them: some 20 MiB on processors with AVX-512.
Status checkLibraryMemory() {
  Expected<Memory> memory = Memory::allocate(uint64_t(32) << 20, "the library of products");
  return memory.ok() ? Status() : memory.status();
}

class CpuExecutor : public Executor {
public:
  CpuExecutor(const Package &package, const Checkpoint &checkpoint, Program program,
              std::unique_ptr<ThreadPool> pool)
      : model_(package.model()), checkpoint_(checkpoint), program_(std::move(program)),
        pool_(std::move(pool)) {
    for (const package::Cache *cache : *program_.manifest.caches())
      layouts_.emplace_back(*cache);
  }

  Status prepare();

  const ModelDescription &model() const override { return model_; }
  Status step(const StepInput &input, StepOutput &output) override;
  uint64_t memoryBytes() const override { return memoryBytes_; }

  const TierCounters *tierCounters() const override {
    return program_.tiers ? &program_.tiers->counters() : nullptr;
  }

  Expected<CacheDescription> describeCaches() const override {
    return rt::describeCaches(program_.manifest, checkpoint_);
  }
  Status readPage(int64_t cache, int32_t page, int64_t records, std::byte *target) const override;
  Status writePage(int64_t cache, int32_t page, int64_t records, const std::byte *source) override;

private:
  /// Where all pages of a cache are between steps.
  std::byte *home(int64_t cache) const {
    return program_.tiers ? program_.tiers->home(int(cache)) : program_.caches[size_t(cache)];
  }
  Status prepareMemory(uint64_t arenaBytes, MemoryPlan &plan);
  Status prepareTiers(uint64_t arenaBytes, MemoryPlan &plan);
  Status runCommands(StepState &state);
  void copyLogits(const StepState &state);

  const ModelDescription &model_;
  const Checkpoint &checkpoint_;
  Program program_;
  std::vector<RecordLayout> layouts_; ///< of the caches
  std::unique_ptr<ThreadPool> pool_;
  std::vector<std::unique_ptr<Command>> commands_;
  Arena arena_;
  Memory arenaMemory_; ///< empty with tiers, like `caches_`
  std::vector<Memory> caches_;
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
  bool hasTiers = manifest.tiers() && manifest.tiers()->size() != 0;
  if (Status status = hasTiers ? prepareTiers(arena->size, plan) : prepareMemory(arena->size, plan);
      !status.ok())
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

  Expected<Memory> scratch = Memory::allocate(threadBytes + sharedBytes, "scratch");
  if (!scratch.ok())
    return scratch.status();
  scratch_ = std::move(*scratch);
  if (options.poison)
    scratch_.poison(scratch_.size());
  return Status::success();
}

/// One tier: arena and caches are memory of their own, weights stay in the checkpoint.
Status CpuExecutor::prepareMemory(uint64_t arenaBytes, MemoryPlan &plan) {
  const ExecutorOptions &options = program_.options;
  plan.add("arena", arenaBytes);
  std::vector<std::optional<uint64_t>> cacheBytes;
  std::optional<uint64_t> allCaches = 0;
  for (const package::Cache *cache : *program_.manifest.caches()) {
    cacheBytes.push_back(checkedProduct(
        uint64_t(recordBytes(*cache)) * uint64_t(cache->page_size()), uint64_t(options.maxPages)));
    allCaches = checkedSum(allCaches, cacheBytes.back());
  }
  plan.add("caches", allCaches);
  plan.add("widened weights", program_.weights.copiedBytes());
  // What commands need is known when they are made, which takes caches and weights: so the large
  // parts are checked now, the sum of all later.
  if (Status status = plan.check(options.memoryLimit); !status.ok())
    return status;

  Expected<Memory> arena = Memory::allocate(arenaBytes, "the arena");
  if (!arena.ok())
    return arena.status();
  arenaMemory_ = std::move(*arena);
  arena_ = Arena(arenaMemory_.data(), arenaMemory_.size());
  for (std::optional<uint64_t> bytes : cacheBytes) {
    Expected<Memory> cache = Memory::allocate(*bytes, "a cache");
    if (!cache.ok())
      return cache.status();
    if (options.poison)
      cache->poison(cache->size());
    program_.caches.push_back(cache->data());
    caches_.push_back(std::move(*cache));
  }
  return program_.weights.copy();
}

Status CpuExecutor::prepareTiers(uint64_t arenaBytes, MemoryPlan &plan) {
  Expected<std::unique_ptr<Tiers>> tiers =
      Tiers::plan(program_.manifest, program_.options, arenaBytes, program_.weights);
  if (!tiers.ok())
    return tiers.status();
  plan.add("near tier", (*tiers)->nearBytes());
  plan.add("far tier", (*tiers)->farBytes());
  if (Status status = plan.check(program_.options.memoryLimit); !status.ok())
    return status;
  program_.tiers = std::move(*tiers);
  if (Status status = program_.tiers->allocate(program_.weights); !status.ok())
    return status;
  arena_ = Arena(program_.tiers->activations(), arenaBytes);
  for (int cache = 0; cache < int(program_.manifest.caches()->size()); ++cache)
    program_.caches.push_back(program_.tiers->pool(cache));
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
  if (program_.tiers)
    program_.tiers->beginStep(input);
  Status status = runCommands(state);
  if (program_.tiers)
    if (Status ended = program_.tiers->endStep(!status.ok()); status.ok())
      status = std::move(ended);
  if (!status.ok())
    return status;
  if (output.logits)
    copyLogits(state);
  return Status::success();
}

Status CpuExecutor::runCommands(StepState &state) {
  Trace *trace = program_.options.trace;
  for (uint32_t i = 0; i < commands_.size(); ++i) {
    const package::CommandEntry &entry = *program_.manifest.commands()->Get(i);
    state.label = entry.label()->string_view();
    Trace::Clock::time_point begin;
    if (trace)
      begin = Trace::Clock::now();
    if (Status status = commands_[i]->run(state); !status.ok())
      return Status(status.code(), entry.label()->str() + ": " + status.message());
    if (trace)
      trace->add(state.label, package::EnumNameCommand(entry.command_type()), 0, begin,
                 Trace::Clock::now());
  }
  return Status::success();
}

void CpuExecutor::copyLogits(const StepState &state) {
  Rows logits(state, *program_.manifest.logits());
  for (int64_t n = 0; n < state.wanted(); ++n)
    std::copy_n(logits.row(n), model_.vocabularySize,
                state.output.logits + n * model_.vocabularySize);
}

Status CpuExecutor::readPage(int64_t cache, int32_t page, int64_t records,
                             std::byte *target) const {
  const RecordLayout &layout = layouts_[size_t(cache)];
  std::memset(target, 0, size_t(layout.pageBytes()));
  for (int64_t i = 0; i < records; ++i)
    layout.copyRecord(home(cache), page * layout.pageSize() + i, target, i);
  return Status::success();
}

Status CpuExecutor::writePage(int64_t cache, int32_t page, int64_t records,
                              const std::byte *source) {
  const RecordLayout &layout = layouts_[size_t(cache)];
  for (int64_t i = 0; i < records; ++i)
    layout.copyRecord(source, i, home(cache), page * layout.pageSize() + i);
  if (program_.tiers)
    program_.tiers->forgetPages({page});
  return Status::success();
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
  Program program{package.manifest(), options, std::move(*kernels), std::move(*weights)};
  program.options.threads = (*pool)->threads();
  auto executor =
      std::make_unique<CpuExecutor>(package, checkpoint, std::move(program), std::move(*pool));
  if (Status status = executor->prepare(); !status.ok())
    return status;
  return std::unique_ptr<Executor>(std::move(executor));
}

} // namespace strata::rt
