//===- HeadAttention.cpp - Attention with a head's products around it -----===//
//
// Between a head's products and its attention nothing else is needed, so an item does all three for
// one head and a range of tokens: one loop instead of three, and what the steps hand over is still
// in the cache. Rows don't depend on each other, so the bits are those of three commands.
//
//===----------------------------------------------------------------------===//
#include "strata/runtime/cpu/Command.h"
#include "strata/runtime/cpu/RowProduct.h"
#include "strata/runtime/cpu/RowRanges.h"

#include <optional>

namespace strata::rt {

namespace {

/// Tokens see different numbers of positions, so items differ more than those of products.
constexpr int64_t kItemsPerThread = 4;

/// A product with a matrix for each head.
class HeadProduct {
public:
  HeadProduct(const package::Product &table, const Program &program)
      : input_(*table.input()), output_(*table.parts()->Get(0)->output()),
        product_(program.weights.bound(table.parts()->Get(0)->weight()), table.transposed(),
                 static_cast<strata::ElementType>(table.operands())) {}

  const RowProduct &product() const { return product_; }

  /// Rows [begin, end) of one head. False if the library has no memory.
  bool run(const StepState &state, int64_t head, int64_t begin, int64_t end,
           std::byte *scratch) const {
    Rows input(state, input_), output(state, output_);
    for (int64_t block = 0; block < product_.outputBlocks(); ++block) {
      bool areLoaded = block > 0 && end - begin <= product_.blockRows();
      bool done = product_.run(
          head, block, end - begin, [&](int64_t i) { return input.row(begin + i, head); },
          [&](int64_t i, const float *sums) {
            std::copy_n(sums, product_.blockWidth(block),
                        output.row(begin + i, head) + product_.firstOutput(block));
          },
          scratch, areLoaded);
      if (!done)
        return false;
    }
    return true;
  }

private:
  const package::View &input_, &output_;
  RowProduct product_;
};

class HeadAttentionCommand : public Command {
public:
  HeadAttentionCommand(const package::HeadAttention &table, const Program &program)
      : heads_(table.heads()), attention_(*table.attention()),
        kernel_(program.kernels.kernel(attention_.kernel())) {
    if (table.absorb())
      absorb_.emplace(*table.absorb(), program);
    if (table.expand())
      expand_.emplace(*table.expand(), program);
  }

  uint64_t scratchBytes() const override {
    return std::max<uint64_t>(absorb_ ? absorb_->product().scratchBytes() : 0,
                              expand_ ? expand_->product().scratchBytes() : 0);
  }

  Status run(StepState &state) override {
    int64_t rows = state.size(*attention_.items()) / heads_;
    if (rows == 0)
      return Status::success();
    arguments_.clear();
    for (const package::Argument *argument : *attention_.arguments())
      arguments_.push_back(state.address(*argument));
    // Products take whole blocks of rows, but where threads would be idle it is better to split
    // them: with many positions attention costs more.
    int64_t wanted = rangesWanted(heads_, kItemsPerThread, state.pool.threads());
    RowRanges ranges(rows, wanted * blockRows() <= rows ? blockRows() : 1, wanted);
    std::atomic<bool> failed{false};
    state.pool.parallelFor(ranges.count() * heads_, 1, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t item = begin; item < end; ++item) {
        int64_t range = item / heads_;
        if (!runHead(state, item % heads_, ranges.begin(range), ranges.end(range),
                     state.threadScratch(thread)))
          failed = true;
      }
    });
    return failed ? productFailed() : Status::success();
  }

private:
  int64_t blockRows() const {
    return std::max(absorb_ ? absorb_->product().blockRows() : 1,
                    expand_ ? expand_->product().blockRows() : 1);
  }

  bool runHead(const StepState &state, int64_t head, int64_t begin, int64_t end,
               std::byte *scratch) const {
    if (absorb_ && !absorb_->run(state, head, begin, end, scratch))
      return false;
    for (int64_t row = begin; row < end; ++row)
      kernel_(arguments_.data(), row * heads_ + head, row * heads_ + head + 1);
    return !expand_ || expand_->run(state, head, begin, end, scratch);
  }

  int64_t heads_;
  const package::Launch &attention_;
  strata_rt_kernel kernel_;
  std::optional<HeadProduct> absorb_, expand_;
  std::vector<void *> arguments_;
};

} // namespace

std::unique_ptr<Command> makeCommand(const package::HeadAttention &table, const Program &program) {
  return std::make_unique<HeadAttentionCommand>(table, program);
}

} // namespace strata::rt
