//===- Experts.cpp - Products of the rows that were routed to experts -----===//
#include "strata/runtime/cpu/Command.h"
#include "strata/runtime/cpu/GatedRows.h"

#include <algorithm>
#include <optional>

namespace strata::rt {

namespace {

class GroupByExpertCommand : public Command {
public:
  explicit GroupByExpertCommand(const package::GroupByExpert &table) : table_(table) {}

  Status run(StepState &state) override {
    const int32_t *experts = state.array<int32_t>(*table_.experts());
    int32_t *order = state.array<int32_t>(*table_.order());
    int32_t *rank = state.array<int32_t>(*table_.rank());
    int32_t *offsets = state.array<int32_t>(*table_.offsets());
    int64_t entries = state.tokens() * table_.experts_per_token();
    int64_t expertCount = table_.expert_count();

    std::fill_n(offsets, expertCount + 1, 0);
    for (int64_t entry = 0; entry < entries; ++entry) {
      if (experts[entry] < 0 || experts[entry] >= expertCount)
        return Status(StatusCode::Corrupt, "expected an expert below " +
                                               std::to_string(expertCount) + " but got " +
                                               std::to_string(experts[entry]));
      ++offsets[experts[entry] + 1];
    }
    for (int64_t e = 0; e < expertCount; ++e)
      offsets[e + 1] += offsets[e];
    next_.assign(offsets, offsets + expertCount);
    for (int64_t entry = 0; entry < entries; ++entry) {
      int32_t at = next_[size_t(experts[entry])]++;
      order[at] = int32_t(entry);
      rank[entry] = at;
    }
    return Status::success();
  }

private:
  const package::GroupByExpert &table_;
  std::vector<int32_t> next_; ///< for each expert the rank of its next entry
};

class GroupedProductCommand : public Command {
public:
  GroupedProductCommand(const package::GroupedProduct &table, const Program &program)
      : table_(table), product_(product(table.weight(), program)) {
    if (table.up() >= 0)
      gated_.emplace(product_, product(table.up(), program),
                     program.kernels.kernel(table.kernel()));
  }

  uint64_t scratchBytes() const override {
    return gated_ ? gated_->scratchBytes() : product_.scratchBytes();
  }

  Status run(StepState &state) override {
    const int32_t *order = state.array<int32_t>(*table_.order());
    const int32_t *offsets = state.array<int32_t>(*table_.offsets());
    if (Status status = checkGroups(order, offsets, state.tokens() * table_.experts_per_token());
        !status.ok())
      return status;

    busy_.clear();
    for (int64_t e = 0; e < table_.expert_count(); ++e)
      if (offsets[e] < offsets[e + 1])
        busy_.push_back(e);
    int64_t outputBlocks = product_.outputBlocks();
    std::atomic<bool> failed{false};
    state.pool.parallelFor(int64_t(busy_.size()) * outputBlocks, 1,
                           [&](int64_t begin, int64_t end, int thread) {
                             int64_t loaded = -1; // the expert whose rows are gathered
                             for (int64_t item = begin; item < end; ++item) {
                               int64_t expert = busy_[size_t(item / outputBlocks)];
                               if (!runItem(state, expert, item % outputBlocks, loaded == expert,
                                            state.threadScratch(thread)))
                                 failed = true;
                               loaded = expert;
                             }
                           });
    return failed ? productFailed() : Status::success();
  }

private:
  /// The arrays come from the arena: whatever wrote them, nothing beyond it may be touched.
  Status checkGroups(const int32_t *order, const int32_t *offsets, int64_t entries) const {
    int64_t experts = table_.expert_count();
    bool valid = offsets[0] == 0 && offsets[experts] == entries;
    for (int64_t e = 0; e < experts && valid; ++e)
      valid = offsets[e] <= offsets[e + 1];
    for (int64_t r = 0; r < entries && valid && table_.gather(); ++r)
      valid = order[r] >= 0 && order[r] < entries;
    return valid ? Status()
                 : Status(StatusCode::Corrupt, "expected entries grouped by expert for " +
                                                   std::to_string(experts) + " experts");
  }

  RowProduct product(int32_t weight, const Program &program) const {
    return {program.weights.bound(weight), false,
            static_cast<strata::ElementType>(table_.operands())};
  }

  /// One output block of an expert's rows, gathered by the last item of this thread or not yet.
  bool runItem(const StepState &state, int64_t expert, int64_t outputBlock, bool isLastExpert,
               std::byte *scratch) const {
    Rows input(state, *table_.input()), output(state, *table_.output());
    const int32_t *order = state.array<int32_t>(*table_.order());
    const int32_t *offsets = state.array<int32_t>(*table_.offsets());
    int64_t first = offsets[expert], count = offsets[expert + 1] - first;
    bool areLoaded = isLastExpert && count <= product_.blockRows();
    auto inputRow = [&](int64_t i) {
      return input.row(table_.gather() ? order[first + i] / table_.experts_per_token() : first + i);
    };
    auto outputRow = [&](int64_t i) { return output.row(first + i); };
    if (gated_)
      return gated_->run(expert, outputBlock, count, inputRow, outputRow, scratch, areLoaded);
    auto store = [&](int64_t i, const float *sums) {
      std::copy_n(sums, product_.blockWidth(outputBlock),
                  outputRow(i) + product_.firstOutput(outputBlock));
    };
    return product_.run(expert, outputBlock, count, inputRow, store, scratch, areLoaded);
  }

  const package::GroupedProduct &table_;
  RowProduct product_;             ///< of `weight`
  std::optional<GatedRows> gated_; ///< where there is `up`
  std::vector<int64_t> busy_;      ///< experts that have rows
};

} // namespace

std::unique_ptr<Command> makeCommand(const package::GroupByExpert &table, const Program &) {
  return std::make_unique<GroupByExpertCommand>(table);
}

std::unique_ptr<Command> makeCommand(const package::GroupedProduct &table, const Program &program) {
  return std::make_unique<GroupedProductCommand>(table, program);
}

} // namespace strata::rt
