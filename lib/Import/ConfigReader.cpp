//===- ConfigReader.cpp - Typed values from a JSON object -----------------===//
#include "strata/lib/Import/ConfigReader.h"

#include "strata/lib/Support/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace strata::importer {

static constexpr int64_t kLargest = (int64_t(1) << 31) - 1;

ConfigReader::ConfigReader(const llvm::json::Object &object, ConfigReport &report,
                           std::string prefix)
    : object(object), report(report), prefix(std::move(prefix)) {}

const llvm::json::Value *ConfigReader::get(llvm::StringRef key) {
  used.insert(key);
  return object.get(key);
}

bool ConfigReader::mentions(llvm::StringRef key) { return get(key) != nullptr; }

bool ConfigReader::has(llvm::StringRef key) {
  const llvm::json::Value *value = get(key);
  return value && value->kind() != llvm::json::Value::Null;
}

int64_t ConfigReader::size(llvm::StringRef key) {
  const llvm::json::Value *value = get(key);
  std::optional<int64_t> number = value ? value->getAsInteger() : std::nullopt;
  if (number && *number > 0 && *number <= kLargest)
    return *number;
  fail(key, "a positive integer below 2^31");
  return 1;
}

int64_t ConfigReader::sizeOr(llvm::StringRef key, int64_t otherwise) {
  return has(key) ? size(key) : otherwise;
}

int64_t ConfigReader::integerOr(llvm::StringRef key, int64_t otherwise, int64_t least,
                                int64_t most) {
  if (!has(key))
    return otherwise;
  std::optional<int64_t> number = get(key)->getAsInteger();
  if (number && *number >= least && *number <= most)
    return *number;
  fail(key, llvm::formatv("an integer from {0} to {1}", least, most).str());
  return otherwise;
}

double ConfigReader::positive(llvm::StringRef key) {
  const llvm::json::Value *value = get(key);
  std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
  if (number && *number > 0 && std::isfinite(*number))
    return *number;
  fail(key, "a positive number");
  return 1;
}

double ConfigReader::positiveOr(llvm::StringRef key, double otherwise) {
  return has(key) ? positive(key) : otherwise;
}

bool ConfigReader::flag(llvm::StringRef key) {
  const llvm::json::Value *value = get(key);
  if (std::optional<bool> flag = value ? value->getAsBoolean() : std::nullopt)
    return *flag;
  fail(key, "true or false");
  return false;
}

bool ConfigReader::flagOr(llvm::StringRef key, bool otherwise) {
  return has(key) ? flag(key) : otherwise;
}

std::string ConfigReader::wordOr(llvm::StringRef key, llvm::StringRef otherwise,
                                 llvm::ArrayRef<llvm::StringRef> words) {
  if (!has(key))
    return otherwise.str();
  std::optional<llvm::StringRef> word = get(key)->getAsString();
  if (word && llvm::is_contained(words, *word))
    return word->str();
  std::string list;
  for (llvm::StringRef each : words)
    list += (list.empty() ? "\"" : " or \"") + each.str() + "\"";
  fail(key, list);
  return otherwise.str();
}

const llvm::json::Object *ConfigReader::section(llvm::StringRef key) {
  if (!has(key))
    return nullptr;
  const llvm::json::Object *section = get(key)->getAsObject();
  if (!section)
    fail(key, "an object or null");
  return section;
}

std::string ConfigReader::show(const llvm::json::Value *value) {
  if (!value)
    return "nothing";
  if (const llvm::json::Array *list = value->getAsArray(); list && list->size() > 16)
    return llvm::formatv("a list of {0}", list->size()).str();
  return printable(llvm::formatv("{0}", *value).str());
}

std::string ConfigReader::show(double number) {
  llvm::json::Value value = number;
  return show(&value);
}

void ConfigReader::failWith(llvm::StringRef key, const llvm::Twine &text) {
  if (report.status.ok())
    report.status =
        Status(StatusCode::InvalidArgument, (llvm::Twine(prefix) + key + ": " + text).str());
}

void ConfigReader::refuse(llvm::StringRef key, const llvm::Twine &text) {
  if (report.status.ok())
    report.status =
        Status(StatusCode::Unsupported, (llvm::Twine(prefix) + key + ": " + text).str());
}

void ConfigReader::fail(llvm::StringRef key, const llvm::Twine &expected) {
  if (const llvm::json::Value *value = get(key))
    return failWith(key, "expected " + expected + " but got " + show(value));
  failWith(key, "expected " + expected + " but the key is missing");
}

void ConfigReader::warn(const llvm::Twine &text) {
  report.notes.push_back({Note::Kind::Warning, text.str()});
}

std::vector<std::string> ConfigReader::unusedKeys() const {
  std::vector<std::string> keys;
  for (const auto &entry : object)
    if (!used.contains(entry.first))
      keys.push_back(llvm::StringRef(entry.first).str());
  llvm::sort(keys);
  return keys;
}

} // namespace strata::importer
