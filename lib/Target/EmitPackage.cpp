//===- EmitPackage.cpp - From a lowered module to a package ---------------===//
#include "strata/lib/Target/EmitPackage.h"

#include "strata/lib/Target/CpuCode.h"
#include "strata/lib/Target/ManifestBuilder.h"
#include "strata/runtime/core/Package.h"
#include "strata/runtime/core/PackageWriter.h"

#include "mlir/Bytecode/BytecodeWriter.h"

using namespace mlir;
using namespace strata;

/// The kernels' shared objects, from the cache if they are there.
static FailureOr<std::vector<std::string>>
getObjects(KernelTable &kernels, ArrayRef<Processor> processors, KernelCache *cache) {
  ModuleOp module = kernels.getModule();
  if (!module)
    return std::vector<std::string>();
  if (!cache)
    return compileKernels(module, kernels.getEntries(), processors);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  if (auto found = cache->find(text); found != cache->end())
    return found->second;
  FailureOr<std::vector<std::string>> objects =
      compileKernels(module, kernels.getEntries(), processors);
  if (succeeded(objects))
    cache->emplace(std::move(text), *objects);
  return objects;
}

FailureOr<std::string> strata::emitPackage(ModuleOp lowered, ArrayRef<Processor> processors,
                                           StringRef inputModule, KernelCache *cache) {
  FailureOr<Manifest> manifest = buildManifest(lowered, processors);
  if (failed(manifest))
    return failure();
  FailureOr<std::vector<std::string>> objects = getObjects(manifest->kernels, processors, cache);
  if (failed(objects))
    return failure();

  rt::PackageContent content;
  content.manifest = std::move(manifest->bytes);
  content.objects.assign(objects->begin(), objects->end());
  content.inputModule = inputModule;
  strata::Expected<std::string> package = rt::packPackage(std::move(content));
  if (!package.ok())
    return lowered.emitError() << package.status().message();
  // What a reader would refuse is better refused here, where the module is at hand.
  if (auto read = rt::Package::fromBytes(*package); !read.ok())
    return lowered.emitError() << read.status().message();
  return std::move(*package);
}

std::string strata::getBytecode(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  auto unknown = UnknownLoc::get(module.getContext());
  copy->walk([&](Operation *op) {
    op->setLoc(unknown);
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setLoc(unknown);
  });
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  // Writing fails only for a version of the format that is not the current one.
  (void)writeBytecodeToFile(*copy, stream, BytecodeWriterConfig(getProducer()));
  return bytes;
}
