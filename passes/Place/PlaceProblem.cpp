//===- PlaceProblem.cpp - The planner's problem, from a step --------------===//
#include "strata/passes/Place/PlaceProblem.h"

#include "strata/dialects/Strata/StoredBytes.h"
#include "strata/passes/Place/PredictedTimes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace strata;

/// Blocks that a stream has at least.
static constexpr int64_t kBlocks = 8;

SmallVector<Value> strata::getIndexerRows(func::FuncOp step) {
  SmallVector<Value> rows;
  for (BlockArgument argument : step.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      rows.push_back(argument);
  for (auto select : step.getOps<SelectOp>())
    rows.push_back(select.getRows());
  return rows;
}

uint64_t strata::getRecordBytes(const StepCache &cache, int64_t records) {
  uint64_t pages = llvm::divideCeil(records, cache.type.getPageSize());
  return pages * uint64_t(cache.type.getPageSize() * cache.type.getRecordBytes());
}

uint64_t strata::getPoolBytes(const StepCache &cache, const PlaceSizes &sizes) {
  return uint64_t(sizes.batch) * getRecordBytes(cache, sizes.context);
}

/// How many devices a weight is divided among: the experts of a stack among those of the expert
/// degree, all else among those of the tensor degree; layers among the stages.
static double getDegree(const StepWeight &weight, const MachinePartition &partition) {
  bool isStack = llvm::all_of(weight.uses,
                              [](OpOperand *use) { return isa<ExpertOutputsOp>(use->getOwner()); });
  int64_t degree = isStack ? std::max(partition.expert, partition.tensor) : partition.tensor;
  return double(degree) * double(partition.pipeline);
}

static plan::BufferClass getClass(const StepCache &cache) {
  return holdsIndexKeys(cache.type) ? plan::BufferClass::IndexKeys : plan::BufferClass::Latents;
}

static plan::Buffer makeBuffer(const StepCache &cache, const PlaceSizes &sizes, double degree,
                               Movable movable) {
  plan::Buffer buffer;
  buffer.name = cache.name;
  buffer.bufferClass = getClass(cache);
  buffer.bytes = uint64_t(double(getPoolBytes(cache, sizes)) / degree);
  buffer.rowBytes = cache.type.getRecordBytes();
  if (movable == Movable::Weights ||
      (movable == Movable::AllButRows && cache.access == CacheAccess::Rows))
    return buffer;
  switch (cache.access) {
  case CacheAccess::Rows:
    buffer.elsewhere = plan::Buffer::Elsewhere::Rows;
    buffer.stagedBytes = getRecordBytes(cache, sizes.tokens);
    break;
  case CacheAccess::Stream:
    buffer.elsewhere = plan::Buffer::Elsewhere::Stream;
    buffer.stagedBytes = getRecordBytes(cache, sizes.tokens);
    buffer.bytesPerStep = buffer.bytes;
    break;
  case CacheAccess::Pages:
    buffer.elsewhere = plan::Buffer::Elsewhere::Reload;
    buffer.bytesPerStep = buffer.bytes;
    break;
  case CacheAccess::Fixed:
    break;
  }
  return buffer;
}

plan::Problem strata::makeProblem(const StepModel &model, const Machine &machine,
                                  const PlaceSizes &sizes, uint64_t capacity,
                                  uint64_t workspaceBytes, Movable movable) {
  plan::Problem problem;
  problem.context = sizes.context;
  problem.batch = problem.tokens = sizes.batch;
  problem.capacity = capacity;
  // An eighth of the records at a time: short contexts would not fill a block of the usual size.
  if (!model.caches.empty()) {
    int64_t page = model.caches.front().type.getPageSize();
    int64_t part = llvm::divideCeil(sizes.context * sizes.batch, kBlocks * page) * page;
    problem.blockRecords = std::min(problem.blockRecords, part);
  }

  PredictedTimes times(model.getStep()->getParentOfType<ModuleOp>(), machine, sizes);
  DenseMap<Operation *, int64_t> numbers;
  for (Operation &op : model.getStep().getBody().front()) {
    numbers[&op] = int64_t(numbers.size());
    problem.commandSeconds.push_back(times.getSeconds(&op));
    problem.commandLayer.push_back(int(getLayer(&op)));
  }
  int64_t last = std::max<int64_t>(int64_t(numbers.size()) - 1, 0);

  for (const StepWeight &weight : model.weights) {
    plan::Buffer buffer;
    buffer.name = weight.name;
    buffer.bytes = uint64_t(double(weight.bytes) / getDegree(weight, machine.partition));
    buffer.firstUse = numbers.lookup(weight.commands.front());
    buffer.lastUse = numbers.lookup(weight.commands.back());
    if (weight.isStored) {
      buffer.elsewhere = plan::Buffer::Elsewhere::Reload;
      // It comes anew for each command that reads it.
      buffer.bytesPerStep = buffer.bytes * weight.commands.size();
    }
    problem.buffers.push_back(buffer);
  }
  ProblemIndex index{unsigned(model.weights.size()), unsigned(model.caches.size())};
  for (const StepCache &cache : model.caches) {
    plan::Buffer buffer = makeBuffer(cache, sizes, double(machine.partition.pipeline), movable);
    buffer.firstUse = cache.first ? numbers.lookup(cache.first) : 0;
    buffer.lastUse = cache.last ? numbers.lookup(cache.last) : last;
    problem.buffers.push_back(buffer);
  }
  plan::Buffer activations;
  activations.name = "activations";
  activations.bufferClass = plan::BufferClass::Activations;
  activations.bytes = workspaceBytes;
  activations.lastUse = last;
  problem.buffers.push_back(activations);

  SmallVector<Value> indexers = getIndexerRows(model.getStep());
  for (const StepGroup &group : model.groups) {
    plan::RowGroup rows;
    rows.name = group.name;
    rows.k = group.k;
    for (unsigned cache : group.caches)
      rows.caches.push_back(int(index.ofCache(cache)));
    // Imported rows are known before the step begins.
    if (Operation *definition = group.rows.getDefiningOp())
      rows.known =
          numbers.lookup(model.getStep().getBody().front().findAncestorOpInBlock(*definition));
    int64_t layer = getLayer(model.caches[group.caches.front()].readers.front());
    size_t indexer = size_t(llvm::find(indexers, group.rows) - indexers.begin());
    rows.misses = indexer < sizes.misses.size()
                      ? sizes.misses[indexer]
                      : plan::defaultMissCurve(std::max<int64_t>(layer, 0));
    problem.groups.push_back(rows);
  }
  return problem;
}
