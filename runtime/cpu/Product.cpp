//===- Product.cpp - Rows times the matrices of weights -------------------===//
#include "strata/runtime/cpu/Command.h"
#include "strata/runtime/cpu/RowProduct.h"
#include "strata/runtime/cpu/RowRanges.h"

namespace strata::rt {

namespace {

/// Items of a thread that even out their differences.
constexpr int64_t kItemsPerThread = 2;

/// output[m] = residual[m] + (bias[m] + sums[m]); bias and residual may be null. The residual may
/// be the output itself.
void storeSums(const float *sums, int64_t count, const float *bias, const float *residual,
               float *output) {
  for (int64_t m = 0; m < count; ++m) {
    float value = bias ? bias[m] + sums[m] : sums[m];
    output[m] = residual ? residual[m] + value : value;
  }
}

class ProductCommand : public Command {
public:
  ProductCommand(const package::Product &table, const Program &program) : table_(table) {
    for (const package::ProductPart *part : *table.parts()) {
      RowProduct product(program.weights.bound(part->weight()), table.transposed(),
                         static_cast<strata::ElementType>(table.operands()));
      parts_.push_back({product, program.weights.values(part->bias()), part->output(), blocks_});
      blocks_ += table.batch() * product.outputBlocks();
      blockRows_ = std::max(blockRows_, product.blockRows());
    }
  }

  uint64_t scratchBytes() const override {
    uint64_t bytes = 0;
    for (const Part &part : parts_)
      bytes = std::max<uint64_t>(bytes, part.product.scratchBytes());
    return bytes;
  }

  Status run(StepState &state) override {
    int64_t rows = state.size(*table_.rows());
    if (rows == 0)
      return Status::success();
    RowRanges ranges(rows, blockRows_,
                     rangesWanted(blocks_, kItemsPerThread, state.pool.threads()));
    // An item is an output block of one matrix for a range of rows.
    std::atomic<bool> failed{false};
    state.pool.parallelFor(
        ranges.count() * blocks_, 1, [&](int64_t begin, int64_t end, int thread) {
          Loaded loaded;
          for (int64_t item = begin; item < end; ++item)
            if (!runItem(state, ranges, item, loaded, state.threadScratch(thread)))
              failed = true;
        });
    return failed ? productFailed() : Status::success();
  }

private:
  struct Part {
    RowProduct product;
    const float *bias;
    const package::View *output;
    int64_t firstBlock; ///< parts' output blocks are numbered through, matrix by matrix
  };

  /// Which rows a thread has gathered: none at first.
  struct Loaded {
    int64_t range = -1, batch = -1, blockRows = 0;

    /// Takes note of other rows; true if they are the same.
    bool replace(const Loaded &other) {
      bool same = range == other.range && batch == other.batch && blockRows == other.blockRows;
      *this = other;
      return same;
    }
  };

  bool runItem(const StepState &state, const RowRanges &ranges, int64_t item, Loaded &loaded,
               std::byte *scratch) const {
    int64_t range = item / blocks_, block = item % blocks_;
    size_t last = parts_.size() - 1;
    while (parts_[last].firstBlock > block)
      --last;
    const Part &part = parts_[last];
    const RowProduct &product = part.product;
    int64_t batch = (block - part.firstBlock) / product.outputBlocks();
    int64_t outputBlock = (block - part.firstBlock) % product.outputBlocks();

    Rows input(state, *table_.input()), output(state, *part.output);
    Rows residual = table_.residual() ? Rows(state, *table_.residual()) : output;
    int64_t first = ranges.begin(range), count = ranges.end(range) - first;
    int64_t firstOutput = product.firstOutput(outputBlock), width = product.blockWidth(outputBlock);
    const float *bias = part.bias ? part.bias + batch * product.outputs() + firstOutput : nullptr;
    bool areLoaded =
        loaded.replace({range, batch, product.blockRows()}) && count <= product.blockRows();
    return product.run(
        batch, outputBlock, count, [&](int64_t i) { return input.row(first + i, batch); },
        [&](int64_t i, const float *sums) {
          const float *added =
              table_.residual() ? residual.row(first + i, batch) + firstOutput : nullptr;
          storeSums(sums, width, bias, added, output.row(first + i, batch) + firstOutput);
        },
        scratch, areLoaded);
  }

  const package::Product &table_;
  std::vector<Part> parts_;
  int64_t blocks_ = 0, blockRows_ = 1;
};

} // namespace

std::unique_ptr<Command> makeCommand(const package::Product &table, const Program &program) {
  return std::make_unique<ProductCommand>(table, program);
}

} // namespace strata::rt
