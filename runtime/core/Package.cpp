//===- Package.cpp - A compiled model, read from its file -----------------===//
#include "strata/runtime/core/Package.h"

#include "strata-rt/kernel-abi.h"
#include "strata/lib/Support/ElementType.h"
#include "strata/runtime/core/Checksum.h"
#include "strata/runtime/core/ManifestVerifier.h"
#include "strata/runtime/core/PackageFormat.h"

#include <algorithm>
#include <cstring>

namespace strata::rt {

static Status damaged(std::string message) {
  return Status(StatusCode::Corrupt, std::move(message));
}

static Status truncated(uint64_t expected, uint64_t size) {
  return damaged("package is truncated: expected " + std::to_string(expected) + " bytes but got " +
                 std::to_string(size));
}

static bool isZero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

bool Package::hasMagic(std::string_view bytes) {
  return bytes.substr(0, sizeof kPackageMagic) ==
         std::string_view(kPackageMagic, sizeof kPackageMagic);
}

/// Checks the first 64 bytes and the manifest's checksum.
static Expected<PackageHeader> readHeader(std::string_view bytes) {
  if (!Package::hasMagic(bytes))
    return damaged("not a Strata package");
  if (bytes.size() < sizeof(PackageHeader))
    return truncated(sizeof(PackageHeader), bytes.size());
  PackageHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  // The version comes first: another one may have another header.
  if (header.version != STRATA_RT_PACKAGE_VERSION)
    return Status(StatusCode::Unsupported, "package of version " + std::to_string(header.version) +
                                               ", but this runtime reads version " +
                                               std::to_string(STRATA_RT_PACKAGE_VERSION));
  if (header.headerChecksum != checksum(&header, offsetof(PackageHeader, headerChecksum)) ||
      header.zero != 0 || header.zeros[0] != 0 || header.zeros[1] != 0 || header.zeros[2] != 0)
    return damaged("package is damaged: its header does not match its checksum");
  uint64_t left = bytes.size() - sizeof header;
  if (header.manifestSize > left)
    return truncated(sizeof header + header.manifestSize, bytes.size());
  if (header.manifestChecksum != checksum(bytes.data() + sizeof header, header.manifestSize))
    return damaged("package is damaged: its manifest does not match its checksum");
  return header;
}

/// Checks that blobs follow the manifest at their places, with zeros between, and nothing after.
static Status checkBlobs(std::string_view bytes, uint64_t manifestEnd,
                         const package::Manifest &manifest) {
  struct Named {
    const package::Blob *blob;
    std::string name;
  };
  std::vector<Named> blobs;
  for (const package::Variant *variant : *manifest.variants())
    blobs.push_back({variant->object(), "object for " + variant->cpu()->str()});
  if (manifest.input_module()->size() != 0)
    blobs.push_back({manifest.input_module(), "input module"});
  std::sort(blobs.begin(), blobs.end(), [](const Named &left, const Named &right) {
    return left.blob->offset() < right.blob->offset();
  });
  uint64_t end = manifestEnd;
  for (const auto &[blob, name] : blobs) {
    if (blob->offset() != alignBlob(end))
      return damaged(name + ": expected its bytes at " + std::to_string(alignBlob(end)) +
                     " but got " + std::to_string(blob->offset()));
    if (blob->offset() > bytes.size() || blob->size() > bytes.size() - blob->offset())
      return truncated(blob->offset() + blob->size(), bytes.size());
    if (!isZero(bytes.substr(end, blob->offset() - end)))
      return damaged("package is damaged: expected zeros before the " + name);
    end = blob->offset() + blob->size();
    if (blob->checksum() != checksum(bytes.data() + blob->offset(), blob->size()))
      return damaged("package is damaged: the " + name + " does not match its checksum");
  }
  if (end != bytes.size())
    return damaged("package is damaged: expected " + std::to_string(end) + " bytes but got " +
                   std::to_string(bytes.size()));
  return Status::success();
}

static ModelDescription describeModel(const package::Manifest &manifest) {
  ModelDescription model;
  model.modelType = manifest.model_type()->str();
  model.vocabularySize = manifest.vocabulary_size();
  model.maxPositions = manifest.max_positions();
  model.eosTokenIds.assign(manifest.eos_token_ids()->begin(), manifest.eos_token_ids()->end());
  model.pageSize = manifest.caches()->size() ? manifest.caches()->Get(0)->page_size() : 1;
  for (const package::CommandEntry *entry : *manifest.commands()) {
    if (const package::Select *select = entry->command_as_Select())
      model.rowWidths.push_back(select->k());
    if (const package::ImportRows *import = entry->command_as_ImportRows()) {
      model.rowWidths.push_back(import->k());
      model.rowsAreInput = true;
    }
    if (const package::Route *route = entry->command_as_Route()) {
      model.expertWidths.push_back(route->experts_per_token());
      model.expertCounts.push_back(route->expert_count());
    }
  }
  return model;
}

Expected<std::unique_ptr<Package>> Package::fromBytes(std::string_view bytes) {
  Expected<PackageHeader> header = readHeader(bytes);
  if (!header.ok())
    return header.status();
  const uint8_t *start = reinterpret_cast<const uint8_t *>(bytes.data()) + sizeof(PackageHeader);
  // The verifier's own limit on tables would refuse a model with very many commands.
  constexpr flatbuffers::uoffset_t kMaxDepth = 8, kMaxTables = 1 << 24;
  if (header->manifestSize >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return damaged("manifest is too large: " + std::to_string(header->manifestSize) + " bytes");
  flatbuffers::Verifier verifier(start, header->manifestSize, kMaxDepth, kMaxTables);
  if (!package::VerifyManifestBuffer(verifier))
    return damaged("manifest is malformed: not a FlatBuffer of its schema");
  const package::Manifest &manifest = *package::GetManifest(start);
  if (Status status = verifyManifest(manifest); !status.ok())
    return status;
  if (Status status = checkBlobs(bytes, sizeof(PackageHeader) + header->manifestSize, manifest);
      !status.ok())
    return status;
  std::unique_ptr<Package> result(new Package);
  result->bytes_ = bytes;
  result->manifest_ = &manifest;
  result->model_ = describeModel(manifest);
  return result;
}

Expected<std::unique_ptr<Package>> Package::open(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.status();
  Expected<std::unique_ptr<Package>> result = fromBytes(file->text());
  if (!result.ok())
    return Status(result.status().code(), path + ": " + result.status().message());
  (*result)->file_ = std::move(*file);
  return result;
}

std::string_view Package::blob(const package::Blob &blob) const {
  return bytes_.substr(blob.offset(), blob.size());
}

std::string_view Package::inputModule() const { return blob(*manifest_->input_module()); }

int64_t evaluate(const package::Size &size, int64_t tokens, int64_t wanted) {
  return size.tokens() * tokens + size.wanted() * wanted + size.fixed();
}

int64_t recordBytes(const package::Cache &cache) {
  int64_t bytes = 0;
  for (const package::CacheField *field : *cache.fields())
    bytes += int64_t(field->heads()) * field->width() *
             int64_t(elementSize(static_cast<ElementType>(field->element_type())));
  return bytes;
}

} // namespace strata::rt
