//===- Recall.cpp - How much the rows of two indexers agree ---------------===//
#include "strata/runtime/core/Recall.h"

#include "strata/lib/Support/Text.h"

#include <algorithm>

namespace strata::rt {

Expected<RecallSums> RecallSums::create(const ModelDescription &model) {
  const std::vector<int64_t> &widths = model.rowWidths;
  if (widths.empty())
    return Status(StatusCode::InvalidArgument, "the model has no indexers");
  if (std::count(widths.begin(), widths.end(), widths.front()) != int64_t(widths.size()))
    return Status(StatusCode::Unsupported,
                  "the model's indexers differ in how many rows they choose: " + shapeText(widths));
  return RecallSums(widths.front(), widths.size());
}

/// How many numbers two ascending lists share. Both may end with −1.
static int64_t countCommon(const int32_t *left, const int32_t *right, int64_t width) {
  int64_t common = 0;
  for (int64_t i = 0, j = 0; i < width && j < width && left[i] >= 0 && right[j] >= 0;) {
    common += left[i] == right[j];
    int32_t smaller = std::min(left[i], right[j]);
    i += left[i] == smaller;
    j += right[j] == smaller;
  }
  return common;
}

void RecallSums::add(const std::vector<std::vector<int32_t>> &rows, int64_t token) {
  ++tokens_;
  for (size_t i = 0; i < sums_.size(); ++i)
    for (size_t j = 0; j <= i; ++j) {
      int64_t common =
          countCommon(rows[i].data() + token * width_, rows[j].data() + token * width_, width_);
      sums_[i][j] += common;
      if (i != j)
        sums_[j][i] += common;
    }
}

std::vector<std::vector<double>> RecallSums::matrix() const {
  std::vector<std::vector<double>> result;
  for (const std::vector<int64_t> &row : sums_) {
    std::vector<double> &shares = result.emplace_back();
    for (int64_t sum : row)
      shares.push_back(double(sum) / double(tokens_ * width_));
  }
  return result;
}

} // namespace strata::rt
