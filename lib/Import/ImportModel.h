//===- ImportModel.h - From a checkpoint to a module ------------*- C++ -*-===//
#ifndef STRATA_LIB_IMPORT_IMPORTMODEL_H
#define STRATA_LIB_IMPORT_IMPORTMODEL_H

#include "strata/lib/Checkpoint/Checkpoint.h"
#include "strata/lib/Import/ModelConfig.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace strata {

struct ImportOptions {
  int64_t pageSize = 64; ///< tokens in a page of each cache
  bool withWeights =
      true; ///< look at the checkpoint; otherwise config.json says how weights are stored
};

using ImportedModel = Expected<mlir::OwningOpRef<mlir::ModuleOp>>;

/// The module of phase `input` (verified): `@step(batch, caches…) -> (logits, caches…)`, with the
/// attributes of ModelAttributes.h. Weights are named, not copied. Each op's location names its
/// part of the model: "layer 3 attention". `checkpoint` is compared with what the model needs: see
/// WeightTable.h. Without it (null) config.json must say how weights are stored. Loads the dialects
/// that it uses into `context`.
ImportedModel importModel(mlir::MLIRContext &context, const importer::ModelConfig &config,
                          const Checkpoint *checkpoint, const ImportOptions &options,
                          std::vector<importer::Note> &notes);

/// Reads `path`, a folder with config.json and safetensors files, or without weights also a
/// config.json itself, and imports it.
ImportedModel importFolder(mlir::MLIRContext &context, const std::string &path,
                           const ImportOptions &options, std::vector<importer::Note> &notes);

} // namespace strata

#endif // STRATA_LIB_IMPORT_IMPORTMODEL_H
