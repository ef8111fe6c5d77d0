//===- LowerOps.cpp - Ops one by one --------------------------------------===//
#include "strata/passes/Lower/StepLowering.h"

using namespace mlir;
using namespace strata;

LogicalResult StepLowering::launchRows(Operation *op, SymbolRefAttr kernel,
                                       SmallVector<Value> arguments, Value output) {
  arguments.push_back(output);
  commands.launch(kernel, arguments, commands.tokens(), getRowElements(output));
  return mapTo(op, output);
}

LogicalResult StepLowering::lowerOp(EmbeddingOp op) {
  Value output = commands.makeOutput(op.getResult());
  auto weight = get(op.getTable()).getDefiningOp<WeightOp>();
  if (!weight)
    return op.emitOpError() << "can't be lowered: expected the table to be a strata.weight";
  // What kernels can't read as stored is bound as f32.
  Type element =
      weight.getStored().isBF16() ? weight.getStored() : Float32Type::get(op.getContext());
  auto table = MemRefType::get(op.getTable().getType().getShape(), element);
  return launchRows(op, kernels.embedding(table, getViewType(output)),
                    {get(op.getIds()), get(op.getTable())}, output);
}

/// Whether an indexer weighs its heads with a value. Like router logits these are products in f32
/// whatever the compute type: they decide what is chosen, and cost little.
static bool isHeadWeights(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto select = dyn_cast<SelectOp>(user);
    return select && select.getHeadWeights() == value;
  });
}

LogicalResult StepLowering::lowerOp(LinearOp op) {
  Value output = commands.makeOutput(op.getResult());
  SmallVector<Value> biases;
  if (op.getBias())
    biases.push_back(get(op.getBias()));
  commands.product(get(op.getInput()), get(op.getWeight()), biases, {}, output, commands.tokens(),
                   /*transposed=*/false, isHeadWeights(op.getResult()) ? f32 : compute);
  return mapTo(op, output);
}

/// In f32 whatever the compute type: MLA is absorbed by us, and rounding the operands of a
/// product that the model's authors don't have would add an error that their bf16 runs don't have
/// either.
LogicalResult StepLowering::lowerOp(HeadLinearOp op) {
  Value output = commands.makeOutput(op.getResult());
  commands.product(get(op.getInput()), get(op.getWeight()), {}, {}, output, commands.tokens(),
                   op.getTransposed(), f32);
  return mapTo(op, output);
}

LogicalResult StepLowering::lowerOp(LogitsOp op) {
  Value input = get(op.getInput()), output = commands.makeOutput(op.getResult());
  Value rows = commands.makeBuffer(commands.wanted(), getViewType(input).getShape().drop_front(),
                                   getViewType(input).getElementType());
  commands.launch(kernels.gatherRows(getViewType(input), getViewType(rows)),
                  {commands.getStepArray(StepArray::Wanted), input, rows}, commands.wanted(),
                  getRowElements(rows));
  commands.product(rows, get(op.getWeight()), {}, {}, output, commands.wanted(),
                   /*transposed=*/false, compute);
  return mapTo(op, output);
}

LogicalResult StepLowering::lowerOp(RmsNormOp op) {
  Value input = get(op.getInput()), output = commands.makeOutput(op.getResult());
  SmallVector<Value> arguments{input};
  if (op.getWeight())
    arguments.push_back(get(op.getWeight()));
  SymbolRefAttr kernel = kernels.rmsNorm(getViewType(input), op.getWeight() != nullptr,
                                         op.getEpsilon().convertToDouble(), getViewType(output));
  return launchRows(op, kernel, arguments, output);
}

LogicalResult StepLowering::lowerOp(LayerNormOp op) {
  Value input = get(op.getInput()), output = commands.makeOutput(op.getResult());
  SymbolRefAttr kernel =
      kernels.layerNorm(getViewType(input), op.getEpsilon().convertToDouble(), getViewType(output));
  return launchRows(op, kernel, {input, get(op.getWeight()), get(op.getBias())}, output);
}

LogicalResult StepLowering::lowerOp(RopeOp op) {
  if (op.getWidth() == 0)
    return mapTo(op, get(op.getInput()));
  Value input = get(op.getInput()), table = commands.getRopeTable(op.getTable(), op.getWidth());
  Value output = commands.makeOutput(op.getResult());
  SymbolRefAttr kernel = kernels.rope(getViewType(input), op.getTable().getLayout(), op.getOffset(),
                                      op.getWidth(), op.getInverse(), getViewType(output));
  return launchRows(op, kernel, {input, table}, output);
}

LogicalResult StepLowering::lowerOp(HadamardOp op) {
  Value input = get(op.getInput()), output = commands.makeOutput(op.getResult());
  return launchRows(op, kernels.hadamard(getViewType(input), getViewType(output)), {input}, output);
}

LogicalResult StepLowering::lowerOp(RouteOp op) {
  Value logits =
      commands.makeBuffer(commands.tokens(), {op.getRouter().getType().getDimSize(0)}, f32);
  commands.product(get(op.getInput()), get(op.getRouter()), {}, {}, logits, commands.tokens(),
                   false, f32);
  Value experts = commands.makeOutput(op.getExperts()),
        weights = commands.makeOutput(op.getWeights());
  commands.command<LaunchRouteOp>(logits, op.getCorrection() ? get(op.getCorrection()) : Value(),
                                  experts, weights, op.getScoring(), op.getGroups(),
                                  op.getTopGroups(), op.getGroupScore(), op.getNormalise(),
                                  op.getScale(), mixtures++);
  commands.map(op.getExperts(), experts);
  commands.map(op.getWeights(), weights);
  return success();
}

LogicalResult StepLowering::checkOneElementType(Operation *op, CacheType cache) {
  for (CacheFieldAttr field : cache.getFields())
    if (field.getElementType() != cache.getFields().front().getElementType() ||
        !(field.getElementType().isF32() || field.getElementType().isBF16()))
      return op->emitOpError()
             << "can't be lowered for the CPU: expected a cache whose fields are all f32 or all "
                "bf16 but got "
             << cache;
  return success();
}

LogicalResult StepLowering::lowerOp(AppendOp op) {
  CacheType cache = op.getCache().getType();
  if (failed(checkOneElementType(op, cache)))
    return failure();
  // In order, record n is token n's.
  bool inOrder = op.getInOrder();
  SmallVector<Value> arguments{
      commands.getStepArray(inOrder ? StepArray::TokenNumbers : StepArray::Positions),
      commands.getStepArray(inOrder ? StepArray::Zeros : StepArray::PageBegin),
      commands.getStepArray(inOrder ? StepArray::PageNumbers : StepArray::Pages)};
  SmallVector<MemRefType> types;
  int64_t elements = 0;
  for (Value value : op.getValues()) {
    arguments.push_back(get(value));
    types.push_back(getViewType(get(value)));
    elements += getRowElements(get(value));
  }
  arguments.push_back(get(op.getCache()));
  commands.launch(kernels.append(cache, types), arguments, commands.tokens(), elements);
  return mapTo(op, get(op.getCache())); // written in place
}

void StepLowering::importRows(BlockArgument rows) {
  commands.setSource(oldStep);
  auto type = cast<RankedTensorType>(rows.getType());
  Value output =
      commands.makeBuffer(commands.tokens(), type.getShape().drop_front(), type.getElementType());
  commands.command<LaunchImportRowsOp>(output, indexers++);
  commands.map(rows, output);
}

LogicalResult StepLowering::lowerOp(SelectOp op) {
  CacheType cache = op.getCache().getType();
  if (failed(checkOneElementType(op, cache)))
    return failure();
  SymbolRefAttr kernel = kernels.indexScores(cache, op.getQuery().getType().getDimSize(1),
                                             op.getScale().convertToDouble(), compute.isBF16());
  Value output = commands.makeOutput(op.getRows());
  bool exported = llvm::any_of(op->getUsers(), llvm::IsaPred<func::ReturnOp>);
  std::optional<int64_t> engine = tiers.getStreamEngine(get(op.getCache()));
  commands.command<LaunchSelectOp>(
      kernel, makeDense(get(op.getQuery())), makeDense(get(op.getHeadWeights())),
      get(op.getCache()), output, op.getK(), indexers++, exported,
      engine ? commands.getBuilder().getI64IntegerAttr(*engine) : IntegerAttr());
  return mapTo(op, output);
}

LogicalResult StepLowering::lowerOp(RecordsOp op) {
  Value output = commands.makeOutput(op.getRecords());
  commands.command<LaunchRecordsOp>(get(op.getRows()), output, op.getPageSize());
  return mapTo(op, output);
}

LogicalResult StepLowering::lowerOp(arith::AddFOp op) {
  Value a = get(op.getLhs()), b = get(op.getRhs()), output = commands.makeOutput(op.getResult());
  return launchRows(op, kernels.add(getViewType(a), getViewType(b), getViewType(output)), {a, b},
                    output);
}

LogicalResult StepLowering::lowerOp(arith::MulFOp op) {
  Value a = get(op.getLhs()), b = get(op.getRhs()), output = commands.makeOutput(op.getResult());
  return launchRows(op, kernels.multiply(getViewType(a), getViewType(b), getViewType(output)),
                    {a, b}, output);
}

LogicalResult StepLowering::lowerOp(GatedLinearOp op) {
  Value output = commands.makeOutput(op.getResult());
  commands.command<LaunchGatedProductOp>(kernels.gate(op.getActivation()), get(op.getInput()),
                                         get(op.getGate()), get(op.getUp()), output,
                                         commands.tokens(), compute);
  return mapTo(op, output);
}

/// The rows of the result lie grouped by expert; `expertRanks` says where a token's are.
LogicalResult StepLowering::lowerOp(ExpertOutputsOp op) {
  int64_t experts = op.getGate().getType().getDimSize(0),
          width = op.getGate().getType().getDimSize(1);
  int64_t features = op.getInput().getType().getDimSize(1),
          chosen = op.getExperts().getType().getDimSize(1);
  Type i32 = IntegerType::get(op.getContext(), 32);
  SizeAttr entries = commands.tokens(chosen);
  Value order = commands.makeBuffer(entries, {}, i32), rank = commands.makeBuffer(entries, {}, i32),
        offsets = commands.makeBuffer(commands.fixed(experts + 1), {}, i32);
  commands.command<LaunchGroupByExpertOp>(get(op.getExperts()), order, rank, offsets, experts);

  Value gated = commands.makeBuffer(entries, {width}, f32),
        rows = commands.makeBuffer(entries, {features}, f32);
  commands.command<LaunchGroupedProductOp>(get(op.getInput()), get(op.getGate()), get(op.getUp()),
                                           order, offsets, gated, kernels.gate(op.getActivation()),
                                           /*gather=*/true, compute, chosen);
  commands.command<LaunchGroupedProductOp>(gated, get(op.getDown()), Value(), order, offsets, rows,
                                           SymbolRefAttr(),
                                           /*gather=*/false, compute, chosen);
  expertRanks[op.getResult()] = rank;
  return mapTo(op, rows);
}

LogicalResult StepLowering::lowerOp(CombineExpertsOp op) {
  Value rank = expertRanks.lookup(op.getOutputs());
  if (!rank)
    return op.emitOpError() << "can't be lowered: expected the outputs of a strata.expert_outputs";
  Value rows = get(op.getOutputs()), weights = get(op.getWeights()),
        output = commands.makeOutput(op.getResult());
  SymbolRefAttr kernel =
      kernels.combineExperts(getViewType(weights), getViewType(rows), getViewType(output));
  return launchRows(op, kernel, {rank, weights, rows}, output);
}
