//===- StepRecords.cpp - Records and pages that a step touches ------------===//
#include "strata/runtime/core/StepRecords.h"

#include <algorithm>

namespace strata::rt {

std::vector<int32_t> ownRecords(const StepInput &input, int64_t pageSize) {
  std::vector<int32_t> records(input.positions.size());
  for (size_t n = 0; n < records.size(); ++n) {
    int64_t position = input.positions[n];
    int32_t page = input.pages[size_t(input.pageBegin[n] + position / pageSize)];
    records[n] = int32_t(page * pageSize + position % pageSize);
  }
  return records;
}

std::vector<int32_t> earlierPages(const StepInput &input, int64_t pageSize) {
  std::vector<int32_t> pages;
  for (size_t n = 0; n < input.positions.size(); ++n) {
    if (n > 0 && input.sequences[n] == input.sequences[n - 1])
      continue;
    auto begin = input.pages.begin() + input.pageBegin[n];
    pages.insert(pages.end(), begin, begin + (input.positions[n] + pageSize - 1) / pageSize);
  }
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  return pages;
}

} // namespace strata::rt
