//===- GatedProduct.cpp - Gate and up, combined ---------------------------===//
#include "strata/runtime/cpu/Command.h"
#include "strata/runtime/cpu/GatedRows.h"
#include "strata/runtime/cpu/RowRanges.h"

namespace strata::rt {

namespace {

/// Items of a thread that even out their differences.
constexpr int64_t kItemsPerThread = 2;

class GatedProductCommand : public Command {
public:
  GatedProductCommand(const package::GatedProduct &table, const Program &program)
      : table_(table), gated_(product(table.gate(), program), product(table.up(), program),
                              program.kernels.kernel(table.kernel())) {}

  uint64_t scratchBytes() const override { return gated_.scratchBytes(); }

  Status run(StepState &state) override {
    Rows input(state, *table_.input()), output(state, *table_.output());
    int64_t rows = state.size(*table_.rows()), blocks = gated_.product().outputBlocks();
    int64_t blockRows = gated_.product().blockRows();
    if (rows == 0)
      return Status::success();
    RowRanges ranges(rows, blockRows, rangesWanted(blocks, kItemsPerThread, state.pool.threads()));
    // An item is an output block for a range of rows.
    std::atomic<bool> failed{false};
    state.pool.parallelFor(ranges.count() * blocks, 1, [&](int64_t begin, int64_t end, int thread) {
      int64_t loaded = -1; // the range whose rows are gathered
      for (int64_t item = begin; item < end; ++item) {
        int64_t range = item / blocks;
        int64_t first = ranges.begin(range), count = ranges.end(range) - first;
        bool done = gated_.run(
            0, item % blocks, count, [&](int64_t i) { return input.row(first + i); },
            [&](int64_t i) { return output.row(first + i); }, state.threadScratch(thread),
            loaded == range && count <= blockRows);
        loaded = range;
        if (!done)
          failed = true;
      }
    });
    return failed ? productFailed() : Status::success();
  }

private:
  RowProduct product(int32_t weight, const Program &program) const {
    return {program.weights.bound(weight), false,
            static_cast<strata::ElementType>(table_.operands())};
  }

  const package::GatedProduct &table_;
  GatedRows gated_;
};

} // namespace

std::unique_ptr<Command> makeCommand(const package::GatedProduct &table, const Program &program) {
  return std::make_unique<GatedProductCommand>(table, program);
}

} // namespace strata::rt
