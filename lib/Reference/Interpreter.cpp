//===- Interpreter.cpp - Walks @step op by op -----------------------------===//
#include "strata/lib/Reference/Interpreter.h"

#include "strata/lib/Reference/InputModule.h"
#include "strata/lib/Reference/Ops.h"
#include "strata/runtime/core/Trace.h"

#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <unistd.h>

using namespace mlir;

namespace strata::reference {

/// Bytes for widened weights: what the limit leaves beside full caches; without a limit three
/// quarters of the machine's memory.
static Expected<uint64_t> computeWeightBudget(func::FuncOp step,
                                              const rt::ExecutorOptions &options) {
  if (options.memoryLimit == 0)
    return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGE_SIZE)) / 4 * 3;
  uint64_t caches = 0;
  for (BlockArgument argument : getCaches(step)) {
    auto type = cast<CacheType>(argument.getType());
    for (CacheFieldAttr field : type.getFields())
      caches += 4 * uint64_t(field.getElements()) * uint64_t(type.getPageSize()) *
                uint64_t(options.maxPages);
  }
  if (caches > options.memoryLimit)
    return Status(StatusCode::OutOfMemory,
                  "expected a memory limit of at least " + std::to_string(caches) +
                      " bytes for the caches but got " + std::to_string(options.memoryLimit));
  return options.memoryLimit - caches;
}

Expected<std::unique_ptr<Interpreter>> Interpreter::create(ModuleOp module,
                                                           const Checkpoint *checkpoint,
                                                           const rt::ExecutorOptions &options) {
  Expected<func::FuncOp> step = findStep(module);
  if (!step.ok())
    return step.status();
  Expected<uint64_t> budget = computeWeightBudget(*step, options);
  if (!budget.ok())
    return budget.status();
  auto weights = llvm::to_vector((*step).front().getOps<WeightOp>());
  Expected<WeightStore> store = WeightStore::bind(weights, checkpoint, *budget);
  if (!store.ok())
    return store.status();
  return std::unique_ptr<Interpreter>(new Interpreter(*step, std::move(*store), options));
}

Interpreter::Interpreter(func::FuncOp step, WeightStore weights, const rt::ExecutorOptions &options)
    : step_(step), options_(options), resources_(std::move(weights), options.threads) {
  for (BlockArgument argument : getCaches(step))
    resources_.caches.emplace_back(cast<CacheType>(argument.getType()), options.maxSequences);
  importedIndexers_ = getRows(step).size();
  indexers_ = importedIndexers_;
  llvm::DenseSet<Value> used;
  for (Operation &op : llvm::reverse(step.front()))
    op.walk(
        [&](Operation *inner) { // what a kernel uses or makes dies with the kernel at the latest
          for (Value value : llvm::concat<const Value>(inner->getOperands(), inner->getResults()))
            if (used.insert(value).second)
              dying_[&op].push_back(value);
        });
  for (Operation &op : step.front()) {
    if (isa<SelectOp, TopKOp>(op))
      numbers_[&op] = int64_t(indexers_++);
    else if (isa<RouteOp>(op))
      numbers_[&op] = int64_t(mixtures_++);
  }
}

Status Interpreter::checkInput(const rt::StepInput &input, const rt::StepOutput &output) const {
  auto invalid = [](const std::string &message) {
    return Status(StatusCode::InvalidArgument, message);
  };
  size_t tokens = input.tokenIds.size();
  if (input.positions.size() != tokens || input.sequences.size() != tokens)
    return invalid("expected positions and sequences for " + std::to_string(tokens) +
                   " tokens but got " + std::to_string(input.positions.size()) + " and " +
                   std::to_string(input.sequences.size()));
  std::map<int32_t, size_t> last; // the last token of each sequence
  for (size_t token = 0; token < tokens; ++token) {
    int32_t sequence = input.sequences[token], position = input.positions[token];
    if (sequence < 0 || sequence >= options_.maxSequences)
      return invalid("token " + std::to_string(token) + ": expected a sequence from 0 to " +
                     std::to_string(options_.maxSequences - 1) + " but got " +
                     std::to_string(sequence));
    if (position < 0)
      return invalid("token " + std::to_string(token) +
                     ": expected a position of at least 0 but got " + std::to_string(position));
    auto [previous, isFirst] = last.try_emplace(sequence, token);
    if (!isFirst) {
      if (previous->second + 1 != token || input.positions[previous->second] + 1 != position)
        return invalid("token " + std::to_string(token) + ": expected the tokens of sequence " +
                       std::to_string(sequence) + " to follow each other");
      previous->second = token;
    }
  }
  for (int32_t token : input.wanted)
    if (token < 0 || size_t(token) >= tokens)
      return invalid("expected the logits of a token from 0 to " + std::to_string(tokens - 1) +
                     " to be wanted but got " + std::to_string(token));
  auto checkArrays = [&](const char *what, size_t count, size_t expected) {
    if (count == 0 || count == expected)
      return Status::success();
    return invalid("expected " + std::to_string(expected) + " arrays of " + what + " but got " +
                   std::to_string(count));
  };
  if (importedIndexers_ > 0 && input.importedRows.empty())
    return invalid("expected " + std::to_string(indexers_) + " arrays of imported rows but got 0");
  for (Status status : {checkArrays("imported rows", input.importedRows.size(), indexers_),
                        checkArrays("imported experts", input.importedExperts.size(), mixtures_),
                        checkArrays("rows", output.rows.size(), indexers_),
                        checkArrays("experts", output.experts.size(), mixtures_)})
    if (!status.ok())
      return status;
  return Status::success();
}

Status Interpreter::setActivations(StepState &state, std::vector<Tensor> activations) {
  auto arguments = getActivations(step_);
  if (activations.size() != arguments.size())
    return errorAt(step_, "expected " + llvm::Twine(arguments.size()) + " activations but got " +
                              llvm::Twine(activations.size()));
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    if (int64_t(activations[number].floats.size()) != activations[number].elements())
      return errorAt(step_,
                     "expected activation " + llvm::Twine(number) + " to be a tensor of f32");
    state.set(argument, std::move(activations[number]));
    Shape expected(cast<RankedTensorType>(argument.getType()).getShape());
    expected.front() = state.tokens();
    std::string what = "activation " + std::to_string(number);
    if (Status status = state.expectShape(step_, what.c_str(), argument, expected); !status.ok())
      return status;
  }
  return Status::success();
}

Status Interpreter::runOp(StepState &state, Operation *op) {
  return llvm::TypeSwitch<Operation *, Status>(op)
      .Case<RouteOp, TopKOp, SelectOp>(
          [&](auto numbered) { return reference::run(state, numbered, numbers_.lookup(op)); })
      .Case<KernelOp>([&](KernelOp kernel) { return runKernel(state, kernel); })
      .Case<TokenIdsOp, PositionsOp, WeightOp, EmbeddingOp, LinearOp, HeadLinearOp, RmsNormOp,
            LayerNormOp, RopeOp, HadamardOp, GatedMlpOp, GatedLinearOp, MixtureOfExpertsOp,
            ExpertOutputsOp, CombineExpertsOp, AppendOp, IndexScoresOp, AttentionOp, LogitsOp,
            arith::AddFOp, arith::MulFOp, arith::ConstantOp, tensor::ExtractSliceOp,
            tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ConcatOp, tensor::DimOp>(
          [&](auto known) { return reference::run(state, known); })
      .Default([](Operation *other) {
        return errorAt(other, "is not an op of the phase input", StatusCode::Unsupported);
      });
}

/// A kernel means what its ops mean.
Status Interpreter::runKernel(StepState &state, KernelOp kernel) {
  Block &body = kernel.getBody().front();
  for (Operation &op : body.without_terminator())
    if (Status status = runOp(state, &op); !status.ok())
      return status;
  for (auto [inner, outer] : llvm::zip(body.getTerminator()->getOperands(), kernel.getResults()))
    state.setAlias(outer, inner);
  return Status::success();
}

void Interpreter::trace(Operation *op, rt::Trace::Clock::time_point begin) {
  std::string label = op->getName().getStringRef().str();
  if (auto layer = op->getAttrOfType<IntegerAttr>("strata.layer"))
    label = "layer " + std::to_string(layer.getInt()) + " " + label;
  options_.trace->add(label, "op", 0, begin, rt::Trace::Clock::now());
}

Expected<std::vector<Tensor>> Interpreter::run(const rt::StepInput &input, rt::StepOutput &output,
                                               std::vector<Tensor> activations) {
  if (Status status = checkInput(input, output); !status.ok())
    return status;
  output.nanScores = 0;
  StepState state(resources_, input, output);
  Block &block = step_.front();
  for (BlockArgument argument : getCaches(step_))
    state.setCache(argument, argument.getArgNumber() - 1);
  for (auto [indexer, argument] : llvm::enumerate(getRows(step_)))
    if (Status status = importRows(state, step_, argument, int64_t(indexer)); !status.ok())
      return status;
  if (Status status = setActivations(state, std::move(activations)); !status.ok())
    return status;
  for (Operation &op : block.without_terminator()) {
    auto begin = rt::Trace::Clock::now();
    if (Status status = runOp(state, &op); !status.ok())
      return status;
    if (options_.trace)
      trace(&op, begin);
    for (Value value : dying_.lookup(&op))
      state.drop(value);
  }
  std::vector<Tensor> results;
  for (Value value : block.getTerminator()->getOperands())
    if (isa<RankedTensorType>(value.getType()))
      results.push_back(state.tensor(value));
  peakTensorBytes_ = std::max(peakTensorBytes_, state.peakBytes());
  return results;
}

uint64_t Interpreter::memoryBytes() const {
  uint64_t bytes = resources_.weights.widenedBytes() + peakTensorBytes_;
  for (const Cache &cache : resources_.caches)
    bytes += cache.bytes();
  return bytes;
}

} // namespace strata::reference
