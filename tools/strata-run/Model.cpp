//===- Model.cpp - What strata-run runs: a package or a module ------------===//
#include "Model.h"

#include "strata/runtime/cpu/CpuExecutor.h"

#include <climits>
#include <dlfcn.h>
#include <unistd.h>

namespace strata::run {

/// The folder of this program's file, with a slash; empty if it can't be known.
static std::string programFolder() {
  char path[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || size_t(length) == sizeof path)
    return "";
  std::string_view text(path, size_t(length));
  return std::string(text.substr(0, text.rfind('/') + 1));
}

/// The library from the build or the installation that this program belongs to, otherwise the
/// loader's. It is never closed: executors are its code.
static Expected<void *> openReferenceLibrary() {
  std::string beside = programFolder() + "../lib/" + rt::kReferenceLibrary;
  if (::access(beside.c_str(), F_OK) == 0) {
    if (void *library = ::dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    return Status(StatusCode::Unsupported,
                  "the reference library can't be opened: " + std::string(::dlerror()));
  }
  if (void *library = ::dlopen(rt::kReferenceLibrary, RTLD_NOW | RTLD_LOCAL))
    return library;
  return Status(StatusCode::NotFound,
                "--device=reference needs " + std::string(rt::kReferenceLibrary) +
                    ", which is neither at " + beside + " nor where the loader looks");
}

template <typename Function>
static Status findFunction(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function)
    return Status::success();
  return Status(StatusCode::Unsupported, std::string(rt::kReferenceLibrary) + " has no function " +
                                             name + ": it is of another version");
}

/// The result of one of the library's functions.
static Status referenceStatus(int code, const char *error) {
  return code == 0 ? Status::success() : Status(StatusCode(code), error);
}

Status Model::openReference(const std::string &path) {
  if (package_) {
    module_ = package_->inputModule();
    if (module_.empty())
      return Status(StatusCode::Unsupported,
                    path + ": the package has no input module, which --device=reference runs; give "
                           "the .mlir file instead");
  }
  Expected<void *> library = openReferenceLibrary();
  if (!library.ok())
    return library.status();
  rt::DescribeReferenceModel describe = nullptr;
  if (Status status = findFunction(*library, rt::kDescribeReferenceModel, describe); !status.ok())
    return status;
  if (Status status = findFunction(*library, rt::kCreateReferenceExecutor, createReference_);
      !status.ok())
    return status;
  char error[4096] = "";
  int code = describe(module_.data(), module_.size(), &description_, error, sizeof error);
  Status status = referenceStatus(code, error);
  return status.ok() ? status : Status(status.code(), path + ": " + status.message());
}

Expected<std::unique_ptr<Model>> Model::open(const std::string &path, Device device) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.status();
  auto model = std::make_unique<Model>();
  model->device_ = device;
  if (rt::Package::hasMagic(file->text())) {
    Expected<std::unique_ptr<rt::Package>> package = rt::Package::open(path);
    if (!package.ok())
      return package.status();
    model->package_ = std::move(*package);
    model->description_ = model->package_->model();
  } else if (device == Device::Reference) {
    model->file_ = std::move(*file);
    model->module_ = model->file_->text();
  } else {
    return Status(StatusCode::InvalidArgument,
                  path + ": not a Strata package; modules run with --device=reference, or after "
                         "strata-compile");
  }
  if (device == Device::Reference)
    if (Status status = model->openReference(path); !status.ok())
      return status;
  return model;
}

Expected<std::unique_ptr<rt::Executor>>
Model::createExecutor(const Checkpoint &checkpoint, const rt::ExecutorOptions &limits) const {
  if (device_ == Device::Cpu)
    return rt::createCpuExecutor(*package_, checkpoint, limits);
  rt::Executor *executor = nullptr;
  char error[65536] = ""; // it may list what a checkpoint lacks
  int code = createReference_(module_.data(), module_.size(), &checkpoint, &limits, &executor,
                              error, sizeof error);
  if (Status status = referenceStatus(code, error); !status.ok())
    return status;
  return std::unique_ptr<rt::Executor>(executor);
}

} // namespace strata::run
