//===- WeightTable.h - The weights that a model asks for --------*- C++ -*-===//
#ifndef STRATA_LIB_IMPORT_WEIGHTTABLE_H
#define STRATA_LIB_IMPORT_WEIGHTTABLE_H

#include "strata/lib/Checkpoint/BoundWeight.h"
#include "strata/lib/Import/ModelConfig.h"

namespace strata::importer {

/// How a weight is stored when there is no checkpoint to look at.
enum class WeightKind {
  Product,    ///< operand of a product: quantised if config.json has a quantisation
  Plain,      ///< never quantised: norms, biases, embeddings, router, head weights of the indexer
  Correction, ///< always f32
};

/// The rows of each of several groups that a value takes from a stored matrix.
struct WeightPart {
  int64_t groups = 0, stride = 0, offset = 0; ///< in rows; groups 0: everything
};

/// Decides how each weight is stored, and in the end compares what was asked for with what the
/// checkpoint holds.
class WeightTable {
public:
  /// Without a checkpoint (null) `config` says how weights are stored.
  WeightTable(const ModelConfig &config, const Checkpoint *checkpoint)
      : config(config), checkpoint(checkpoint) {}

  /// A tensor, or a stack by pattern, whose value has this shape.
  WeightDescription ask(const std::string &name, std::vector<int64_t> shape, WeightKind kind,
                        WeightPart part = {});

  /// An error lists everything that is missing, that has another type or shape, or that nobody
  /// asked for. What is left out on purpose (prediction layers, indexers of layers that share,
  /// tables that are computed) gives one remark for each kind.
  Status check(std::vector<Note> &notes) const;

private:
  ElementType storedType(const std::string &name, WeightKind kind) const;
  Status checkUnasked(std::vector<Note> &notes) const;

  const ModelConfig &config;
  const Checkpoint *checkpoint;
  std::vector<WeightDescription> asked;
};

} // namespace strata::importer

#endif // STRATA_LIB_IMPORT_WEIGHTTABLE_H
