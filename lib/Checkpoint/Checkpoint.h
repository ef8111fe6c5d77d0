//===- Checkpoint.h - A model's tensors, in one file or in shards -*- C++ -*-===//
#ifndef STRATA_LIB_CHECKPOINT_CHECKPOINT_H
#define STRATA_LIB_CHECKPOINT_CHECKPOINT_H

#include "strata/lib/Checkpoint/Safetensors.h"

namespace strata {

/// The tensors of a checkpoint by name. The files stay mapped as long as the object lives; moving
/// it keeps all views valid.
class Checkpoint {
public:
  /// `path` is a .safetensors file or a folder. In a folder the first of these counts:
  /// model.safetensors; model.safetensors.index.json with the shards that it names, where each
  /// tensor must be in the shard that the index says; all *.safetensors. Errors name the file.
  static Expected<Checkpoint> open(const std::string &path);

  /// Null if there is no such tensor.
  const TensorView *find(std::string_view name) const;
  /// Ascending. The views live as long as the checkpoint.
  std::vector<std::string_view> names() const;
  size_t size() const { return tensors_.size(); }
  /// What `open` was given.
  const std::string &path() const { return path_; }

private:
  Checkpoint() = default;
  Status add(const std::string &file);
  Status openIndex(const std::string &folder, const std::string &index);

  std::string path_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string_view, const TensorView *> tensors_;
};

} // namespace strata

#endif // STRATA_LIB_CHECKPOINT_CHECKPOINT_H
