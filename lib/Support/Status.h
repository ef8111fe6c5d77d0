//===- Status.h - Errors as values, for code without LLVM -------*- C++ -*-===//
//
// The runtime and the checkpoint reader report errors as a code and one line of text that names the
// thing, the value expected and the value found. They use neither exceptions nor LLVM's Error.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_LIB_SUPPORT_STATUS_H
#define STRATA_LIB_SUPPORT_STATUS_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace strata {

/// The kinds of errors that a caller may want to tell apart. The values are those of
/// `strata_rt_status` (strata-rt.h).
enum class StatusCode : int {
  Ok = 0,
  InvalidArgument = 1, ///< an option, a shape or a token that can't be
  NotFound = 2,        ///< a file, a tensor or a library that is not there
  Corrupt = 3,         ///< a file whose content contradicts itself
  Unsupported = 4,     ///< understood, but not to be had here
  OutOfMemory = 5,     ///< a limit or the machine's memory is too small
  Io = 6,              ///< reading or writing failed
};

/// Success, or a code with a message: lower case, no full stop.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {
    assert(code != StatusCode::Ok && "an error needs a code");
  }
  static Status success() { return {}; }

  bool ok() const { return code_ == StatusCode::Ok; }
  StatusCode code() const { return code_; }
  const std::string &message() const { return message_; }

private:
  StatusCode code_ = StatusCode::Ok;
  std::string message_;
};

/// A value or the reason why there is none.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : value_(std::move(value)) {}
  Expected(Status status) : status_(std::move(status)) {
    assert(!status_.ok() && "success needs a value");
  }

  bool ok() const { return value_.has_value(); }
  const Status &status() const { return status_; }
  T &operator*() { return *value_; }
  const T &operator*() const { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }

private:
  std::optional<T> value_;
  Status status_;
};

} // namespace strata

#endif // STRATA_LIB_SUPPORT_STATUS_H
