//===- PackageWriter.cpp - Writes a compiled model to a file --------------===//
#include "strata/runtime/core/PackageWriter.h"

#include "strata-rt/kernel-abi.h"
#include "strata/lib/Support/File.h"
#include "strata/runtime/core/Checksum.h"
#include "strata/runtime/core/Package.h"
#include "strata/runtime/core/PackageFormat.h"

#include <cstring>

namespace strata::rt {

/// A compiler that makes such a manifest has a bug; it is told like any other error.
static Status unfit(const std::string &what) {
  return Status(StatusCode::InvalidArgument, "manifest can't be written: " + what);
}

Expected<std::string> packPackage(PackageContent content) {
  flatbuffers::Verifier verifier(content.manifest.data(), content.manifest.size());
  if (!package::VerifyManifestBuffer(verifier))
    return unfit("not a FlatBuffer of its schema");
  package::Manifest *manifest = package::GetMutableManifest(content.manifest.data());

  struct Piece {
    package::Blob *blob;
    std::string_view bytes;
    uint64_t offset = 0;
  };
  std::vector<Piece> pieces;
  size_t variants = manifest->variants() ? manifest->variants()->size() : 0;
  if (variants != content.objects.size())
    return unfit("expected an object for each of " + std::to_string(variants) +
                 " variants but got " + std::to_string(content.objects.size()));
  for (size_t i = 0; i < variants; ++i)
    pieces.push_back(
        {manifest->mutable_variants()->GetMutableObject(i)->mutable_object(), content.objects[i]});
  if (!content.inputModule.empty())
    pieces.push_back({manifest->mutable_input_module(), content.inputModule});

  uint64_t end = sizeof(PackageHeader) + content.manifest.size();
  for (Piece &piece : pieces) {
    if (!piece.blob)
      return unfit("a blob is missing");
    piece.offset = alignBlob(end);
    *piece.blob = package::Blob(piece.offset, piece.bytes.size(),
                                checksum(piece.bytes.data(), piece.bytes.size()));
    end = piece.offset + piece.bytes.size();
  }

  PackageHeader header = {};
  std::memcpy(header.magic, kPackageMagic, sizeof header.magic);
  header.version = STRATA_RT_PACKAGE_VERSION;
  header.manifestSize = content.manifest.size();
  header.manifestChecksum = checksum(content.manifest.data(), content.manifest.size());
  header.headerChecksum = checksum(&header, offsetof(PackageHeader, headerChecksum));

  std::string bytes(end, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, content.manifest.data(), content.manifest.size());
  for (const Piece &piece : pieces)
    std::memcpy(bytes.data() + piece.offset, piece.bytes.data(), piece.bytes.size());
  return bytes;
}

Status writePackage(const std::string &path, PackageContent content) {
  auto withPath = [&](const Status &status) {
    return Status(status.code(), path + ": " + status.message());
  };
  Expected<std::string> bytes = packPackage(std::move(content));
  if (!bytes.ok())
    return withPath(bytes.status());
  if (Expected<std::unique_ptr<Package>> package = Package::fromBytes(*bytes); !package.ok())
    return withPath(package.status());
  return writeFile(path, *bytes);
}

} // namespace strata::rt
