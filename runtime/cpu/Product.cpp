//===- Product.cpp - Rows times the matrices of a weight ------------------===//
#include "strata/runtime/cpu/Command.h"
#include "strata/runtime/cpu/RowProduct.h"

namespace strata::rt {

namespace {

class ProductCommand : public Command {
public:
  ProductCommand(const package::Product &table, const Program &program)
      : table_(table), product_(program.weights.bound(table.weight()), table.transposed(),
                                static_cast<strata::ElementType>(table.operands())),
        bias_(program.weights.values(table.bias())) {}

  uint64_t scratchBytes() const override { return product_.scratchBytes(); }

  Status run(StepState &state) override {
    Rows input(state, *table_.input()), output(state, *table_.output());
    int64_t rows = state.size(*table_.rows());
    if (rows == 0)
      return Status::success();
    // An item is an output block of one matrix for a range of rows: for all of them, unless that
    // leaves threads idle, since a block of the weight may have to be converted for each range.
    int64_t outputBlocks = product_.outputBlocks();
    int64_t blocks = table_.batch() * outputBlocks;
    int64_t rowBlocks = (rows + product_.blockRows() - 1) / product_.blockRows();
    int64_t ranges = 1;
    if (blocks < 2 * state.pool.threads())
      ranges = std::min(rowBlocks, (2 * state.pool.threads() + blocks - 1) / blocks);
    std::atomic<bool> failed{false};
    state.pool.parallelFor(blocks * ranges, 1, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t item = begin; item < end; ++item) {
        int64_t range = item % ranges, batch = item / ranges / outputBlocks;
        int64_t first = rowBlocks * range / ranges * product_.blockRows();
        int64_t last = std::min(rows, rowBlocks * (range + 1) / ranges * product_.blockRows());
        bool done = product_.run(
            batch, item / ranges % outputBlocks, last - first,
            [&](int64_t i) { return input.row(first + i, batch); },
            [&](int64_t i) { return output.row(first + i, batch); },
            bias_ ? bias_ + batch * product_.outputs() : nullptr, state.threadScratch(thread));
        if (!done)
          failed = true;
      }
    });
    return failed ? productFailed() : Status::success();
  }

private:
  const package::Product &table_;
  RowProduct product_;
  const float *bias_;
};

} // namespace

std::unique_ptr<Command> makeCommand(const package::Product &table, const Program &program) {
  return std::make_unique<ProductCommand>(table, program);
}

} // namespace strata::rt
