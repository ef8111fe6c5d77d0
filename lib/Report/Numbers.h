//===- Numbers.h - How reports write numbers and names ----------*- C++ -*-===//
#ifndef STRATA_LIB_REPORT_NUMBERS_H
#define STRATA_LIB_REPORT_NUMBERS_H

#include "strata/lib/Report/Report.h"

namespace strata {

/// 3 significant digits or all of the integer part, and a decimal prefix: "80.6 G", "283 G", "656
/// ".
std::string withPrefix(double value);
/// A number of tokens: multiples of 1024 and 1024² as "128K" and "1M", others in digits.
std::string formatContext(int64_t tokens);
/// "12.3 %"; "0 %" of nothing.
std::string formatShare(double part, double whole);
double getShare(double part, double whole);

llvm::StringRef getStepName(StepKind step);
/// The formats' names in reports: "stored" and "compiled" stand for what the module has.
llvm::StringRef getWeightFormatName(StorageFormat format);
llvm::StringRef getCacheFormatName(StorageFormat format);
/// "78 layers, 21 indexers; 57 layers with the rows of another".
std::string describeModel(const Report &report);
/// "weights as stored, caches fp8, 656 bytes a record, 132 bytes an index key".
std::string describeFormats(const Report &report);

} // namespace strata

#endif // STRATA_LIB_REPORT_NUMBERS_H
