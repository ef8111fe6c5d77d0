//===- File.h - Files mapped for reading, written whole or not at all -*- C++ -*-===//
#ifndef STRATA_LIB_SUPPORT_FILE_H
#define STRATA_LIB_SUPPORT_FILE_H

#include "strata/lib/Support/Status.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace strata {

/// A whole file in memory, read only. Moving it keeps the address of its bytes.
class MappedFile {
public:
  /// Maps `path`, which must be a regular file. Errors name the path and say why it can't be read.
  /// An empty file is no error: its `data()` is null.
  static Expected<MappedFile> open(const std::string &path);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  const std::byte *data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view text() const { return {reinterpret_cast<const char *>(data_), size_}; }

private:
  MappedFile(const std::byte *data, size_t size) : data_(data), size_(size) {}
  const std::byte *data_ = nullptr;
  size_t size_ = 0;
};

/// A file that appears under its name only when it is complete: bytes go to a temporary file beside
/// it, `commit` renames that. Without a successful `commit` the temporary file is removed and what
/// was at `path` stays. A path that is there and is no regular file (a pipe, /dev/stdout) is
/// written directly.
class AtomicFile {
public:
  static Expected<AtomicFile> create(const std::string &path);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&other) noexcept;
  ~AtomicFile();

  /// Appends. After an error the file can only be dropped.
  Status write(const void *bytes, size_t size);
  Status write(std::string_view text) { return write(text.data(), text.size()); }
  /// Makes the file visible. At most once, and no write follows.
  Status commit();

private:
  struct State;
  explicit AtomicFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// `AtomicFile` for content that is in memory.
Status writeFile(const std::string &path, std::string_view content);

} // namespace strata

#endif // STRATA_LIB_SUPPORT_FILE_H
