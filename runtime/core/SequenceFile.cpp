//===- SequenceFile.cpp - A sequence with its pages, in a file ------------===//
#include "strata/runtime/core/SequenceFile.h"

#include "strata/lib/Support/Json.h"
#include "strata/runtime/core/CacheDescription.h"
#include "strata/runtime/core/Checksum.h"

#include <algorithm>
#include <cstring>

using nlohmann::json;
using nlohmann::ordered_json;

namespace strata::rt {

constexpr const char kDescriptor[] = "descriptor", kTokens[] = "tokens", kChecksums[] = "checksums";

static std::string pagesName(size_t cache) { return "pages." + std::to_string(cache); }

static int64_t pageCount(int64_t records, int64_t pageSize) {
  return (records + pageSize - 1) / pageSize;
}

/// Records of the sequence in its page `page`.
static int64_t recordsOf(int64_t page, int64_t processed, int64_t pageSize) {
  return std::min(processed - page * pageSize, pageSize);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {

/// The header of a safetensors file whose tensors follow each other.
class Header {
public:
  void add(const std::string &name, const char *dtype, std::vector<int64_t> shape, int64_t bytes) {
    json_[name] = {
        {"dtype", dtype}, {"shape", shape}, {"data_offsets", {offset_, offset_ + bytes}}};
    offset_ += bytes;
  }
  /// With its size in front, padded so that the data are aligned to 8.
  std::string text() const {
    std::string text = json_.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    uint64_t size = text.size();
    return std::string(reinterpret_cast<const char *>(&size), sizeof size) + text;
  }

private:
  ordered_json json_;
  int64_t offset_ = 0;
};

} // namespace

/// Copies the pages into the file, one after the other: all of them may not fit in memory again.
static Status writePages(AtomicFile &file, const Executor &executor,
                         const ResidentSequence &sequence, const CacheDescription &description,
                         std::vector<uint64_t> &checksums) {
  std::vector<std::byte> page;
  for (size_t cache = 0; cache < description.caches.size(); ++cache) {
    page.resize(size_t(description.caches[cache].pageBytes));
    for (size_t i = 0; i < sequence.pages.size(); ++i) {
      int64_t records = recordsOf(int64_t(i), sequence.processed, executor.model().pageSize);
      if (Status status =
              executor.readPage(int64_t(cache), sequence.pages[i], records, page.data());
          !status.ok())
        return status;
      checksums.push_back(checksum(page.data(), page.size()));
      if (Status status = file.write(page.data(), page.size()); !status.ok())
        return status;
    }
  }
  return Status::success();
}

Status writeSequence(const std::string &path, const Executor &executor,
                     const ResidentSequence &sequence) {
  Expected<CacheDescription> description = executor.describeCaches();
  if (!description.ok())
    return description.status();
  // In front of spaces, so that what follows is aligned.
  std::string descriptor = R"({"identity":)" + description->identity + R"(,"processed":)" +
                           std::to_string(sequence.processed) + "}";
  descriptor.resize((descriptor.size() + 7) / 8 * 8, ' ');

  int64_t tokens = int64_t(sequence.tokens.size()), pages = int64_t(sequence.pages.size());
  int64_t tokenBytes = tokens * int64_t(sizeof(int32_t));
  int64_t checksumCount = 2 + int64_t(description->caches.size()) * pages;
  Header header;
  header.add(kDescriptor, "U8", {int64_t(descriptor.size())}, int64_t(descriptor.size()));
  header.add(kTokens, "I32", {tokens}, tokenBytes);
  for (size_t cache = 0; cache < description->caches.size(); ++cache) {
    int64_t pageBytes = description->caches[cache].pageBytes;
    header.add(pagesName(cache), "U8", {pages, pageBytes}, pages * pageBytes);
  }
  header.add(kChecksums, "U64", {checksumCount}, checksumCount * int64_t(sizeof(uint64_t)));

  std::vector<uint64_t> checksums{checksum(descriptor.data(), descriptor.size()),
                                  checksum(sequence.tokens.data(), size_t(tokenBytes))};
  std::string headerText = header.text();
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file.ok())
    return file.status();
  for (std::string_view part :
       {std::string_view(headerText), std::string_view(descriptor),
        std::string_view(reinterpret_cast<const char *>(sequence.tokens.data()),
                         size_t(tokenBytes))})
    if (Status status = file->write(part); !status.ok())
      return status;
  if (Status status = writePages(*file, executor, sequence, *description, checksums); !status.ok())
    return status;
  if (Status status = file->write(checksums.data(), checksums.size() * sizeof(uint64_t));
      !status.ok())
    return status;
  return file->commit();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Expected<SequenceFile> SequenceFile::open(const std::string &path) {
  Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file.ok())
    return file.status();
  SequenceFile result(std::move(*file));
  result.path_ = path;
  if (Status status = result.read(); !status.ok())
    return status;
  return result;
}

Status SequenceFile::corrupt(const std::string &message) const {
  return Status(StatusCode::Corrupt, path_ + ": " + message);
}

uint64_t SequenceFile::storedChecksum(int64_t number) const {
  uint64_t value;
  std::memcpy(&value,
              file_.tensors().find(kChecksums)->second.data + number * int64_t(sizeof value),
              sizeof value);
  return value;
}

const std::byte *SequenceFile::pagesOf(size_t cache) const {
  return file_.tensors().find(pagesName(cache))->second.data;
}

Status SequenceFile::read() {
  auto find = [&](const char *name, const char *dtype) -> const TensorView * {
    auto found = file_.tensors().find(name);
    bool isRight = found != file_.tensors().end() && found->second.dtype == dtype &&
                   found->second.shape.size() == 1;
    return isRight ? &found->second : nullptr;
  };
  const TensorView *descriptor = find(kDescriptor, "U8"), *tokens = find(kTokens, "I32"),
                   *checksums = find(kChecksums, "U64");
  if (!descriptor || !tokens || !checksums || checksums->shape[0] < 2)
    return corrupt("not a saved sequence: expected tensors descriptor (u8), tokens (i32) and "
                   "checksums (u64)");
  const TensorView *covered[] = {descriptor, tokens};
  for (int64_t i = 0; i < 2; ++i)
    if (checksum(covered[i]->data, covered[i]->bytes) != storedChecksum(i))
      return corrupt("checksum of " + std::string(covered[i]->name) +
                     " differs: the file is damaged");

  Expected<json> parsed =
      parseJson({reinterpret_cast<const char *>(descriptor->data), descriptor->bytes});
  if (!parsed.ok())
    return corrupt("descriptor: " + parsed.status().message());
  tokens_.resize(size_t(tokens->shape[0]));
  if (!tokens_.empty())
    std::memcpy(tokens_.data(), tokens->data, tokens->bytes);
  auto identity = parsed->find("identity"), processed = parsed->find("processed");
  if (!parsed->is_object() || identity == parsed->end() || processed == parsed->end() ||
      !processed->is_number_unsigned() || processed->get<uint64_t>() < 1 ||
      processed->get<uint64_t>() >= tokens_.size())
    return corrupt("descriptor: expected an object with identity, and processed from 1 to the " +
                   std::to_string(tokens_.size()) + " tokens less one");
  identity_ = identity->dump();
  processed_ = processed->get<int64_t>();
  return Status::success();
}

Status SequenceFile::checkPages(const CacheDescription &description, int64_t pageSize) const {
  int64_t pages = pageCount(processed_, pageSize);
  size_t caches = description.caches.size();
  auto check = [&](const std::string &name, std::string_view dtype,
                   const std::vector<int64_t> &shape) {
    auto found = file_.tensors().find(name);
    return found != file_.tensors().end() && found->second.dtype == dtype &&
                   found->second.shape == shape
               ? Status::success()
               : corrupt("expected a tensor " + name + " of " + std::to_string(shape[0]) +
                         (shape.size() > 1 ? " pages of " + std::to_string(shape[1]) + " bytes"
                                           : " entries"));
  };
  if (file_.tensors().size() != 3 + caches)
    return corrupt("expected " + std::to_string(3 + caches) + " tensors but got " +
                   std::to_string(file_.tensors().size()));
  if (Status status = check(kChecksums, "U64", {2 + int64_t(caches) * pages}); !status.ok())
    return status;
  for (size_t cache = 0; cache < caches; ++cache) {
    int64_t pageBytes = description.caches[cache].pageBytes;
    if (Status status = check(pagesName(cache), "U8", {pages, pageBytes}); !status.ok())
      return status;
    for (int64_t page = 0; page < pages; ++page)
      if (checksum(pagesOf(cache) + page * pageBytes, size_t(pageBytes)) !=
          storedChecksum(2 + int64_t(cache) * pages + page))
        return corrupt(description.caches[cache].name + ": checksum of page " +
                       std::to_string(page) + " (positions " + std::to_string(page * pageSize) +
                       " to " +
                       std::to_string(page * pageSize + recordsOf(page, processed_, pageSize) - 1) +
                       ") differs: the file is damaged");
  }
  return Status::success();
}

Status SequenceFile::check(const Executor &executor) const {
  Expected<CacheDescription> description = executor.describeCaches();
  if (!description.ok())
    return description.status();
  if (Status status = compareIdentities(description->identity, identity_); !status.ok())
    return Status(status.code(), path_ + ": " + status.message());
  return checkPages(*description, executor.model().pageSize);
}

Status SequenceFile::copyTo(Executor &executor, const std::vector<int32_t> &pages) const {
  Expected<CacheDescription> description = executor.describeCaches();
  if (!description.ok())
    return description.status();
  for (size_t cache = 0; cache < description->caches.size(); ++cache)
    for (size_t i = 0; i < pages.size(); ++i)
      if (Status status = executor.writePage(
              int64_t(cache), pages[i],
              recordsOf(int64_t(i), processed_, executor.model().pageSize),
              pagesOf(cache) + int64_t(i) * description->caches[cache].pageBytes);
          !status.ok())
        return status;
  return Status::success();
}

} // namespace strata::rt
