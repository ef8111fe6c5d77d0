//===- PackageWriter.h - Writes a compiled model to a file ------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_PACKAGEWRITER_H
#define STRATA_RUNTIME_CORE_PACKAGEWRITER_H

#include "strata-rt/package_generated.h"
#include "strata/lib/Support/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace strata::rt {

/// The content of a package file.
struct PackageContent {
  /// A finished manifest (root Manifest, with its file identifier). Its variants name their
  /// processors; their `object` blobs, and `input_module`, are there but empty: the writer fills
  /// them in.
  std::vector<uint8_t> manifest;
  std::vector<std::string_view> objects; ///< one shared object for each variant, in their order
  std::string_view inputModule;          ///< empty: left out
};

/// The file's bytes: header, manifest with blobs and checksums filled in, blobs. The manifest is
/// not judged beyond what is needed for that; `Package::fromBytes` does it.
Expected<std::string> packPackage(PackageContent content);

/// Packs, checks the result as a reader would, and writes it; the file appears only when it is
/// complete. Errors begin with the path.
Status writePackage(const std::string &path, PackageContent content);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_PACKAGEWRITER_H
