//===- File.cpp - Files mapped for reading, written whole or not at all ---===//
#include "strata/lib/Support/File.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace strata {

static Status systemError(const std::string &path, const char *what) {
  int number = errno;
  StatusCode code = number == ENOENT || number == ENOTDIR ? StatusCode::NotFound
                    : number == ENOMEM                    ? StatusCode::OutOfMemory
                                                          : StatusCode::Io;
  return Status(code, (path.empty() ? "''" : path) + ": " + what + ": " + std::strerror(number));
}

//===----------------------------------------------------------------------===//
// MappedFile
//===----------------------------------------------------------------------===//

Expected<MappedFile> MappedFile::open(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return systemError(path, "can't be opened");
  struct stat info;
  if (::fstat(descriptor, &info) != 0) {
    Status status = systemError(path, "can't be examined");
    ::close(descriptor);
    return status;
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return Status(StatusCode::Io, path + ": expected a file but got " +
                                      (S_ISDIR(info.st_mode) ? "a folder" : "a device or pipe"));
  }
  size_t size = size_t(info.st_size);
  void *data = nullptr;
  Status status;
  if (size != 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED)
      status = systemError(path, "can't be mapped into memory");
  }
  ::close(descriptor);
  if (!status.ok())
    return status;
  return MappedFile(static_cast<const std::byte *>(data), size);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_)
    ::munmap(const_cast<std::byte *>(data_), size_);
}

//===----------------------------------------------------------------------===//
// AtomicFile
//===----------------------------------------------------------------------===//

struct AtomicFile::State {
  std::string path;      // for messages
  std::string target;    // where links lead to
  std::string temporary; // empty when the target is written directly
  int descriptor = -1;

  ~State() {
    if (descriptor >= 0)
      ::close(descriptor);
    if (!temporary.empty())
      ::unlink(temporary.c_str());
  }
};

AtomicFile::AtomicFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
AtomicFile::AtomicFile(AtomicFile &&other) noexcept = default;
AtomicFile &AtomicFile::operator=(AtomicFile &&other) noexcept = default;
AtomicFile::~AtomicFile() = default;

Expected<AtomicFile> AtomicFile::create(const std::string &path) {
  auto state = std::make_unique<State>();
  state->path = state->target = path;
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) {
      state->descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (state->descriptor < 0)
        return systemError(path, "can't be written");
      return AtomicFile(std::move(state));
    }
    // Renaming would replace a file that its owner protected, or a link instead of what it points
    // to.
    if (::access(path.c_str(), W_OK) != 0)
      return systemError(path, "can't be written");
    char resolved[PATH_MAX];
    if (::realpath(path.c_str(), resolved))
      state->target = resolved;
  }
  for (int attempt = 0; attempt < 100; ++attempt) {
    state->temporary =
        state->target + ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    state->descriptor =
        ::open(state->temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (state->descriptor >= 0)
      return AtomicFile(std::move(state));
    if (errno != EEXIST)
      break;
  }
  state->temporary.clear(); // it is not ours
  return systemError(path, "can't be written");
}

Status AtomicFile::write(const void *bytes, size_t size) {
  const char *next = static_cast<const char *>(bytes);
  while (size != 0) {
    ssize_t written = ::write(state_->descriptor, next, std::min<size_t>(size, 1 << 30));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return systemError(state_->path, "writing failed");
    next += written;
    size -= size_t(written);
  }
  return Status::success();
}

Status AtomicFile::commit() {
  // Some file systems report a full disk or quota only here.
  if (::close(std::exchange(state_->descriptor, -1)) != 0)
    return systemError(state_->path, "writing failed");
  if (state_->temporary.empty())
    return Status::success();
  if (::rename(state_->temporary.c_str(), state_->target.c_str()) != 0)
    return systemError(state_->path, "can't be written");
  state_->temporary.clear();
  return Status::success();
}

Status writeFile(const std::string &path, std::string_view content) {
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file.ok())
    return file.status();
  if (Status status = file->write(content); !status.ok())
    return status;
  return file->commit();
}

} // namespace strata
