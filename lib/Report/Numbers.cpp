//===- Numbers.cpp - How reports write numbers and names ------------------===//
#include "strata/lib/Report/Numbers.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace strata;

std::string strata::withPrefix(double value) {
  static constexpr const char *prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  unsigned prefix = 0;
  while (value >= 999.5 && prefix + 1 < std::size(prefixes)) {
    value /= 1000;
    ++prefix;
  }
  int decimals = value >= 99.95 || (prefix == 0 && value == double(int64_t(value))) ? 0
                 : value >= 9.995                                                   ? 1
                                                                                    : 2;
  std::string digits;
  llvm::raw_string_ostream stream(digits);
  stream << llvm::format("%.*f", decimals, value) << ' ' << prefixes[prefix];
  return digits;
}

std::string strata::formatContext(int64_t tokens) {
  if (tokens >= 1 << 20 && tokens % (1 << 20) == 0)
    return std::to_string(tokens >> 20) + "M";
  if (tokens >= 1 << 10 && tokens % (1 << 10) == 0)
    return std::to_string(tokens >> 10) + "K";
  return std::to_string(tokens);
}

double strata::getShare(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string strata::formatShare(double part, double whole) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.1f %%", 100 * getShare(part, whole));
  return text;
}

StringRef strata::getStepName(StepKind step) {
  return step == StepKind::Decode ? "decode" : "prefill";
}

static StringRef getFormatName(StorageFormat format, StringRef written) {
  switch (format) {
  case StorageFormat::AsWritten:
    return written;
  case StorageFormat::BF16:
    return "bf16";
  case StorageFormat::FP8:
    return "fp8";
  }
  llvm_unreachable("a format without a name");
}

StringRef strata::getWeightFormatName(StorageFormat format) {
  return getFormatName(format, "stored");
}
StringRef strata::getCacheFormatName(StorageFormat format) {
  return getFormatName(format, "compiled");
}

std::string strata::describeModel(const Report &report) {
  int64_t followers = llvm::count_if(report.costs.layers, [](const LayerCosts &layer) {
    return layer.role == LayerRole::Follower;
  });
  auto count = [](int64_t number, const char *what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  std::string text = count(int64_t(report.costs.layers.size()), "layer") + ", " +
                     count(report.costs.indexers, "indexer");
  if (followers)
    text += "; " + count(followers, "layer") + " with the rows of another";
  return text;
}

std::string strata::describeFormats(const Report &report) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto as = [](StorageFormat format) { return format == StorageFormat::AsWritten ? "as " : ""; };
  stream << "weights " << as(report.options.weights) << getWeightFormatName(report.options.weights)
         << ", caches " << as(report.options.caches) << getCacheFormatName(report.options.caches);
  if (report.recordBytes > 0)
    stream << ", " << int64_t(report.recordBytes) << " bytes a record";
  if (report.indexRecordBytes > 0)
    stream << ", " << int64_t(report.indexRecordBytes) << " bytes an index key";
  return text;
}
