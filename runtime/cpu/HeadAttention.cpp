//===- HeadAttention.cpp - Attention with a head's products around it -----===//
//
// Between a head's products and its attention nothing else is needed, so an item does all three for
// one head and a range of tokens: one loop instead of three, and what the steps hand over is still
// in the cache. Rows don't depend on each other, so the bits are those of three commands.
//
// PartialScores is the front of such an item alone: absorption, and the scores of the keys that are
// there already. The attention then computes the other scores first.
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

/// A kernel whose items are token × heads + head.
class HeadKernel {
public:
  HeadKernel(const package::Launch &launch, const Program &program)
      : launch_(&launch), kernel_(program.kernels.kernel(launch.kernel())) {}

  /// Items in this step.
  int64_t items(const StepState &state) const { return state.size(*launch_->items()); }
  void findArguments(const StepState &state) {
    arguments_.clear();
    for (const package::Argument *argument : *launch_->arguments())
      arguments_.push_back(state.address(*argument));
  }
  void run(int64_t item) const { kernel_(arguments_.data(), item, item + 1); }

private:
  const package::Launch *launch_;
  strata_rt_kernel kernel_;
  std::vector<void *> arguments_;
};

/// For each token and head: an absorbing product, kernels, an expanding product; of the products
/// any may be missing.
class HeadsCommand : public Command {
public:
  HeadsCommand(const package::HeadAttention &table, const Program &program)
      : HeadsCommand(table.heads(), table.absorb(), {table.scores(), table.attention()},
                     table.expand(), program) {
    hotSet_ = findHotSet(*table.attention());
  }
  // Reads hits alone: it needs no block of a plan.
  HeadsCommand(const package::PartialScores &table, const Program &program)
      : HeadsCommand(table.heads(), table.absorb(), {table.scores()}, nullptr, program) {}

  uint64_t scratchBytes() const override {
    return std::max<uint64_t>(absorb_ ? absorb_->product().scratchBytes() : 0,
                              expand_ ? expand_->product().scratchBytes() : 0);
  }

  Status run(StepState &state) override {
    for (HeadKernel &kernel : kernels_)
      kernel.findArguments(state);
    if (hotSet_ < 0)
      return runRows(state, 0, kernels_.back().items(state) / heads_);
    return forEachBlock(state, hotSet_,
                        [&](int64_t begin, int64_t end) { return runRows(state, begin, end); });
  }

private:
  HeadsCommand(int64_t heads, const package::Product *absorb,
               std::initializer_list<const package::Launch *> kernels,
               const package::Product *expand, const Program &program)
      : heads_(heads) {
    if (absorb)
      absorb_.emplace(*absorb, program);
    for (const package::Launch *kernel : kernels)
      if (kernel)
        kernels_.emplace_back(*kernel, program);
    if (expand)
      expand_.emplace(*expand, program);
  }

  /// Rows [first, last) of all heads.
  Status runRows(StepState &state, int64_t first, int64_t last) {
    int64_t rows = last - first;
    if (rows == 0)
      return Status::success();
    // Products take whole blocks of rows, but where threads would be idle it is better to split
    // them: with many positions attention costs more.
    int64_t wanted = rangesWanted(heads_, kItemsPerThread, state.pool.threads());
    RowRanges ranges(rows, wanted * blockRows() <= rows ? blockRows() : 1, wanted);
    std::atomic<bool> failed{false};
    state.pool.parallelFor(ranges.count() * heads_, 1, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t item = begin; item < end; ++item) {
        int64_t range = item / heads_;
        if (!runHead(state, item % heads_, first + ranges.begin(range), first + ranges.end(range),
                     state.threadScratch(thread)))
          failed = true;
      }
    });
    return failed ? productFailed() : Status::success();
  }

  int64_t blockRows() const {
    return std::max(absorb_ ? absorb_->product().blockRows() : 1,
                    expand_ ? expand_->product().blockRows() : 1);
  }

  bool runHead(const StepState &state, int64_t head, int64_t begin, int64_t end,
               std::byte *scratch) const {
    if (absorb_ && !absorb_->run(state, head, begin, end, scratch))
      return false;
    for (int64_t row = begin; row < end; ++row)
      for (const HeadKernel &kernel : kernels_)
        kernel.run(row * heads_ + head);
    return !expand_ || expand_->run(state, head, begin, end, scratch);
  }

  int64_t heads_;
  int32_t hotSet_ = -1; ///< that the attention reads block by block; then a row is a token's
  std::vector<HeadKernel> kernels_;
  std::optional<HeadProduct> absorb_, expand_;
};

} // namespace

std::unique_ptr<Command> makeCommand(const package::HeadAttention &table, const Program &program) {
  return std::make_unique<HeadsCommand>(table, program);
}

std::unique_ptr<Command> makeCommand(const package::PartialScores &table, const Program &program) {
  return std::make_unique<HeadsCommand>(table, program);
}

} // namespace strata::rt
