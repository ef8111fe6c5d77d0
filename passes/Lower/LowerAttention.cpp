//===- LowerAttention.cpp - Attention, at once and in steps ---------------===//
#include "strata/passes/Lower/StepLowering.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace strata;

/// What one head of one token counts for when a launch is split among threads.
static constexpr int64_t kHeadElements = 1 << 14;

/// The arrays that all kernels of attention take before their output.
void StepLowering::addPlaces(SmallVector<Value> &arguments) {
  for (StepArray kind : {StepArray::Positions, StepArray::PageBegin, StepArray::Pages})
    arguments.push_back(commands.getStepArray(kind));
}

FailureOr<StepLowering::AttentionLaunch> StepLowering::prepareAttention(AttentionOp op) {
  SmallVector<Value> caches, rows, scores;
  SmallVector<KernelModule::Source> sources;
  for (const AttentionOp::Source &source : op.getSources()) {
    auto cacheType = cast<CacheType>(source.cache.getType());
    if (failed(checkOneElementType(op, cacheType)))
      return failure();
    Value cache = get(source.cache);
    auto known = llvm::find(caches, cache);
    int64_t number = known - caches.begin();
    if (known == caches.end())
      caches.push_back(cache);
    sources.push_back({cacheType, source.selector, MemRefType(), number});
    if (!source.rows)
      continue;
    rows.push_back(get(source.rows));
    sources.back().rows = getViewType(rows.back());
    if (op.getScores()) {
      scores.push_back(get(op.getScores()));
      sources.back().scores = getViewType(scores.back());
    }
  }
  Value query = get(op.getQuery()), output = commands.makeOutput(op.getResult());
  AttentionLaunch launch{{}, {query}, output};
  SmallVector<Value> &arguments = launch.arguments;
  llvm::append_range(arguments, caches);
  llvm::append_range(arguments, rows);
  llvm::append_range(arguments, scores);
  if (op.getSinks())
    arguments.push_back(get(op.getSinks()));
  if (op.getPartial())
    arguments.push_back(get(op.getPartial()));
  addPlaces(arguments);
  arguments.push_back(output);
  launch.kernel =
      kernels.attention(getViewType(query), sources, op.getSinks() != nullptr,
                        op.getScale().convertToDouble(), compute.isBF16(), getViewType(output),
                        op.getPartial() ? AttentionPart::Last : AttentionPart::Whole);
  return launch;
}

/// Records of the cache by number, whose keys `output` is for.
static KernelModule::Source getRecords(CacheType cache, Value records, MemRefType scores) {
  auto selector = SelectorAttr::get(cache.getContext(), SelectorKind::Records, /*count=*/0);
  return {cache, selector, getViewType(records), 0, scores};
}

FailureOr<StepLowering::AttentionLaunch> StepLowering::prepareScores(AttentionScoresOp op) {
  if (failed(checkOneElementType(op, op.getCache().getType())))
    return failure();
  Value query = get(op.getQuery()), records = get(op.getRecords());
  // What is there already stays: the others are written between.
  Value output = op.getInto() ? get(op.getInto()) : commands.makeOutput(op.getResult());
  AttentionLaunch launch{{}, {query, get(op.getCache()), records}, output};
  addPlaces(launch.arguments);
  launch.arguments.push_back(output);
  launch.kernel = kernels.attentionScores(
      getViewType(query), getRecords(op.getCache().getType(), records, getViewType(output)),
      op.getScale().convertToDouble(), compute.isBF16());
  return launch;
}

FailureOr<StepLowering::AttentionLaunch> StepLowering::preparePartial(PartialAttentionOp op) {
  if (failed(checkOneElementType(op, op.getCache().getType())))
    return failure();
  Value query = get(op.getQuery()), records = get(op.getRecords()),
        output = commands.makeOutput(op.getResult());
  AttentionLaunch launch{{}, {query, get(op.getCache()), records}, output};
  if (op.getSinks())
    launch.arguments.push_back(get(op.getSinks()));
  addPlaces(launch.arguments);
  launch.arguments.push_back(output);
  launch.kernel = kernels.attention(getViewType(query),
                                    getRecords(op.getCache().getType(), records, MemRefType()),
                                    op.getSinks() != nullptr, op.getScale().convertToDouble(),
                                    compute.isBF16(), getViewType(output), AttentionPart::First);
  return launch;
}

LogicalResult StepLowering::lowerOp(AttentionOp op) {
  FailureOr<AttentionLaunch> launch = prepareAttention(op);
  if (failed(launch))
    return failure();
  int64_t heads = op.getQuery().getType().getDimSize(1);
  commands.launch(launch->kernel, launch->arguments, commands.tokens(heads), kHeadElements);
  return mapTo(op, launch->output);
}

/// Absorption, attention and expansion; or absorption and the scores of what is there. What only
/// shapes is lowered on the way; a concatenation that the absorption alone doesn't fill copies the
/// rest first.
LogicalResult StepLowering::lowerHeads(KernelOp kernel) {
  HeadLinearOp absorb, expand;
  std::optional<AttentionLaunch> scores, attention;
  int64_t heads = 0;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    commands.setSource(&op);
    if (auto linear = dyn_cast<HeadLinearOp>(op)) {
      HeadLinearOp &product = attention ? expand : absorb;
      if (product || (scores && !attention))
        return linear.emitOpError()
               << "can't be lowered: expected at most one product before and after attention";
      product = linear;
      if (failed(mapTo(linear, commands.makeOutput(linear.getResult()))))
        return failure();
      continue;
    }
    bool isAttention = isa<AttentionOp>(op);
    if (!isAttention && !isa<AttentionScoresOp, PartialAttentionOp>(op)) {
      if (failed(lower(&op)))
        return failure();
      continue;
    }
    std::optional<AttentionLaunch> &launch = isAttention ? attention : scores;
    if (launch || attention)
      return op.emitOpError() << "can't be lowered: expected one attention in a kernel"
                              << (isAttention ? "" : ", and scores before it");
    FailureOr<AttentionLaunch> prepared =
        llvm::TypeSwitch<Operation *, FailureOr<AttentionLaunch>>(&op)
            .Case([&](AttentionOp attention) { return prepareAttention(attention); })
            .Case([&](AttentionScoresOp scores) { return prepareScores(scores); })
            .Case([&](PartialAttentionOp partial) { return preparePartial(partial); });
    if (failed(prepared) || failed(mapTo(&op, prepared->output)))
      return failure();
    launch = *prepared;
    heads = cast<ShapedType>(op.getOperand(0).getType()).getDimSize(1);
  }
  if (!attention && !scores)
    return kernel.emitOpError() << "can't be lowered: expected an attention in a kernel of heads";
  commands.setSource(kernel);
  Value absorbInput = absorb ? get(absorb.getInput()) : Value(),
        absorbWeight = absorb ? get(absorb.getWeight()) : Value(),
        query = absorb ? get(absorb.getResult()) : Value();
  if (!attention)
    commands.command<LaunchPartialScoresOp>(scores->kernel, scores->arguments, heads, absorbInput,
                                            absorbWeight, query, f32);
  else
    commands.command<LaunchHeadAttentionOp>(
        attention->kernel, attention->arguments, heads, absorbInput, absorbWeight, query,
        expand ? get(expand.getInput()) : Value(), expand ? get(expand.getWeight()) : Value(),
        expand ? get(expand.getResult()) : Value(), f32, scores ? scores->kernel : SymbolRefAttr(),
        scores ? ValueRange(scores->arguments) : ValueRange());
  return lower(kernel.getBody().front().getTerminator());
}
