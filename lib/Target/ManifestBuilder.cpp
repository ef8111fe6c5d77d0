//===- ManifestBuilder.cpp - A lowered module as a manifest ---------------===//
#include "strata/lib/Target/ManifestBuilder.h"

#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Target/CommandWriter.h"
#include "strata/lib/Target/TierTables.h"

using namespace mlir;
using namespace strata;

std::string strata::getProducer() {
  return "strata " STRATA_VERSION " (LLVM " LLVM_VERSION_STRING ")";
}

namespace {

using flatbuffers::Offset;

/// What the module's attributes say.
struct Model {
  std::string type;
  int64_t maxPositions;
  std::vector<int32_t> eosTokenIds;
  Type compute;
};

} // namespace

static FailureOr<Model> readModel(ModuleOp module) {
  auto type = module->getAttrOfType<StringAttr>(kModelTypeAttr);
  auto positions = module->getAttrOfType<IntegerAttr>(kMaxPositionsAttr);
  auto compute = module->getAttrOfType<TypeAttr>(kComputeAttr);
  if (!type || !positions || !compute)
    return module.emitError() << "expected the module to have " << kModelTypeAttr << ", "
                              << kMaxPositionsAttr << " and " << kComputeAttr;
  Model model{type.str(), positions.getInt(), {}, compute.getValue()};
  if (auto ids = module->getAttrOfType<DenseI32ArrayAttr>(kEosTokenIdsAttr))
    model.eosTokenIds.assign(ids.asArrayRef().begin(), ids.asArrayRef().end());
  return model;
}

static Offset<package::Cache> writeCache(flatbuffers::FlatBufferBuilder &buffer, func::FuncOp step,
                                         BlockArgument argument, size_t number) {
  auto type = cast<CacheType>(argument.getType());
  std::vector<Offset<package::CacheField>> fields;
  for (CacheFieldAttr field : type.getFields())
    fields.push_back(package::CreateCacheField(buffer, package::FieldRole(field.getRole()),
                                               int32_t(field.getHeads()), int32_t(field.getWidth()),
                                               getPackageType(field.getElementType())));
  auto getNumber = [&](StringRef name, int64_t fallback) {
    auto given = step.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), name);
    return given ? given.getInt() : fallback;
  };
  auto given = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kCacheNameAttr);
  std::string name = given ? given.str() : "cache" + std::to_string(number);
  return package::CreateCacheDirect(
      buffer, name.c_str(), &fields, int32_t(type.getPageSize()), type.getPlanar(),
      package::RopeLayout(type.getRope()), type.getHadamard(),
      package::Residence(getNumber(kResidenceAttr, 0)), int32_t(getNumber(kStagingAttr, -1)));
}

static Offset<package::Weight> writeWeight(flatbuffers::FlatBufferBuilder &buffer,
                                           Bindings::Weight weight) {
  ArrayRef<int64_t> sizes = weight.op.getValue().getType().getShape();
  auto name = buffer.CreateString(weight.op.getName().str());
  auto shape = buffer.CreateVector<int64_t>(sizes.data(), sizes.size());
  std::optional<BlockScalesAttr> scales = weight.op.getScales();
  std::optional<PartAttr> part = weight.op.getPart();
  Offset<flatbuffers::String> scaleName = scales ? buffer.CreateString(scales->getName().str()) : 0;
  return package::CreateWeight(buffer, name, shape, getPackageType(weight.op.getStored()),
                               part ? part->getGroups() : 0, part ? part->getStride() : 0,
                               part ? part->getOffset() : 0, scaleName,
                               scales ? scales->getRows() : 0, scales ? scales->getColumns() : 0,
                               weight.widen, int32_t(getWeightSlot(weight.op)));
}

/// What the entry point returns: f32 [wanted, vocabulary].
static FailureOr<package::View> getLogits(func::FuncOp step, const Bindings &bindings,
                                          int64_t &vocabulary) {
  auto result = cast<func::ReturnOp>(step.getBody().front().getTerminator());
  auto type = result.getNumOperands() == 1 ? dyn_cast<MemRefType>(result.getOperand(0).getType())
                                           : MemRefType();
  if (!type || type.getRank() != 2 || !type.getElementType().isF32() || type.isDynamicDim(1))
    return result.emitOpError("expected one buffer of logits, f32 [wanted, vocabulary]");
  vocabulary = type.getDimSize(1);
  return bindings.getView(result, result.getOperand(0));
}

FailureOr<Manifest> strata::buildManifest(ModuleOp lowered, ArrayRef<Processor> processors) {
  FailureOr<Model> model = readModel(lowered);
  if (failed(model))
    return failure();
  auto step = lowered.lookupSymbol<func::FuncOp>(kEntryPoint);
  if (!step || !llvm::hasSingleElement(step.getBody()))
    return lowered.emitError() << "expected an entry point @" << kEntryPoint << " of one block";

  FailureOr<Bindings> bindings = Bindings::create(step);
  if (failed(bindings))
    return failure();
  Manifest manifest;
  flatbuffers::FlatBufferBuilder buffer;
  CommandWriter commands(buffer, *bindings, manifest.kernels);
  for (Operation &op : step.getBody().front())
    if (failed(commands.write(&op)))
      return failure();
  int64_t vocabulary = 0;
  FailureOr<package::View> logits = getLogits(step, *bindings, vocabulary);
  if (failed(logits))
    return failure();

  std::vector<Offset<package::Cache>> caches;
  for (BlockArgument cache : bindings->getCaches())
    caches.push_back(writeCache(buffer, step, cache, caches.size()));
  std::vector<Offset<package::Weight>> weights;
  for (const Bindings::Weight &weight : bindings->getWeights())
    weights.push_back(writeWeight(buffer, weight));
  std::vector<Offset<package::Slot>> slots;
  for (const package::Size &bytes : bindings->getSlots())
    slots.push_back(package::CreateSlot(buffer, &bytes));
  std::vector<Offset<flatbuffers::String>> kernels;
  for (const KernelEntry &kernel : manifest.kernels.getEntries())
    kernels.push_back(buffer.CreateString(kernel.symbol));
  std::vector<Offset<package::Variant>> variants;
  package::Blob blob(0, 0, 0);
  if (!kernels.empty())
    for (const Processor &processor : processors)
      variants.push_back(package::CreateVariantDirect(buffer, processor.level.c_str(), &blob));

  FailureOr<TierTables> tables = writeTierTables(lowered, buffer);
  if (failed(tables))
    return failure();
  auto orMissing = [&](auto &list) { return tables->isPlaced ? &list : nullptr; };
  buffer.Finish(package::CreateManifestDirect(
                    buffer, getProducer().c_str(), model->type.c_str(),
                    getPackageType(model->compute), vocabulary, model->maxPositions,
                    &model->eosTokenIds, commands.getIndexerCount(), commands.getMixtureCount(),
                    &caches, &weights, &slots, &kernels, &commands.getEntries(), &*logits,
                    &variants, &blob, orMissing(tables->tiers), orMissing(tables->engines),
                    orMissing(tables->slotTables), orMissing(tables->hotSets),
                    orMissing(tables->stagingPools), orMissing(tables->blockBuffers),
                    orMissing(tables->weightSlots), tables->placement),
                package::ManifestIdentifier());
  manifest.bytes.assign(buffer.GetBufferPointer(), buffer.GetBufferPointer() + buffer.GetSize());
  return manifest;
}
