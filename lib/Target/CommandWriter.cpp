//===- CommandWriter.cpp - Ops of a lowered program as commands -----------===//
#include "strata/lib/Target/CommandWriter.h"

#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Target/CommandCosts.h"
#include "strata/lib/Target/Labels.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace strata;

/// The size of a dimension of a buffer or view, counted from the last.
static int64_t getSizeFromLast(Value view, int64_t dimension) {
  auto type = cast<MemRefType>(view.getType());
  return type.getDimSize(type.getRank() - 1 - dimension);
}

LogicalResult CommandWriter::write(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<LaunchOp, LaunchRopeTableOp, LaunchProductOp, LaunchGatedProductOp,
            LaunchHeadAttentionOp, LaunchPartialScoresOp, LaunchGroupByExpertOp,
            LaunchGroupedProductOp, LaunchRouteOp, LaunchSelectOp, LaunchImportRowsOp,
            LaunchRecordsOp, LaunchResolveOp, LaunchGatherOp, LaunchWriteBackOp, LaunchReloadOp,
            LaunchWaitOp>([&](auto command) { return append(command); })
      .Case<BufferOp, ViewOp, StepArrayOp, WeightOp, NearRowsOp, func::ReturnOp>(
          [](auto) { return success(); })
      .Default([](Operation *other) {
        return other->emitOpError("is no command, so a package can't hold it");
      });
}

template <typename Table>
void CommandWriter::add(Operation *op, package::Command kind, flatbuffers::Offset<Table> table) {
  auto label = buffer.CreateString(getCommandLabel(op));
  auto layer = op->getAttrOfType<IntegerAttr>(kLayerAttr);
  auto cost = writeCommandCost(buffer, op);
  entries.push_back(package::CreateCommandEntry(buffer, kind, table.Union(), label,
                                                layer ? int32_t(layer.getInt()) : -1, cost));
}

/// The hot set among the arguments of a kernel; −1: none.
static int32_t findHotSet(OperandRange arguments) {
  for (Value argument : arguments)
    if (auto rows = argument.getDefiningOp<NearRowsOp>();
        rows && rows.getKind() == NearKind::HotSet)
      return int32_t(rows.getIndex());
  return -1;
}

/// Does a kernel's argument have the elements of a cache?
static LogicalResult verifyCacheArgument(Operation *op, CacheType cache, Type wanted) {
  auto memref = dyn_cast<MemRefType>(wanted);
  for (CacheFieldAttr field : cache.getFields())
    if (!memref || field.getElementType() != memref.getElementType())
      return op->emitOpError() << "expected a kernel argument with the elements of " << cache
                               << " but got " << wanted;
  return success();
}

/// A weight as a kernel wants it: stored elements in place, or f32 made of them when the package is
/// loaded.
FailureOr<package::Argument> CommandWriter::getKernelArgument(Operation *op, Value value,
                                                              Type wanted) {
  auto memref = dyn_cast<MemRefType>(wanted);
  if (auto cache = dyn_cast<CacheType>(value.getType())) {
    if (failed(verifyCacheArgument(op, cache, wanted)))
      return failure();
    return bindings.getArgument(op, value);
  }
  auto weight = value.getDefiningOp<WeightOp>();
  if (!weight)
    return bindings.getArgument(op, value);
  RankedTensorType type = weight.getValue().getType();
  if (!memref || memref.getShape() != type.getShape() || !memref.getLayout().isIdentity())
    return op->emitOpError() << "expected a kernel argument for " << type << " but got " << wanted;
  bool isDense = !weight.getPart() && !weight.getScales() && !weight.getName().contains('{');
  bool isInPlace = isDense && memref.getElementType() == weight.getStored();
  if (!isInPlace && !memref.getElementType().isF32())
    return op->emitOpError() << "expected a kernel argument of f32 for weight \""
                             << weight.getName() << "\" but got " << wanted;
  FailureOr<int32_t> number = bindings.getWeight(op, value, /*widen=*/!isInPlace);
  if (failed(number))
    return failure();
  return package::Argument(package::ArgumentKind::Weight, *number, 0);
}

FailureOr<int32_t> CommandWriter::getOptionalVector(Operation *op, Value value) {
  return value ? bindings.getWeight(op, value, /*widen=*/true) : FailureOr<int32_t>(-1);
}

FailureOr<flatbuffers::Offset<package::Launch>>
CommandWriter::makeLaunch(Operation *op, SymbolRefAttr name, ValueRange operands,
                          package::Size items, int64_t grain) {
  FailureOr<int32_t> kernel = kernels.getNumber(op, name);
  if (failed(kernel))
    return failure();
  std::vector<package::Argument> arguments;
  ArrayRef<Type> wanted = kernels.getArgumentTypes(*kernel);
  if (wanted.size() != operands.size() + 2)
    return op->emitOpError() << "expected a kernel with " << operands.size() + 2
                             << " arguments but got " << wanted.size();
  for (auto [value, type] : llvm::zip_first(operands, wanted)) {
    FailureOr<package::Argument> argument = getKernelArgument(op, value, type);
    if (failed(argument))
      return failure();
    arguments.push_back(*argument);
  }
  return package::CreateLaunchDirect(buffer, *kernel, &arguments, &items, grain);
}

LogicalResult CommandWriter::append(LaunchOp op) {
  auto launch = makeLaunch(op, op.getKernel(), op.getArguments(), getPackageSize(op.getItems()),
                           int64_t(op.getGrain()));
  if (failed(launch))
    return failure();
  add(op, package::Command::Launch, *launch);
  return success();
}

LogicalResult CommandWriter::append(LaunchRopeTableOp op) {
  FailureOr<package::View> output = bindings.getView(op, op.getOutput());
  if (failed(output))
    return failure();
  SmallVector<double> frequencies = op.getTable().getFrequencies(int64_t(op.getWidth()));
  std::vector<double> copy(frequencies.begin(), frequencies.end());
  add(op, package::Command::RopeTable,
      package::CreateRopeTableDirect(buffer, &*output, &copy, op.getTable().getAttentionFactor()));
  return success();
}

LogicalResult CommandWriter::append(LaunchProductOp op) {
  FailureOr<package::View> input = bindings.getView(op, op.getInput());
  if (failed(input))
    return failure();
  std::vector<flatbuffers::Offset<package::ProductPart>> parts;
  for (auto [i, each] : llvm::enumerate(op.getWeights())) {
    FailureOr<package::View> output = bindings.getView(op, op.getOutputs()[i]);
    FailureOr<int32_t> weight = bindings.getWeight(op, each, /*widen=*/false),
                       bias = getOptionalVector(op, op.getBiases().empty() ? Value()
                                                                           : op.getBiases()[i]);
    if (failed(output) || failed(weight) || failed(bias))
      return failure();
    parts.push_back(package::CreateProductPart(buffer, *weight, *bias, &*output,
                                               getSizeFromLast(op.getOutputs()[i], 0)));
  }
  package::View residual;
  if (op.getResidual()) {
    FailureOr<package::View> view = bindings.getView(op, op.getResidual());
    if (failed(view))
      return failure();
    residual = *view;
  }
  package::Size rows = getPackageSize(op.getRows());
  auto inputType = cast<MemRefType>(op.getInput().getType());
  int64_t batch = inputType.getRank() == 3 ? inputType.getDimSize(1) : 1;
  add(op, package::Command::Product,
      package::CreateProductDirect(buffer, &*input, &parts, op.getResidual() ? &residual : nullptr,
                                   &rows, batch, getSizeFromLast(op.getInput(), 0),
                                   op.getTransposed(), getPackageType(op.getOperands())));
  return success();
}

FailureOr<int32_t> CommandWriter::getGateKernel(Operation *op, SymbolRefAttr name) {
  FailureOr<int32_t> kernel = kernels.getNumber(op, name);
  if (failed(kernel))
    return failure();
  // Gate, up, result, and the range.
  ArrayRef<Type> wanted = kernels.getArgumentTypes(*kernel);
  if (wanted.size() != 5)
    return op->emitOpError() << "expected a kernel with 5 arguments but got " << wanted.size();
  for (Type type : wanted.take_front(3)) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref || memref.getRank() != 1 || !memref.getElementType().isF32() ||
        !memref.getLayout().isIdentity())
      return op->emitOpError() << "expected kernel arguments of dense f32 elements but got "
                               << type;
  }
  return kernel;
}

LogicalResult CommandWriter::append(LaunchGatedProductOp op) {
  FailureOr<package::View> input = bindings.getView(op, op.getInput()),
                           output = bindings.getView(op, op.getOutput());
  FailureOr<int32_t> gate = bindings.getWeight(op, op.getGate(), /*widen=*/false),
                     up = bindings.getWeight(op, op.getUp(), /*widen=*/false),
                     kernel = getGateKernel(op, op.getKernel());
  if (failed(input) || failed(output) || failed(gate) || failed(up) || failed(kernel))
    return failure();
  package::Size rows = getPackageSize(op.getRows());
  add(op, package::Command::GatedProduct,
      package::CreateGatedProduct(
          buffer, &*input, *gate, *up, *kernel, &*output, &rows, getSizeFromLast(op.getInput(), 0),
          getSizeFromLast(op.getOutput(), 0), getPackageType(op.getOperands())));
  return success();
}

template <typename Op>
FailureOr<flatbuffers::Offset<package::Product>>
CommandWriter::makeHeadProduct(Op op, Value input, Value weight, Value output, bool transposed) {
  if (!input)
    return flatbuffers::Offset<package::Product>();
  FailureOr<package::View> from = bindings.getView(op, input), to = bindings.getView(op, output);
  FailureOr<int32_t> number = bindings.getWeight(op, weight, /*widen=*/false);
  if (failed(from) || failed(to) || failed(number))
    return failure();
  std::vector<flatbuffers::Offset<package::ProductPart>> parts{
      package::CreateProductPart(buffer, *number, -1, &*to, getSizeFromLast(output, 0))};
  package::Size rows(1, 0, 0);
  return package::CreateProductDirect(buffer, &*from, &parts, nullptr, &rows,
                                      int64_t(op.getHeads()), getSizeFromLast(input, 0), transposed,
                                      getPackageType(op.getOperands()));
}

LogicalResult CommandWriter::append(LaunchHeadAttentionOp op) {
  auto absorb = makeHeadProduct(op, op.getAbsorbInput(), op.getAbsorbWeight(), op.getQuery(),
                                /*transposed=*/true);
  auto expand = makeHeadProduct(op, op.getLatent(), op.getExpandWeight(), op.getOutput(),
                                /*transposed=*/false);
  package::Size items(int64_t(op.getHeads()), 0, 0);
  FailureOr<flatbuffers::Offset<package::Launch>> scores{flatbuffers::Offset<package::Launch>()};
  if (op.getScoresKernel())
    scores = makeLaunch(op, *op.getScoresKernel(), op.getScoresArguments(), items, /*grain=*/1);
  auto attention = makeLaunch(op, op.getKernel(), op.getArguments(), items, /*grain=*/1);
  if (failed(absorb) || failed(expand) || failed(scores) || failed(attention))
    return failure();
  add(op, package::Command::HeadAttention,
      package::CreateHeadAttention(buffer, *absorb, *attention, *expand, int64_t(op.getHeads()),
                                   findHotSet(op.getArguments()), *scores));
  return success();
}

LogicalResult CommandWriter::append(LaunchPartialScoresOp op) {
  auto absorb = makeHeadProduct(op, op.getAbsorbInput(), op.getAbsorbWeight(), op.getQuery(),
                                /*transposed=*/true);
  auto scores = makeLaunch(op, op.getKernel(), op.getArguments(),
                           package::Size(int64_t(op.getHeads()), 0, 0), /*grain=*/1);
  if (failed(absorb) || failed(scores))
    return failure();
  add(op, package::Command::PartialScores,
      package::CreatePartialScores(buffer, *absorb, *scores, int64_t(op.getHeads()),
                                   findHotSet(op.getArguments())));
  return success();
}

LogicalResult CommandWriter::append(LaunchGroupByExpertOp op) {
  FailureOr<package::Argument> chosen = bindings.getArgument(op, op.getChosen()),
                               order = bindings.getArgument(op, op.getOrder()),
                               rank = bindings.getArgument(op, op.getRank()),
                               offsets = bindings.getArgument(op, op.getOffsets());
  if (failed(chosen) || failed(order) || failed(rank) || failed(offsets))
    return failure();
  add(op, package::Command::GroupByExpert,
      package::CreateGroupByExpert(buffer, &*chosen, &*order, &*rank, &*offsets,
                                   getSizeFromLast(op.getChosen(), 0), int64_t(op.getExperts())));
  return success();
}

LogicalResult CommandWriter::append(LaunchGroupedProductOp op) {
  FailureOr<package::View> input = bindings.getView(op, op.getInput()),
                           output = bindings.getView(op, op.getOutput());
  FailureOr<package::Argument> order = bindings.getArgument(op, op.getOrder()),
                               offsets = bindings.getArgument(op, op.getOffsets());
  FailureOr<int32_t> weight = bindings.getWeight(op, op.getWeight(), /*widen=*/false), up = -1,
                     kernel = -1;
  if (op.getUp()) {
    up = bindings.getWeight(op, op.getUp(), /*widen=*/false);
    kernel = getGateKernel(op, *op.getKernel());
  }
  if (failed(input) || failed(output) || failed(order) || failed(offsets) || failed(weight) ||
      failed(up) || failed(kernel))
    return failure();
  int64_t experts = cast<RankedTensorType>(op.getWeight().getType()).getDimSize(0);
  add(op, package::Command::GroupedProduct,
      package::CreateGroupedProduct(
          buffer, &*input, &*order, &*offsets, op.getGather(), *weight, *up, *kernel, &*output,
          int64_t(op.getExpertsPerToken()), experts, getSizeFromLast(op.getInput(), 0),
          getSizeFromLast(op.getOutput(), 0), getPackageType(op.getOperands())));
  return success();
}

LogicalResult CommandWriter::append(LaunchRouteOp op) {
  FailureOr<package::View> logits = bindings.getView(op, op.getLogits());
  FailureOr<package::Argument> experts = bindings.getArgument(op, op.getExperts()),
                               weights = bindings.getArgument(op, op.getWeights());
  FailureOr<int32_t> correction = getOptionalVector(op, op.getCorrection());
  if (failed(logits) || failed(experts) || failed(weights) || failed(correction))
    return failure();
  ++mixtures;
  add(op, package::Command::Route,
      package::CreateRoute(buffer, &*logits, *correction, &*experts, &*weights,
                           getSizeFromLast(op.getLogits(), 0), getSizeFromLast(op.getExperts(), 0),
                           package::Scoring(op.getScoring()), int64_t(op.getGroups()),
                           int64_t(op.getTopGroups()), package::GroupScore(op.getGroupScore()),
                           op.getNormalise(), op.getScale().convertToDouble(),
                           int32_t(op.getOrdinal())));
  return success();
}

LogicalResult CommandWriter::append(LaunchSelectOp op) {
  FailureOr<int32_t> kernel = kernels.getNumber(op, op.getKernel());
  if (failed(kernel))
    return failure();
  // Query, head weights, cache, pages, scores, and the range.
  ArrayRef<Type> wanted = kernels.getArgumentTypes(*kernel);
  if (wanted.size() != 7)
    return op.emitOpError() << "expected a kernel with 7 arguments but got " << wanted.size();
  if (failed(verifyCacheArgument(op, op.getCache().getType(), wanted[2])))
    return failure();
  FailureOr<int32_t> cache = bindings.getCache(op, op.getCache());
  FailureOr<package::View> query = bindings.getView(op, op.getQuery()),
                           headWeights = bindings.getView(op, op.getHeadWeights());
  FailureOr<package::Argument> output = bindings.getArgument(op, op.getOutput());
  if (failed(cache) || failed(query) || failed(headWeights) || failed(output))
    return failure();
  ++indexers;
  add(op, package::Command::Select,
      package::CreateSelect(buffer, *kernel, &*query, &*headWeights, *cache, &*output,
                            int64_t(op.getK()), int32_t(op.getOrdinal()), op.getExported(),
                            int32_t(op.getEngine().value_or(-1))));
  return success();
}

LogicalResult CommandWriter::append(LaunchImportRowsOp op) {
  FailureOr<package::Argument> output = bindings.getArgument(op, op.getOutput());
  if (failed(output))
    return failure();
  ++indexers;
  add(op, package::Command::ImportRows,
      package::CreateImportRows(buffer, &*output, getSizeFromLast(op.getOutput(), 0),
                                int32_t(op.getOrdinal())));
  return success();
}

LogicalResult CommandWriter::append(LaunchRecordsOp op) {
  FailureOr<package::Argument> rows = bindings.getArgument(op, op.getRows()),
                               records = bindings.getArgument(op, op.getRecords());
  if (failed(rows) || failed(records))
    return failure();
  add(op, package::Command::Records,
      package::CreateRecords(buffer, &*rows, &*records, getSizeFromLast(op.getRecords(), 0),
                             int32_t(op.getPageSize())));
  return success();
}

LogicalResult CommandWriter::append(LaunchResolveOp op) {
  FailureOr<package::Argument> records = bindings.getArgument(op, op.getRecords());
  if (failed(records))
    return failure();
  if (op.getLimit()) {
    add(op, package::Command::Resolve,
        package::CreateResolve(buffer, &*records, int32_t(op.getTable()), nullptr, nullptr, nullptr,
                               int64_t(*op.getLimit())));
    return success();
  }
  FailureOr<package::Argument> slots = bindings.getArgument(op, op.getSlots()),
                               hits = bindings.getArgument(op, op.getHits()),
                               misses = bindings.getArgument(op, op.getMisses());
  if (failed(slots) || failed(hits) || failed(misses))
    return failure();
  add(op, package::Command::Resolve,
      package::CreateResolve(buffer, &*records, int32_t(op.getTable()), &*slots, &*hits, &*misses));
  return success();
}

LogicalResult CommandWriter::append(LaunchGatherOp op) {
  add(op, package::Command::Gather,
      package::CreateGather(buffer, int32_t(op.getHotSet()), int32_t(op.getEngine()),
                            int32_t(op.getTransfer())));
  return success();
}

LogicalResult CommandWriter::append(LaunchWriteBackOp op) {
  add(op, package::Command::WriteBack,
      package::CreateWriteBack(buffer, int32_t(op.getCache()), int32_t(op.getEngine()),
                               int32_t(op.getTransfer())));
  return success();
}

LogicalResult CommandWriter::append(LaunchReloadOp op) {
  FailureOr<int32_t> weight = -1;
  if (op.getWeight())
    weight = bindings.getWeight(op, op.getWeight(), /*widen=*/false);
  if (failed(weight))
    return failure();
  add(op, package::Command::Reload,
      package::CreateReload(buffer, *weight, int32_t(op.getCache().value_or(-1)),
                            int32_t(op.getEngine()), int32_t(op.getTransfer())));
  return success();
}

LogicalResult CommandWriter::append(LaunchWaitOp op) {
  add(op, package::Command::Wait, package::CreateWait(buffer, int32_t(op.getTransfer())));
  return success();
}
