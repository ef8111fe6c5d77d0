//===- BoundWeight.cpp - A model's weight, found and checked in a checkpoint -===//
#include "strata/lib/Checkpoint/BoundWeight.h"

#include "strata/lib/Checkpoint/WeightPattern.h"
#include "strata/lib/Support/Text.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace strata {

const std::byte *BoundWeight::row(int64_t member, int64_t row) const {
  assert(member >= 0 && member < members_ && row >= 0 && row < rows_ && "no such row");
  return copy_ ? copy_ + size_t(member * rows_ + row) * rowBytes() : checkpointRow(member, row);
}

void BoundWeight::copyStored(std::byte *target) const {
  size_t bytes = size_t(rows_) * rowBytes();
  for (int64_t member = 0; member < members_; ++member)
    std::memcpy(target + size_t(member) * bytes, checkpointRow(member, 0), bytes);
}

const std::byte *BoundWeight::checkpointRow(int64_t member, int64_t row) const {
  if (description_.partGroups != 0)
    return data_[0] +
           size_t(member * description_.partStride + description_.partOffset + row) * rowBytes();
  return data_[size_t(member)] + size_t(row) * rowBytes();
}

void BoundWeight::readRows(int64_t member, int64_t firstRow, int64_t rowCount,
                           float *output) const {
  assert(rowCount >= 0 && firstRow + rowCount <= rows_ && "no such rows");
  if (rowCount == 0)
    return;
  widen(description_.stored, row(member, firstRow), output, size_t(rowCount * columns_));
  if (!scaled())
    return;
  bool part = description_.partGroups != 0;
  const std::vector<float> &scales = scales_[part ? 0 : size_t(member)];
  int64_t storedRow =
      firstRow + (part ? member * description_.partStride + description_.partOffset : 0);
  for (int64_t r = 0; r < rowCount; ++r, ++storedRow) {
    const float *rowScales = scales.data() + storedRow / description_.blockRows * scaleColumns_;
    float *values = output + r * columns_;
    for (int64_t block = 0; block < scaleColumns_; ++block) {
      int64_t begin = block * description_.blockColumns;
      int64_t end = std::min(columns_, begin + description_.blockColumns);
      for (int64_t c = begin; c < end; ++c)
        values[c] *= rowScales[block];
    }
  }
}

void BoundWeight::readAll(float *output) const {
  for (int64_t member = 0; member < members_; ++member)
    readRows(member, 0, rows_, output + member * rows_ * columns_);
}

/// Binds weight by weight and collects what is wrong with tensors.
class WeightBinder {
public:
  explicit WeightBinder(const Checkpoint &checkpoint) : checkpoint_(checkpoint) {}

  /// An error only where the description itself can't be.
  Expected<BoundWeight> bind(const WeightDescription &description);

  /// What was wrong with tensors so far.
  Status status() const;

private:
  const TensorView *findTensor(const std::string &name, const std::vector<int64_t> &shape,
                               const std::vector<ElementType> &types);
  Status bindScales(BoundWeight &weight, const std::vector<int64_t> &tensorShape);

  const Checkpoint &checkpoint_;
  std::vector<std::string> missing_, different_;
  std::set<std::string> complained_; // several weights may be parts of one tensor
};

/// Null, and noted, if there is no such tensor or it is another one than expected.
const TensorView *WeightBinder::findTensor(const std::string &name,
                                           const std::vector<int64_t> &shape,
                                           const std::vector<ElementType> &types) {
  const TensorView *tensor = checkpoint_.find(name);
  if (!tensor) {
    if (complained_.insert(name).second)
      missing_.push_back(printable(name));
    return nullptr;
  }
  bool rightType =
      tensor->type && std::find(types.begin(), types.end(), *tensor->type) != types.end();
  if (rightType && tensor->shape == shape)
    return tensor;
  if (complained_.insert(name).second) {
    std::string expected;
    for (ElementType type : types)
      expected += (expected.empty() ? "" : " or ") + std::string(elementTypeName(type));
    different_.push_back(
        printable(name) + ": expected " + expected + " " + shapeText(shape) + " but got " +
        std::string(tensor->type ? elementTypeName(*tensor->type) : tensor->dtype) + " " +
        printable(shapeText(tensor->shape)));
  }
  return nullptr;
}

static int64_t ceilDivide(int64_t value, int64_t divisor) {
  return value / divisor + (value % divisor != 0);
}

Status WeightBinder::bindScales(BoundWeight &weight, const std::vector<int64_t> &tensorShape) {
  const WeightDescription &description = weight.description_;
  auto error = [&](const std::string &message) {
    return Status(StatusCode::InvalidArgument,
                  "weight " + printable(description.name) + ": " + message);
  };
  if (tensorShape.size() != 2)
    return error("expected a matrix for scales by blocks but got a vector");
  if (description.blockRows < 1 || description.blockColumns < 1)
    return error("expected a block of at least 1 × 1 but got " +
                 std::to_string(description.blockRows) + " × " +
                 std::to_string(description.blockColumns));
  Expected<std::vector<std::string>> names = expandWeightPattern(description.scaleName);
  if (!names.ok())
    return names.status();
  if (names->size() != weight.data_.size())
    return error("expected " + std::to_string(weight.data_.size()) + " scale tensors but '" +
                 printable(description.scaleName) + "' names " + std::to_string(names->size()));
  std::vector<int64_t> shape = {ceilDivide(tensorShape[0], description.blockRows),
                                ceilDivide(tensorShape[1], description.blockColumns)};
  weight.scaleColumns_ = shape[1];
  for (const std::string &name : *names) {
    std::vector<float> &scales = weight.scales_.emplace_back();
    if (const TensorView *tensor = findTensor(name, shape, {ElementType::F32, ElementType::BF16})) {
      scales.resize(size_t(shape[0] * shape[1]));
      widen(*tensor->type, tensor->data, scales.data(), scales.size());
    }
  }
  return Status::success();
}

Expected<BoundWeight> WeightBinder::bind(const WeightDescription &description) {
  auto error = [&](const std::string &message) {
    return Status(StatusCode::InvalidArgument,
                  "weight " + printable(description.name) + ": " + message);
  };
  Expected<std::vector<std::string>> names = expandWeightPattern(description.name);
  if (!names.ok())
    return names.status();
  BoundWeight weight;
  weight.description_ = description;
  const std::vector<int64_t> &shape = description.shape;
  if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 1; }))
    return error("expected extents of at least 1 but got " + printable(shapeText(shape)));

  std::vector<int64_t> tensorShape = shape;
  if (description.partGroups != 0) {
    int64_t storedRows, partEnd;
    bool valid =
        shape.size() == 3 && shape[0] == description.partGroups && description.partOffset >= 0 &&
        !__builtin_add_overflow(description.partOffset, shape[1], &partEnd) &&
        partEnd <= description.partStride && !isWeightPattern(description.name) &&
        !__builtin_mul_overflow(description.partGroups, description.partStride, &storedRows);
    if (!valid)
      return error("rows " + std::to_string(description.partOffset) + " and on of " +
                   std::to_string(description.partGroups) + " groups of " +
                   std::to_string(description.partStride) + " can't have shape " +
                   printable(shapeText(shape)));
    tensorShape = {storedRows, shape[2]};
    weight.members_ = shape[0];
  } else if (isWeightPattern(description.name)) {
    if (shape.empty() || shape[0] != int64_t(names->size()))
      return error("expected " + std::to_string(names->size()) + " tensors but the shape is " +
                   printable(shapeText(shape)));
    tensorShape.erase(tensorShape.begin());
    weight.members_ = shape[0];
  }
  if (tensorShape.size() != 1 && tensorShape.size() != 2)
    return error("expected a vector or a matrix but got shape " + printable(shapeText(shape)));
  weight.rows_ = tensorShape.size() == 1 ? 1 : shape[shape.size() - 2];
  weight.columns_ = tensorShape.back();

  for (const std::string &name : *names) {
    const TensorView *tensor = findTensor(name, tensorShape, {description.stored});
    weight.data_.push_back(tensor ? tensor->data : nullptr);
  }
  if (!description.scaleName.empty())
    if (Status status = bindScales(weight, tensorShape); !status.ok())
      return status;
  return weight;
}

Status WeightBinder::status() const {
  if (missing_.empty() && different_.empty())
    return Status::success();
  auto count = [](size_t number) {
    return std::to_string(number) + (number == 1 ? " tensor" : " tensors");
  };
  std::string message = checkpoint_.path() + ": ";
  if (!missing_.empty())
    message += count(missing_.size()) + " missing: " + listText(missing_);
  if (!different_.empty())
    message += (missing_.empty() ? "" : "; ") + count(different_.size()) +
               " not as expected: " + listText(different_, "; ");
  return Status(missing_.empty() ? StatusCode::InvalidArgument : StatusCode::NotFound, message);
}

Expected<std::vector<BoundWeight>> bindWeights(const std::vector<WeightDescription> &descriptions,
                                               const Checkpoint &checkpoint) {
  WeightBinder binder(checkpoint);
  std::vector<BoundWeight> weights;
  weights.reserve(descriptions.size());
  for (const WeightDescription &description : descriptions) {
    Expected<BoundWeight> weight = binder.bind(description);
    if (!weight.ok())
      return weight.status();
    weights.push_back(std::move(*weight));
  }
  if (Status status = binder.status(); !status.ok())
    return status;
  return weights;
}

} // namespace strata
