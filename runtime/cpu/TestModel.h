//===- TestModel.h - Builds packages and checkpoints for tests --*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_TESTMODEL_H
#define STRATA_RUNTIME_CPU_TESTMODEL_H

#include "strata/lib/Checkpoint/TestSafetensors.h"
#include "strata/lib/Support/TestFolder.h"
#include "strata/runtime/cpu/CpuExecutor.h"

#include <map>
#include <optional>

namespace strata::rt {

/// Values of a standard normal distribution.
std::vector<float> randomValues(size_t count, uint32_t seed);

/// A checkpoint with these tensors. It is mapped: the file need not stay.
Expected<Checkpoint> makeCheckpoint(const std::vector<TestTensor> &tensors);
/// An f32 tensor.
TestTensor floatTensor(const std::string &name, const std::string &shape,
                       const std::vector<float> &values);

/// A model that is put together command by command. Kernels are those of TestKernels.c, the
/// vocabulary is what they gather from: a table [vocabulary, 32]. Caches have records of 32 floats
/// in pages of 4; there is one at first.
class TestModel {
public:
  explicit TestModel(int64_t vocabulary) : vocabulary_(vocabulary) {}

  flatbuffers::FlatBufferBuilder builder;

  /// A slot; gives its number.
  int32_t slot(int64_t bytesPerToken, int64_t bytesPerWanted = 0, int64_t fixed = 0);
  /// An f32 weight and its values in the checkpoint; gives its number.
  int32_t weight(const std::string &name, const std::vector<int64_t> &shape,
                 const std::vector<float> &values, bool widen = false);
  /// One more cache; gives its number. `staging` as in the manifest.
  int32_t cache(package::Residence residence = package::Residence::Whole, int32_t staging = -1);
  /// Says where cache 0 lies.
  void setResidence(package::Residence residence, int32_t staging = -1);
  /// Says that Reload copies a weight to weight slot `slot`.
  void setWeightSlot(int32_t weight, int32_t slot) { weightSlots_[weight] = slot; }

  /// Tiers and what belongs to them, in order; without a tier there is nothing else.
  struct TierTables {
    std::vector<uint64_t> capacities; ///< of tiers
    std::vector<double> bandwidths;   ///< of engines
    double operationSeconds = 0;
    std::vector<std::pair<int32_t, int32_t>> slotTables; ///< slots, k
    std::vector<std::pair<int32_t, int32_t>> hotSets;    ///< cache, table
    int32_t stagingPools = 0;
    std::vector<int64_t> blockRecords; ///< of block buffers
    std::vector<uint64_t> weightSlots; ///< bytes
  } tiers;

  void launch(const std::string &kernel, const std::vector<package::Argument> &arguments,
              package::Size items = package::Size(1, 0, 0));
  /// Selects by the kernel "scores"; query and head weights are rows of 32 floats.
  void select(int32_t querySlot, int32_t weightsSlot, int32_t outputSlot, int64_t k,
              int32_t cache = 0, int32_t engine = -1);
  /// The table of a launch, for commands that hold one.
  flatbuffers::Offset<package::Launch> launchTable(const std::string &kernel,
                                                   const std::vector<package::Argument> &arguments,
                                                   package::Size items = package::Size(1, 0, 0));
  /// Any other command.
  template <typename T>
  void add(package::Command kind, flatbuffers::Offset<T> command, const std::string &label) {
    selects_ += kind == package::Command::Select || kind == package::Command::ImportRows;
    routes_ += kind == package::Command::Route;
    commands_.push_back(
        package::CreateCommandEntryDirect(builder, kind, command.Union(), label.c_str()));
  }

  static package::Argument slotArgument(int32_t slot, int64_t offset = 0) {
    return package::Argument(package::ArgumentKind::Slot, slot, offset);
  }
  static package::Argument stepArgument(package::StepArray array) {
    return package::Argument(package::ArgumentKind::Step, int32_t(array), 0);
  }
  static package::Argument cacheArgument(int32_t cache = 0) {
    return package::Argument(package::ArgumentKind::Cache, cache, 0);
  }
  static package::View view(int32_t slot, int64_t rowStride, int64_t batchStride = 0) {
    return package::View(slotArgument(slot), rowStride, batchStride);
  }

  /// Adds a weight "table" [vocabulary, 32] and the launch that gathers its rows by token id. Gives
  /// the rows' slot.
  int32_t gatherTable(const std::vector<float> &table);
  /// Makes the first values of rows of 32 floats, one row for each token, the logits of those that
  /// are wanted. The vocabulary must be at most 32; without a call logits are what was in memory.
  void setLogits(int32_t rowsSlot);

  /// Makes a slot's rows the logits, for steps that want all of their tokens: [tokens, vocabulary],
  /// f32. The vocabulary must be at least 32.
  void useAsLogits(int32_t slot) { logitsSlot_ = slot; }

  /// The number of a kernel of TestKernels.c, for tables that name one.
  int32_t kernelNumber(const std::string &kernel);

  /// The executor for what was added; it lives no longer than the model. May be called again with
  /// other options.
  Expected<std::unique_ptr<Executor>> finish(ExecutorOptions options);

private:
  struct TestCache {
    package::Residence residence = package::Residence::Whole;
    int32_t staging = -1;
  };

  int64_t vocabulary_;
  std::vector<TestCache> caches_{1};
  std::map<int32_t, int32_t> weightSlots_;
  struct WeightEntry {
    std::string name;
    std::vector<int64_t> shape;
    bool widen;
  };
  std::vector<WeightEntry> weightEntries_;
  std::vector<flatbuffers::Offset<package::Slot>> slots_;
  std::vector<flatbuffers::Offset<package::CommandEntry>> commands_;
  std::vector<std::string> kernels_;
  std::vector<TestTensor> tensors_;
  int32_t logitsSlot_ = -1;
  int32_t selects_ = 0, routes_ = 0;

  std::string packageBytes_;
  std::unique_ptr<Package> package_;
  std::optional<Checkpoint> checkpoint_;
};

/// A step of one sequence: tokens at positions from `first` on; its pages are 0, 1, …; all tokens
/// are wanted.
StepInput oneSequence(const std::vector<int32_t> &tokens, int32_t first = 0);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_TESTMODEL_H
