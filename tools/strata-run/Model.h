//===- Model.h - What strata-run runs: a package or a module ----*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATA_RUN_MODEL_H
#define STRATA_TOOLS_STRATA_RUN_MODEL_H

#include "Options.h"

#include "strata/lib/Checkpoint/Checkpoint.h"
#include "strata/runtime/core/Package.h"
#include "strata/runtime/core/ReferencePlugin.h"

#include <memory>
#include <optional>

namespace strata::run {

/// The program that was given, and the device that runs it.
class Model {
public:
  /// Opens a package or a module and asks the device what a session must know. Opens the reference
  /// library if the device is `reference`.
  static Expected<std::unique_ptr<Model>> open(const std::string &path, Device device);

  const rt::ModelDescription &description() const { return description_; }

  /// Makes the executor. Checkpoint and model outlive it.
  Expected<std::unique_ptr<rt::Executor>> createExecutor(const Checkpoint &checkpoint,
                                                         const rt::ExecutorOptions &limits) const;

private:
  Status openReference(const std::string &path);

  std::unique_ptr<rt::Package> package_; ///< null for a module
  std::optional<MappedFile> file_;       ///< the module's, if it is no part of a package
  std::string_view module_;
  Device device_ = Device::Cpu;
  rt::CreateReferenceExecutor createReference_ = nullptr;
  rt::ModelDescription description_;
};

} // namespace strata::run

#endif // STRATA_TOOLS_STRATA_RUN_MODEL_H
