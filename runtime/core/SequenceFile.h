//===- SequenceFile.h - A sequence with its pages, in a file ----*- C++ -*-===//
//
// A sequence that one executor began can go on in another one, in another process or on another
// machine. What goes there: its tokens, how many of them went through the model, and the pages of
// every cache, those with index keys like those with keys and values.
//
// The file is a safetensors file, so that other programs can read it too. Its tensors:
//   descriptor  u8 [bytes]               a JSON object: identity (CacheDescription.h), processed
//   tokens      i32 [tokens]
//   pages.N     u8 [pages, page bytes]   of cache N, as the executor has them; records that were
//   not
//                                        written are zero
//   checksums   u64 [2 + caches × pages] of the descriptor, of the tokens, and of each page of each
//                                        cache
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_RUNTIME_CORE_SEQUENCEFILE_H
#define STRATA_RUNTIME_CORE_SEQUENCEFILE_H

#include "strata/lib/Checkpoint/Safetensors.h"
#include "strata/runtime/core/Executor.h"

namespace strata::rt {

/// A sequence that an executor has.
struct ResidentSequence {
  std::vector<int32_t> tokens;
  int64_t processed = 0;      ///< tokens that went through the model: at least one, and not all
  std::vector<int32_t> pages; ///< numbers of the pages that hold them, in order
};

/// Writes the file whole or not at all. Errors of the file begin with the path.
Status writeSequence(const std::string &path, const Executor &executor,
                     const ResidentSequence &sequence);

/// A file that was written so, mapped. Errors begin with the path.
class SequenceFile {
public:
  /// Reads all but the pages.
  static Expected<SequenceFile> open(const std::string &path);

  const std::string &path() const { return path_; }
  const std::vector<int32_t> &tokens() const { return tokens_; }
  /// Tokens whose records the pages hold: at least one, and less than all.
  int64_t processed() const { return processed_; }

  /// An error if the pages are not of the executor's kind: it names the first field that differs,
  /// what was expected and what was found; or if any byte was damaged.
  Status check(const Executor &executor) const;
  /// Copies the pages of all caches, once they were checked.
  Status copyTo(Executor &executor, const std::vector<int32_t> &pages) const;

private:
  explicit SequenceFile(SafetensorsFile file) : file_(std::move(file)) {}
  Status read();
  Status checkPages(const CacheDescription &description, int64_t pageSize) const;
  Status corrupt(const std::string &message) const;
  uint64_t storedChecksum(int64_t number) const;
  const std::byte *pagesOf(size_t cache) const;

  SafetensorsFile file_;
  std::string path_;
  std::string identity_; ///< JSON
  std::vector<int32_t> tokens_;
  int64_t processed_ = 0;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_SEQUENCEFILE_H
