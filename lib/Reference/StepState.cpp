//===- StepState.cpp - The values of a running step -----------------------===//
#include "strata/lib/Reference/StepState.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;

namespace strata::reference {

Status errorAt(Operation *op, const llvm::Twine &message, StatusCode code) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto location = dyn_cast<FileLineColLoc>(op->getLoc()))
    stream << location.getFilename().getValue() << ':' << location.getLine() << ':'
           << location.getColumn() << ": ";
  else if (auto location = dyn_cast<NameLoc>(op->getLoc()))
    stream << location.getName().getValue() << ": ";
  else if (!isa<UnknownLoc>(op->getLoc()))
    stream << op->getLoc() << ": ";
  stream << '\'' << op->getName() << "' op " << message;
  return Status(code, text);
}

double StepState::averageVisible() const {
  double sum = 0;
  for (int64_t token = 0; token < tokens(); ++token)
    sum += double(visible(token));
  return tokens() == 0 ? 0 : sum / double(tokens());
}

const Tensor &StepState::tensor(Value value) {
  if (std::holds_alternative<WeightUse>(values_.at(value))) {
    WeightView weight = resources.weights.view(value.getDefiningOp<WeightOp>());
    Tensor whole = Tensor::ofFloats(cast<RankedTensorType>(value.getType()).getShape());
    for (int64_t member = 0; member < weight.members(); ++member)
      weight.forRows(member, 0, weight.rows(), [&](int64_t row, const float *values) {
        std::copy_n(values, weight.columns(),
                    whole.floats.data() + (member * weight.rows() + row) * weight.columns());
      });
    set(value, std::move(whole));
  }
  return *std::get<std::shared_ptr<const Tensor>>(values_.at(value));
}

WeightView StepState::rows(Value value) {
  if (std::holds_alternative<WeightUse>(values_.at(value)))
    return resources.weights.view(value.getDefiningOp<WeightOp>());
  const Tensor &whole = tensor(value);
  unsigned rank = whole.shape.size();
  return WeightView(whole.floats.data(), rank == 3 ? whole.dim(0) : 1,
                    rank == 1 ? 1 : whole.dim(rank - 2), whole.dim(rank - 1));
}

std::vector<float> StepState::vector(Value value) {
  std::vector<float> copy;
  rows(value).forRows(0, 0, 1, [&](int64_t, const float *values) {
    copy.assign(values, values + shape(value).front());
  });
  return copy;
}

Shape StepState::shape(Value value) const {
  if (auto *tensor = std::get_if<std::shared_ptr<const Tensor>>(&values_.at(value)))
    return (*tensor)->shape;
  return Shape(cast<RankedTensorType>(value.getType()).getShape());
}

Expected<Cache *> StepState::cache(Operation *user, Value value) {
  auto [argument, version] = std::get<CacheUse>(values_.at(value));
  Cache &cache = resources.caches[argument];
  if (cache.version != version)
    return errorAt(user, "uses a cache value after its append");
  return &cache;
}

Expected<Cache *> StepState::filledCache(Operation *user, Value value) {
  Expected<Cache *> found = cache(user, value);
  if (!found.ok())
    return found;
  for (int64_t token = 0; token < tokens(); ++token) {
    int64_t length = (*found)->length(input.sequences[token]);
    if (length < visible(token))
      return errorAt(user, "token " + llvm::Twine(token) + " at position " +
                               llvm::Twine(input.positions[token]) + " sees " +
                               llvm::Twine(visible(token)) + " records but the cache holds " +
                               llvm::Twine(length));
  }
  return found;
}

void StepState::set(Value value, Tensor tensor) {
  bytes_ += tensor.bytes();
  peakBytes_ = std::max(peakBytes_, bytes_);
  values_[value] = std::make_shared<const Tensor>(std::move(tensor));
}

void StepState::setAlias(Value value, Value other) {
  Entry entry = values_.at(other);
  if (auto *tensor = std::get_if<std::shared_ptr<const Tensor>>(&entry))
    bytes_ += (*tensor)->bytes();
  values_[value] = std::move(entry);
}

void StepState::drop(Value value) {
  auto entry = values_.find(value);
  if (entry == values_.end())
    return;
  if (auto *tensor = std::get_if<std::shared_ptr<const Tensor>>(&entry->second))
    bytes_ -= (*tensor)->bytes();
  values_.erase(entry);
}

Status StepState::expectShape(Operation *op, const char *what, Value value,
                              ArrayRef<int64_t> expected) {
  Shape found = shape(value);
  if (ArrayRef<int64_t>(found) == expected)
    return Status::success();
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "expected " << what << " of shape [";
  llvm::interleaveComma(expected, stream);
  stream << "] but got [";
  llvm::interleaveComma(found, stream);
  stream << ']';
  return errorAt(op, text);
}

} // namespace strata::reference
