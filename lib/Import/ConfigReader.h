//===- ConfigReader.h - Typed values from a JSON object ---------*- C++ -*-===//
#ifndef STRATA_LIB_IMPORT_CONFIGREADER_H
#define STRATA_LIB_IMPORT_CONFIGREADER_H

#include "strata/lib/Import/ModelConfig.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

namespace strata::importer {

/// What readers of one file share: the first error and the notes.
struct ConfigReport {
  Status status;
  std::vector<Note> &notes;
};

/// Reads keys of one JSON object. The first value that is not as expected becomes the report's
/// error; reading goes on with a harmless value, so that the code that reads needs no branch for
/// each key. A key with null counts as absent where a default is given.
class ConfigReader {
public:
  /// `prefix` precedes keys in messages: "rope_scaling.".
  ConfigReader(const llvm::json::Object &object, ConfigReport &report, std::string prefix = "");

  bool failed() const { return !report.status.ok(); }
  /// The key is there, and not null.
  bool has(llvm::StringRef key);
  /// The key is there, perhaps null.
  bool mentions(llvm::StringRef key);
  const llvm::json::Value *get(llvm::StringRef key);

  /// A positive integer below 2^31. 1 after an error.
  int64_t size(llvm::StringRef key);
  int64_t sizeOr(llvm::StringRef key, int64_t otherwise);
  /// An integer from `least` to `most`; `otherwise` if absent.
  int64_t integerOr(llvm::StringRef key, int64_t otherwise, int64_t least, int64_t most);
  /// A finite number above 0. 1 after an error.
  double positive(llvm::StringRef key);
  double positiveOr(llvm::StringRef key, double otherwise);
  bool flag(llvm::StringRef key);
  bool flagOr(llvm::StringRef key, bool otherwise);
  /// One of `words`; `otherwise` if absent.
  std::string wordOr(llvm::StringRef key, llvm::StringRef otherwise,
                     llvm::ArrayRef<llvm::StringRef> words);
  /// The object under `key`; null if absent.
  const llvm::json::Object *section(llvm::StringRef key);

  /// "KEY: expected EXPECTED but got …" with the value under `key`, or that it is missing.
  void fail(llvm::StringRef key, const llvm::Twine &expected);
  /// "KEY: TEXT".
  void failWith(llvm::StringRef key, const llvm::Twine &text);
  /// The same with code Unsupported.
  void refuse(llvm::StringRef key, const llvm::Twine &text);
  void warn(const llvm::Twine &text);

  /// Keys that nobody asked for, ascending.
  std::vector<std::string> unusedKeys() const;
  /// The value as it may stand in a message.
  static std::string show(const llvm::json::Value *value);
  static std::string show(double number);

private:
  const llvm::json::Object &object;
  ConfigReport &report;
  std::string prefix;
  llvm::StringSet<> used;
};

} // namespace strata::importer

#endif // STRATA_LIB_IMPORT_CONFIGREADER_H
