//===- LowerToCommands.cpp - From ops on tensors to commands on buffers ---===//
#include "strata/passes/Lower/CommandBuilder.h"
#include "strata/passes/Lower/Kernels.h"
#include "strata/passes/Lower/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace strata {
#define GEN_PASS_DEF_LOWERTOCOMMANDS
#include "strata/passes/Lower/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

/// Elements of one row.
static int64_t getRowElements(Value view) {
  int64_t count = 1;
  for (int64_t size : getViewType(view).getShape().drop_front())
    count *= size;
  return count;
}

namespace {

/// Lowers the ops of one step, in order.
class StepLowering {
public:
  StepLowering(func::FuncOp oldStep, func::FuncOp newStep, ModuleOp kernels, Type compute)
      : oldStep(oldStep), newStep(newStep), kernels(kernels), compute(compute),
        commands(OpBuilder::atBlockEnd(&newStep.getBody().front()), newStep.getArgument(0)) {}

  LogicalResult run() {
    for (auto [before, after] : llvm::zip(oldStep.getArguments(), newStep.getArguments()))
      commands.map(before, after);
    // The lowered step has no rows among its arguments: a command takes them.
    for (BlockArgument argument : oldStep.getArguments().drop_front(newStep.getNumArguments()))
      importRows(argument);
    for (Operation &op : oldStep.getBody().front()) {
      commands.setSource(&op);
      if (failed(checkShapes(&op)) || failed(lower(&op)))
        return failure();
    }
    return success();
  }

private:
  /// Rows stand for tokens, so the first dimension of every tensor but weights is dynamic, and the
  /// others are known.
  LogicalResult checkShapes(Operation *op) {
    if (isa<WeightOp>(op))
      return success();
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        if (tensor.getRank() == 0 || !tensor.isDynamicDim(0) || tensor.getNumDynamicDims() != 1 ||
            tensor.getRank() > 3)
          return op->emitOpError() << "can't be lowered: expected a tensor of rank 1 to 3 whose "
                                      "first dimension alone "
                                      "is dynamic but got "
                                   << tensor;
    return success();
  }

  LogicalResult lower(Operation *op) {
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<TokenIdsOp>(
            [&](auto op) { return mapTo(op, commands.getStepArray(StepArray::TokenIds)); })
        .Case<PositionsOp>(
            [&](auto op) { return mapTo(op, commands.getStepArray(StepArray::Positions)); })
        .Case<WeightOp>(
            [&](auto op) { return mapTo(op, commands.getBuilder().clone(*op)->getResult(0)); })
        .Case<EmbeddingOp, LinearOp, HeadLinearOp, RmsNormOp, LayerNormOp, RopeOp, HadamardOp,
              GatedMlpOp, RouteOp, MixtureOfExpertsOp, AppendOp, SelectOp, AttentionOp, LogitsOp>(
            [&](auto op) { return lowerOp(op); })
        .Case<arith::AddFOp>([&](auto op) { return lowerBinary(op, /*isAdd=*/true); })
        .Case<arith::MulFOp>([&](auto op) { return lowerBinary(op, /*isAdd=*/false); })
        .Case<tensor::ExtractSliceOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
              tensor::ConcatOp>([&](auto op) { return lowerOp(op); })
        .Case<tensor::DimOp>(
            [&](auto) { return success(); }) // only reshapes use sizes, and views know theirs
        .Case<arith::ConstantOp>(
            [&](arith::ConstantOp op) -> LogicalResult {
              if (op.getType().isIndex())
                return success();
              return op.emitOpError()
                     << "can't be lowered: expected numbers to be weights of the checkpoint";
            })
        .Case<func::ReturnOp>([&](func::ReturnOp op) {
          func::ReturnOp::create(commands.getBuilder(), op.getLoc(), get(op.getOperand(0)));
          return success();
        })
        .Default([](Operation *op) { return op->emitOpError() << "can't be lowered for the CPU"; });
  }

  Value get(Value value) const { return commands.lookup(value); }

  LogicalResult mapTo(Operation *op, Value lowered) {
    commands.map(op->getResult(0), lowered);
    return success();
  }

  /// A kernel from one row to one row: output first allocated, then launched over the tokens.
  LogicalResult launchRows(Operation *op, SymbolRefAttr kernel, SmallVector<Value> arguments,
                           Value output) {
    arguments.push_back(output);
    commands.launch(kernel, arguments, commands.tokens(), getRowElements(output));
    return mapTo(op, output);
  }

  LogicalResult lowerOp(EmbeddingOp op) {
    Value output = commands.makeOutput(op.getResult());
    auto weight = op.getTable().getDefiningOp<WeightOp>();
    if (!weight)
      return op.emitOpError() << "can't be lowered: expected the table to be a strata.weight";
    // What kernels can't read as stored is bound as f32.
    Type element =
        weight.getStored().isBF16() ? weight.getStored() : Float32Type::get(op.getContext());
    auto table = MemRefType::get(op.getTable().getType().getShape(), element);
    return launchRows(op, kernels.embedding(table, getViewType(output)),
                      {get(op.getIds()), get(op.getTable())}, output);
  }

  LogicalResult lowerOp(LinearOp op) {
    Type f32 = Float32Type::get(op.getContext());
    Value output = commands.makeOutput(op.getResult());
    commands.product(get(op.getInput()), get(op.getWeight()),
                     op.getBias() ? get(op.getBias()) : Value(), output, commands.tokens(),
                     /*transposed=*/false, isHeadWeights(op.getResult()) ? f32 : compute);
    return mapTo(op, output);
  }

  /// Whether an indexer weighs its heads with a value. Like router logits these are products in f32
  /// whatever the compute type: they decide what is chosen, and cost little.
  static bool isHeadWeights(Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto select = dyn_cast<SelectOp>(user);
      return select && select.getHeadWeights() == value;
    });
  }

  /// In f32 whatever the compute type: MLA is absorbed by us, and rounding the operands of a
  /// product that the model's authors don't have would add an error that their bf16 runs don't have
  /// either.
  LogicalResult lowerOp(HeadLinearOp op) {
    Value output = commands.makeOutput(op.getResult());
    commands.product(get(op.getInput()), get(op.getWeight()), {}, output, commands.tokens(),
                     op.getTransposed(), Float32Type::get(op.getContext()));
    return mapTo(op, output);
  }

  LogicalResult lowerOp(LogitsOp op) {
    Value input = get(op.getInput()), output = commands.makeOutput(op.getResult());
    Value rows = commands.makeBuffer(commands.wanted(), getViewType(input).getShape().drop_front(),
                                     getViewType(input).getElementType());
    commands.launch(kernels.gatherRows(getViewType(input), getViewType(rows)),
                    {commands.getStepArray(StepArray::Wanted), input, rows}, commands.wanted(),
                    getRowElements(rows));
    commands.product(rows, get(op.getWeight()), {}, output, commands.wanted(), /*transposed=*/false,
                     compute);
    return mapTo(op, output);
  }

  LogicalResult lowerOp(RmsNormOp op) {
    Value input = get(op.getInput()), output = commands.makeOutput(op.getResult());
    SmallVector<Value> arguments{input};
    if (op.getWeight())
      arguments.push_back(get(op.getWeight()));
    SymbolRefAttr kernel = kernels.rmsNorm(getViewType(input), op.getWeight() != nullptr,
                                           op.getEpsilon().convertToDouble(), getViewType(output));
    return launchRows(op, kernel, arguments, output);
  }

  LogicalResult lowerOp(LayerNormOp op) {
    Value input = get(op.getInput()), output = commands.makeOutput(op.getResult());
    SymbolRefAttr kernel = kernels.layerNorm(getViewType(input), op.getEpsilon().convertToDouble(),
                                             getViewType(output));
    return launchRows(op, kernel, {input, get(op.getWeight()), get(op.getBias())}, output);
  }

  LogicalResult lowerOp(RopeOp op) {
    if (op.getWidth() == 0)
      return mapTo(op, get(op.getInput()));
    Value input = get(op.getInput()), table = commands.getRopeTable(op.getTable(), op.getWidth());
    Value output = commands.makeOutput(op.getResult());
    SymbolRefAttr kernel =
        kernels.rope(getViewType(input), op.getTable().getLayout(), op.getOffset(), op.getWidth(),
                     op.getInverse(), getViewType(output));
    return launchRows(op, kernel, {input, table}, output);
  }

  LogicalResult lowerOp(HadamardOp op) {
    Value input = get(op.getInput()), output = commands.makeOutput(op.getResult());
    return launchRows(op, kernels.hadamard(getViewType(input), getViewType(output)), {input},
                      output);
  }

  template <typename Op> LogicalResult lowerBinary(Op op, bool isAdd) {
    Value a = get(op.getLhs()), b = get(op.getRhs());
    if (!a || !b)
      return op.emitOpError() << "can't be lowered: expected both operands to be activations";
    Value output = commands.makeOutput(op.getResult());
    SymbolRefAttr kernel =
        isAdd ? kernels.add(getViewType(a), getViewType(b), getViewType(output))
              : kernels.multiply(getViewType(a), getViewType(b), getViewType(output));
    return launchRows(op, kernel, {a, b}, output);
  }

  /// activation(gate) × up for `rows` rows.
  Value launchGate(Activation activation, Value gate, Value up, SizeAttr rows) {
    Value output = commands.makeBuffer(rows, getViewType(gate).getShape().drop_front(),
                                       getViewType(gate).getElementType());
    SymbolRefAttr kernel =
        kernels.gate(activation, getViewType(gate), getViewType(up), getViewType(output));
    commands.launch(kernel, {gate, up, output}, rows, getRowElements(output));
    return output;
  }

  LogicalResult lowerOp(GatedMlpOp op) {
    int64_t width = op.getGate().getType().getDimSize(0);
    Type f32 = Float32Type::get(op.getContext());
    Value input = get(op.getInput()), gate = commands.makeBuffer(commands.tokens(), {width}, f32),
          up = commands.makeBuffer(commands.tokens(), {width}, f32);
    commands.product(input, get(op.getGate()), {}, gate, commands.tokens(), false, compute);
    commands.product(input, get(op.getUp()), {}, up, commands.tokens(), false, compute);
    Value gated = launchGate(op.getActivation(), gate, up, commands.tokens());
    Value output = commands.makeOutput(op.getResult());
    commands.product(gated, get(op.getDown()), {}, output, commands.tokens(), false, compute);
    return mapTo(op, output);
  }

  LogicalResult lowerOp(RouteOp op) {
    Type f32 = Float32Type::get(op.getContext());
    Value logits =
        commands.makeBuffer(commands.tokens(), {op.getRouter().getType().getDimSize(0)}, f32);
    commands.product(get(op.getInput()), get(op.getRouter()), {}, logits, commands.tokens(), false,
                     f32);
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

  LogicalResult lowerOp(MixtureOfExpertsOp op) {
    int64_t experts = op.getGate().getType().getDimSize(0),
            width = op.getGate().getType().getDimSize(1);
    int64_t features = op.getInput().getType().getDimSize(1),
            chosen = op.getExperts().getType().getDimSize(1);
    Type f32 = Float32Type::get(op.getContext()), i32 = IntegerType::get(op.getContext(), 32);
    SizeAttr entries = commands.tokens(chosen);

    Value order = commands.makeBuffer(entries, {}, i32),
          rank = commands.makeBuffer(entries, {}, i32),
          offsets = commands.makeBuffer(commands.fixed(experts + 1), {}, i32);
    commands.command<LaunchGroupByExpertOp>(get(op.getExperts()), order, rank, offsets, experts);

    auto groupedProduct = [&](Value input, Value weight, int64_t outputs, bool gather) {
      Value output = commands.makeBuffer(entries, {outputs}, f32);
      commands.command<LaunchGroupedProductOp>(input, get(weight), order, offsets, output, gather,
                                               compute, chosen);
      return output;
    };
    Value input = get(op.getInput()),
          gate = groupedProduct(input, op.getGate(), width, /*gather=*/true),
          up = groupedProduct(input, op.getUp(), width, /*gather=*/true);
    Value gated = launchGate(op.getActivation(), gate, up, entries);
    Value rows = groupedProduct(gated, op.getDown(), features, /*gather=*/false);

    Value weights = get(op.getWeights()), output = commands.makeOutput(op.getResult());
    SymbolRefAttr kernel =
        kernels.combineExperts(getViewType(weights), getViewType(rows), getViewType(output));
    return launchRows(op, kernel, {rank, weights, rows}, output);
  }

  LogicalResult checkOneElementType(Operation *op, CacheType cache) {
    for (CacheFieldAttr field : cache.getFields())
      if (field.getElementType() != cache.getFields().front().getElementType() ||
          !(field.getElementType().isF32() || field.getElementType().isBF16()))
        return op->emitOpError()
               << "can't be lowered for the CPU: expected a cache whose fields are all f32 or all "
                  "bf16 but got "
               << cache;
    return success();
  }

  LogicalResult lowerOp(AppendOp op) {
    CacheType cache = op.getCache().getType();
    if (failed(checkOneElementType(op, cache)))
      return failure();
    SmallVector<Value> arguments{commands.getStepArray(StepArray::Positions),
                                 commands.getStepArray(StepArray::PageBegin),
                                 commands.getStepArray(StepArray::Pages)};
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

  void importRows(BlockArgument rows) {
    commands.setSource(oldStep);
    auto type = cast<RankedTensorType>(rows.getType());
    Value output =
        commands.makeBuffer(commands.tokens(), type.getShape().drop_front(), type.getElementType());
    commands.command<LaunchImportRowsOp>(output, indexers++);
    commands.map(rows, output);
  }

  LogicalResult lowerOp(SelectOp op) {
    CacheType cache = op.getCache().getType();
    if (failed(checkOneElementType(op, cache)))
      return failure();
    SymbolRefAttr kernel = kernels.indexScores(cache, op.getQuery().getType().getDimSize(1),
                                               op.getScale().convertToDouble(), compute.isBF16());
    Value output = commands.makeOutput(op.getRows());
    bool exported = llvm::any_of(op->getUsers(), llvm::IsaPred<func::ReturnOp>);
    commands.command<LaunchSelectOp>(kernel, makeDense(get(op.getQuery())),
                                     makeDense(get(op.getHeadWeights())), get(op.getCache()),
                                     output, op.getK(), indexers++, exported);
    return mapTo(op, output);
  }

  LogicalResult lowerOp(AttentionOp op) {
    SmallVector<Value> caches, rows;
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
      if (source.rows)
        rows.push_back(get(source.rows));
      sources.push_back({cacheType, source.selector,
                         source.rows ? getViewType(rows.back()) : MemRefType(), number});
    }
    Value query = get(op.getQuery()), output = commands.makeOutput(op.getResult());
    SmallVector<Value> arguments{query};
    llvm::append_range(arguments, caches);
    llvm::append_range(arguments, rows);
    if (op.getSinks())
      arguments.push_back(get(op.getSinks()));
    for (StepArray kind : {StepArray::Positions, StepArray::PageBegin, StepArray::Pages})
      arguments.push_back(commands.getStepArray(kind));
    arguments.push_back(output);
    SymbolRefAttr kernel =
        kernels.attention(getViewType(query), sources, op.getSinks() != nullptr,
                          op.getScale().convertToDouble(), compute.isBF16(), getViewType(output));
    int64_t heads = op.getQuery().getType().getDimSize(1);
    commands.launch(kernel, arguments, commands.tokens(heads), /*itemElements=*/1 << 14);
    return mapTo(op, output);
  }

  //===--------------------------------------------------------------------===//
  // Slices, reshapes and concatenations
  //===--------------------------------------------------------------------===//

  /// The view itself, or a dense copy of it when its inner strides are not those of a dense row.
  Value makeDense(Value view) {
    MemRefType type = getViewType(view);
    auto [strides, offset] = type.getStridesAndOffset();
    int64_t dense = 1;
    bool isDense = true;
    for (int64_t i = type.getRank() - 1; i > 0; --i) {
      isDense &= strides[i] == dense;
      dense *= type.getDimSize(i);
    }
    if (isDense)
      return view;
    Value output =
        commands.makeBuffer(commands.tokens(), type.getShape().drop_front(), type.getElementType());
    commands.launch(kernels.copy(type, getViewType(output)), {view, output}, commands.tokens(),
                    getRowElements(output));
    return output;
  }

  LogicalResult lowerReshape(Operation *op, Value input, RankedTensorType result) {
    SmallVector<int64_t> strides;
    int64_t stride = 1;
    for (int64_t size : llvm::reverse(result.getShape().drop_front())) {
      strides.insert(strides.begin(), stride);
      stride *= size;
    }
    Value dense = makeDense(input);
    if (getRowElements(dense) != stride)
      return op->emitOpError() << "can't be lowered: expected the first dimension to stay";
    return mapTo(op, commands.makeView(dense, 0, result.getShape().drop_front(), strides));
  }

  LogicalResult lowerOp(tensor::ExpandShapeOp op) {
    return lowerReshape(op, get(op.getSrc()), op.getResultType());
  }
  LogicalResult lowerOp(tensor::CollapseShapeOp op) {
    return lowerReshape(op, get(op.getSrc()), op.getResultType());
  }

  LogicalResult lowerOp(tensor::ExtractSliceOp op) {
    ArrayRef<int64_t> offsets = op.getStaticOffsets(), steps = op.getStaticStrides();
    bool allRows = offsets.front() == 0 && ShapedType::isDynamic(op.getStaticSizes().front()) &&
                   op.getType().getRank() == op.getSourceType().getRank();
    if (!allRows || llvm::any_of(offsets, ShapedType::isDynamic) ||
        llvm::any_of(steps, [](int64_t step) { return step != 1; }))
      return op.emitOpError() << "can't be lowered: expected a slice of all tokens with static "
                                 "offsets and strides of 1";
    Value input = get(op.getSource());
    auto [strides, ignored] = getViewType(input).getStridesAndOffset();
    int64_t offset = 0;
    for (auto [start, stride] : llvm::drop_begin(llvm::zip(offsets, strides)))
      offset += start * stride;
    return mapTo(op, commands.makeView(input, offset, op.getType().getShape().drop_front(),
                                       ArrayRef<int64_t>(strides).drop_front()));
  }

  LogicalResult lowerOp(tensor::ConcatOp op) {
    if (int64_t(op.getDim()) != op.getResultType().getRank() - 1 ||
        op.getResultType().getRank() < 2)
      return op.emitOpError()
             << "can't be lowered: expected a concatenation along the last of several dimensions";
    for (unsigned i = 0; i < op.getInputs().size(); ++i) {
      if (commands.isInPlace(op, i))
        continue;
      Value input = get(op.getInputs()[i]), part = commands.getConcatPart(op, i);
      commands.launch(kernels.copy(getViewType(input), getViewType(part)), {input, part},
                      commands.tokens(), getRowElements(part));
    }
    return mapTo(op, commands.getConcatBuffer(op));
  }

  func::FuncOp oldStep, newStep;
  KernelModule kernels;
  Type compute;
  CommandBuilder commands;
  int64_t indexers = 0, mixtures = 0;
};

struct LowerToCommands : strata::impl::LowerToCommandsBase<LowerToCommands> {
  using LowerToCommandsBase::LowerToCommandsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto step = module.lookupSymbol<func::FuncOp>("step");
    if (!step || step.isExternal() || step.getNumResults() == 0) {
      module.emitError() << "expected a function @step that returns logits";
      return signalPassFailure();
    }
    auto logits = dyn_cast<RankedTensorType>(step.getResultTypes().front());
    if (!logits) {
      step.emitError() << "expected @step to return logits first but got "
                       << step.getFunctionType();
      return signalPassFailure();
    }
    auto computeAttribute = module->getAttrOfType<TypeAttr>("strata.compute");
    Type compute = computeAttribute ? computeAttribute.getValue() : Float32Type::get(&getContext());

    OpBuilder builder(step);
    auto kernels = ModuleOp::create(builder, module.getLoc(), "kernels");
    ArrayRef<Type> arguments =
        step.getArgumentTypes().take_while(llvm::IsaPred<BatchType, CacheType>);
    auto type = builder.getFunctionType(
        arguments, MemRefType::get(logits.getShape(), logits.getElementType()));
    auto lowered = func::FuncOp::create(builder, step.getLoc(), "step", type);
    // The caches' names, for messages and traces.
    if (ArrayAttr attributes = step.getArgAttrsAttr())
      lowered.setArgAttrsAttr(
          builder.getArrayAttr(attributes.getValue().take_front(arguments.size())));
    lowered.addEntryBlock();
    if (failed(StepLowering(step, lowered, kernels, compute).run())) {
      lowered.erase(); // half a step would only add errors of its own
      return signalPassFailure();
    }
    step.erase();
  }
};

} // namespace
