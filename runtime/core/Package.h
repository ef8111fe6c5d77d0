//===- Package.h - A compiled model, read from its file ---------*- C++ -*-===//
//
// The file's layout and the meaning of every field are in include/strata-rt/package.fbs.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_RUNTIME_CORE_PACKAGE_H
#define STRATA_RUNTIME_CORE_PACKAGE_H

#include "strata-rt/package_generated.h"
#include "strata/lib/Support/File.h"
#include "strata/runtime/core/Executor.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace strata::rt {

/// A package that was found to be sound: every index, offset, enumerator and size of the manifest
/// is in range, and every array that a command other than Launch touches lies within its slot for
/// every step of 1 to kMaxStepTokens tokens (of which 0 to all are wanted). What a verified package
/// does not promise: generated kernels are code, so their accesses can't be checked; and numbers
/// that commands read from the arena (experts, orders, offsets) are data, which the executor checks
/// before it uses them as indices.
class Package {
public:
  /// True if `bytes` begin like a package. The rest may be damaged.
  static bool hasMagic(std::string_view bytes);

  /// Maps and checks a file. Errors begin with the path.
  static Expected<std::unique_ptr<Package>> open(const std::string &path);
  /// Checks a package in memory; the bytes must be aligned to 16 and outlive the package.
  static Expected<std::unique_ptr<Package>> fromBytes(std::string_view bytes);

  const package::Manifest &manifest() const { return *manifest_; }
  const ModelDescription &model() const { return model_; }
  /// The bytes of a blob of this manifest.
  std::string_view blob(const package::Blob &blob) const;
  /// MLIR of the input phase; empty if the package was written without.
  std::string_view inputModule() const;

private:
  Package() = default;

  std::optional<MappedFile> file_;
  std::string_view bytes_;
  const package::Manifest *manifest_ = nullptr;
  ModelDescription model_;
};

/// The size for a step of `tokens` ≤ kMaxStepTokens tokens, `wanted` of which give logits. Does not
/// overflow for sizes of a verified package.
int64_t evaluate(const package::Size &size, int64_t tokens, int64_t wanted);

/// Bytes of one token's record in a cache: all fields together.
int64_t recordBytes(const package::Cache &cache);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_PACKAGE_H
