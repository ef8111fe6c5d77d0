//===- Command.h - One command of a package, ready to run -------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_COMMAND_H
#define STRATA_RUNTIME_CPU_COMMAND_H

#include "strata/runtime/core/Package.h"
#include "strata/runtime/cpu/KernelLibrary.h"
#include "strata/runtime/cpu/ThreadPool.h"
#include "strata/runtime/cpu/Weights.h"

#include <functional>
#include <memory>

namespace strata::rt {

class Tiers;

/// What commands work on, the same in every step. Outlives the commands.
struct Program {
  const package::Manifest &manifest;
  ExecutorOptions options; ///< `threads` is the number of the pool's
  KernelLibrary kernels;
  Weights weights;
  std::vector<std::byte *> caches = {}; ///< pools of pages that kernels work on; null: none
  std::unique_ptr<Tiers> tiers = {};    ///< null: one tier
};

/// What commands work on in one step.
struct StepState {
  const Program &program;
  ThreadPool &pool;
  const StepInput &input;
  StepOutput &output;
  std::vector<std::byte *> slots;
  std::byte *scratch;          ///< `scratchBytes` for each thread
  uint64_t scratchBytes;       ///< a multiple of 64
  std::byte *shared;           ///< what all threads share
  std::string_view label = {}; ///< of the command that runs

  int64_t tokens() const { return int64_t(input.tokenIds.size()); }
  int64_t wanted() const { return int64_t(input.wanted.size()); }
  int64_t size(const package::Size &size) const { return evaluate(size, tokens(), wanted()); }
  std::byte *threadScratch(int thread) const { return scratch + uint64_t(thread) * scratchBytes; }

  /// The address that an argument stands for. Weights and step arrays are not to be written.
  std::byte *address(const package::Argument &argument) const;
  /// An argument that is an array in the arena.
  template <typename T> T *array(const package::Argument &argument) const {
    return reinterpret_cast<T *>(address(argument));
  }
};

/// A view of the manifest in a step.
class Rows {
public:
  Rows(const StepState &state, const package::View &view)
      : base_(state.array<float>(view.base())), rowStride_(view.row_stride()),
        batchStride_(view.batch_stride()) {}
  float *row(int64_t row, int64_t batch = 0) const {
    return base_ + row * rowStride_ + batch * batchStride_;
  }

private:
  float *base_;
  int64_t rowStride_, batchStride_;
};

/// The hot set among a kernel's arguments; −1: none. Its items are a number for each token then.
int32_t findHotSet(const package::Launch &launch);

/// Calls run(firstToken, endToken) for tokens that can run at once: all of them if `hotSet` is −1,
/// otherwise block after block of its plan, with the block's records in their slots.
Status forEachBlock(StepState &state, int32_t hotSet,
                    const std::function<Status(int64_t, int64_t)> &run);

/// One entry of the command list. Its table of the manifest was verified.
class Command {
public:
  virtual ~Command() = default;
  /// Bytes that each thread needs while the command runs.
  virtual uint64_t scratchBytes() const { return 0; }
  /// Bytes that all threads share while the command runs.
  virtual uint64_t sharedBytes() const { return 0; }
  virtual Status run(StepState &state) = 0;
};

// One maker for each kind of command. `program` outlives the command.
std::unique_ptr<Command> makeCommand(const package::Launch &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::RopeTable &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::Product &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::GatedProduct &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::HeadAttention &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::PartialScores &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::GroupByExpert &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::GroupedProduct &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::Route &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::Select &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::ImportRows &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::Records &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::Resolve &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::Gather &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::WriteBack &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::Reload &table, const Program &program);
std::unique_ptr<Command> makeCommand(const package::Wait &table, const Program &program);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_COMMAND_H
