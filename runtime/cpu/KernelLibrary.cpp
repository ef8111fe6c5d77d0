//===- KernelLibrary.cpp - The generated code of a package ----------------===//
#include "strata/runtime/cpu/KernelLibrary.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace strata::rt {

int processorRank(std::string_view name) {
  if (name == "x86-64")
    return 1;
  if (name == "x86-64-v2")
    return __builtin_cpu_supports("x86-64-v2") ? 2 : -1;
  if (name == "x86-64-v3")
    return __builtin_cpu_supports("x86-64-v3") ? 3 : -1;
  if (name == "x86-64-v4")
    return __builtin_cpu_supports("x86-64-v4") ? 4 : -1;
  return -1;
}

static Status systemError(const std::string &what) {
  return Status(StatusCode::Io, what + ": " + std::strerror(errno));
}

static bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    bytes.remove_prefix(size_t(written));
  }
  return true;
}

static Expected<LoadedObject> openPath(const std::string &path) {
  LoadedObject object;
  object.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object.handle)
    return Status(StatusCode::Corrupt,
                  std::string("can't load the package's kernels: ") + dlerror());
  return object;
}

Expected<LoadedObject> openFromMemory(std::string_view bytes) {
  int file = memfd_create("strata-kernels", MFD_CLOEXEC);
  if (file < 0)
    return systemError("can't make a file in memory");
  if (!writeAll(file, bytes)) {
    Status status = systemError("can't write the package's kernels to memory");
    close(file);
    return status;
  }
  Expected<LoadedObject> object = openPath("/proc/self/fd/" + std::to_string(file));
  // The loader knows objects by their path. Would the descriptor be closed, the next package could
  // get the same number, the same path, and with it this object's kernels.
  if (object.ok())
    object->file = file;
  else
    close(file);
  return object;
}

Expected<LoadedObject> openFromTemporaryFile(std::string_view bytes, const std::string &folder) {
  std::string path = folder + "/strata-kernels-XXXXXX";
  int file = mkstemp(path.data());
  if (file < 0)
    return systemError(folder + ": can't make a file for the package's kernels");
  bool written = writeAll(file, bytes);
  Status status = written ? Status() : systemError(path + ": can't write the package's kernels");
  close(file);
  Expected<LoadedObject> object = written ? openPath(path) : Expected<LoadedObject>(status);
  unlink(path.c_str());
  return object;
}

/// The index of the best variant; −1 if this processor runs none.
static int chooseVariant(const package::Manifest &manifest) {
  int best = -1, bestRank = -1;
  for (uint32_t i = 0; i < manifest.variants()->size(); ++i) {
    int rank = processorRank(manifest.variants()->Get(i)->cpu()->string_view());
    if (rank > bestRank) {
      best = int(i);
      bestRank = rank;
    }
  }
  return best;
}

Expected<KernelLibrary> KernelLibrary::load(const Package &package) {
  const package::Manifest &manifest = package.manifest();
  KernelLibrary library;
  if (manifest.kernels()->size() == 0)
    return library;
  int chosen = chooseVariant(manifest);
  if (chosen < 0) {
    std::string names;
    for (const package::Variant *variant : *manifest.variants())
      names += (names.empty() ? "" : ", ") + variant->cpu()->str();
    return Status(StatusCode::Unsupported,
                  "the package has kernels for " + names + " but this processor runs none of them");
  }
  const package::Variant &variant = *manifest.variants()->Get(uint32_t(chosen));
  std::string_view bytes = package.blob(*variant.object());
  Expected<LoadedObject> object = openFromMemory(bytes);
  if (!object.ok())
    object = openFromTemporaryFile(bytes, "/tmp");
  if (!object.ok())
    return object.status();
  library.processor_ = variant.cpu()->str();
  library.handle_ = object->handle;
  library.file_ = object->file;
  for (const flatbuffers::String *name : *manifest.kernels()) {
    void *address = dlsym(library.handle_, name->c_str());
    if (!address)
      return Status(StatusCode::Corrupt, "the package's object for " + library.processor_ +
                                             " has no kernel " + name->str());
    library.kernels_.push_back(reinterpret_cast<strata_rt_kernel>(address));
  }
  return library;
}

KernelLibrary::KernelLibrary(KernelLibrary &&other) noexcept
    : processor_(std::move(other.processor_)), handle_(std::exchange(other.handle_, nullptr)),
      file_(std::exchange(other.file_, -1)), kernels_(std::move(other.kernels_)) {}

KernelLibrary &KernelLibrary::operator=(KernelLibrary &&other) noexcept {
  std::swap(processor_, other.processor_);
  std::swap(handle_, other.handle_);
  std::swap(file_, other.file_);
  std::swap(kernels_, other.kernels_);
  return *this;
}

KernelLibrary::~KernelLibrary() {
  if (handle_)
    dlclose(handle_);
  if (file_ >= 0)
    close(file_);
}

} // namespace strata::rt
