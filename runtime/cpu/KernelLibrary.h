//===- KernelLibrary.h - The generated code of a package --------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_KERNELLIBRARY_H
#define STRATA_RUNTIME_CPU_KERNELLIBRARY_H

#include "strata-rt/kernel-abi.h"
#include "strata/runtime/core/Package.h"

#include <string>
#include <string_view>
#include <vector>

namespace strata::rt {

/// The shared object for this processor, loaded, with the addresses of its kernels.
class KernelLibrary {
public:
  /// Takes the best variant that this processor can run. A package without kernels needs none.
  static Expected<KernelLibrary> load(const Package &package);

  KernelLibrary(KernelLibrary &&other) noexcept;
  KernelLibrary &operator=(KernelLibrary &&other) noexcept;
  ~KernelLibrary();

  /// Kernel `index` of the manifest.
  strata_rt_kernel kernel(int32_t index) const { return kernels_[size_t(index)]; }
  /// The processor that the chosen variant was compiled for; empty without kernels.
  const std::string &processor() const { return processor_; }

private:
  KernelLibrary() = default;

  std::string processor_;
  void *handle_ = nullptr;
  int file_ = -1; ///< stays open as long as the object is loaded: see openFromMemory
  std::vector<strata_rt_kernel> kernels_;
};

/// How much a processor named as `Variant::cpu` is worth here: larger is better, negative if this
/// one lacks what it has or the name is unknown.
int processorRank(std::string_view name);

/// An object that was loaded, and the file descriptor that must outlive it (−1: none).
struct LoadedObject {
  void *handle = nullptr;
  int file = -1;
};

/// Loads a shared object from bytes through a file that exists only in memory.
Expected<LoadedObject> openFromMemory(std::string_view object);
/// The same through a file in `folder` that is removed at once; for systems without memory files.
Expected<LoadedObject> openFromTemporaryFile(std::string_view object, const std::string &folder);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_KERNELLIBRARY_H
