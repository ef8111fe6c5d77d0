//===- Plugin.cpp - The reference executor as a library -------------------===//
#include "strata/lib/Reference/InputModule.h"
#include "strata/lib/Reference/ReferenceExecutor.h"
#include "strata/runtime/core/ReferencePlugin.h"

#include <algorithm>
#include <cstring>

using namespace strata;

/// Hands an error's text over, cut to the caller's buffer.
static int report(const Status &status, char *error, size_t errorSize) {
  if (errorSize > 0) {
    size_t size = std::min(errorSize - 1, status.message().size());
    std::memcpy(error, status.message().data(), size);
    error[size] = '\0';
  }
  return int(status.code());
}

int strata_reference_describe_model(const char *module, size_t size, rt::ModelDescription *model,
                                    char *error, size_t errorSize) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> parsed =
      reference::parseInputModule({module, size}, context);
  if (!parsed.ok())
    return report(parsed.status(), error, errorSize);
  Expected<rt::ModelDescription> description = reference::describeModel(**parsed);
  if (description.ok())
    *model = std::move(*description);
  return report(description.status(), error, errorSize);
}

int strata_reference_create_executor(const char *module, size_t size, const Checkpoint *checkpoint,
                                     const rt::ExecutorOptions *options, rt::Executor **executor,
                                     char *error, size_t errorSize) {
  Expected<std::unique_ptr<reference::ReferenceExecutor>> created =
      reference::ReferenceExecutor::parse({module, size}, checkpoint, *options);
  if (created.ok())
    *executor = created->release();
  return report(created.status(), error, errorSize);
}
