//===- RowProduct.cpp - Matrix products whose rows don't depend on each other -===//
#include "strata/runtime/cpu/RowProduct.h"

#include "strata/runtime/cpu/Scratch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <dlfcn.h>
#include <dnnl.h>
#include <map>
#include <mutex>
#include <tuple>

namespace strata::rt {

/// Candidates for the rows of a block, best first. 8 is what the library's AVX-512 kernel for few
/// rows takes at once (a single row then costs twice a pure read of the weight; 16 cost ten times
/// as much); its AVX2 kernel takes 6, so that with 8 the last rows go another way. The rest is for
/// what was not tried.
static constexpr std::array<int64_t, 4> kBlockRows = {kMaxBlockRows, 4, 2, 1};

SingleThreadedLibrary::SingleThreadedLibrary() {
  // The library brings its own OpenMP; which one is the distribution's choice, so it is not linked.
  if (auto get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads")))
    before_ = get();
  if (auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
    set(1);
}

SingleThreadedLibrary::~SingleThreadedLibrary() {
  if (auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
    if (before_ > 0)
      set(before_);
}

static void multiplyByLoop(const BlockShape &shape, const float *x, const float *w, float *c) {
  int64_t outputStride = shape.transposed ? 1 : shape.inputs;
  int64_t inputStride = shape.transposed ? shape.outputs : 1;
  for (int64_t m = 0; m < shape.outputs; ++m) {
    const float *row = w + m * outputStride;
    float sum = 0;
    for (int64_t k = 0; k < shape.inputs; ++k)
      sum += x[k] * row[k * inputStride];
    c[m] = sum;
  }
}

bool multiplyBlock(const BlockShape &shape, int64_t rows, const float *x, const float *w,
                   float *c) {
  if (rows == 0) {
    multiplyByLoop(shape, x, w, c);
    return true;
  }
  return dnnl_sgemm('N', shape.transposed ? 'N' : 'T', rows, shape.outputs, shape.inputs, 1.0f, x,
                    shape.inputs, w, shape.transposed ? shape.outputs : shape.inputs, 0.0f, c,
                    shape.outputs) == dnnl_success;
}

bool rowsAreIndependent(const BlockShape &shape, int64_t rows) {
  uint32_t state = 1;
  auto random = [&state] {
    state = state * 1664525u + 1013904223u;
    return float(int32_t(state)) * 0x1p-31f;
  };
  auto fill = [&](int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    std::generate(values.begin(), values.end(), random);
    return values;
  };
  std::vector<float> x = fill(rows * shape.inputs), w = fill(shape.inputs * shape.outputs);
  std::vector<float> first(size_t(rows * shape.outputs)), moved(first);
  SingleThreadedLibrary guard;
  if (!multiplyBlock(shape, rows, x.data(), w.data(), first.data()))
    return false;
  // Each turn moves every row to the next place, until each was at all places.
  for (int64_t turn = 1; turn < rows; ++turn) {
    std::rotate(x.begin(), x.end() - shape.inputs, x.end());
    std::rotate(first.begin(), first.end() - shape.outputs, first.end());
    if (!multiplyBlock(shape, rows, x.data(), w.data(), moved.data()) ||
        std::memcmp(first.data(), moved.data(), first.size() * sizeof(float)) != 0)
      return false;
  }
  return true;
}

int64_t chooseBlockRows(const std::vector<BlockShape> &shapes) {
  // Layers share shapes, and what holds on this processor goes on to hold.
  static std::mutex mutex;
  static std::map<std::tuple<int64_t, int64_t, bool, int64_t>, bool> known;
  std::lock_guard<std::mutex> lock(mutex);
  auto independent = [&](const BlockShape &shape, int64_t rows) {
    auto [entry, isNew] =
        known.try_emplace({shape.inputs, shape.outputs, shape.transposed, rows}, false);
    if (isNew)
      entry->second = rowsAreIndependent(shape, rows);
    return entry->second;
  };
  for (int64_t rows : kBlockRows)
    if (std::all_of(shapes.begin(), shapes.end(),
                    [&](const BlockShape &shape) { return independent(shape, rows); }))
      return rows;
  return 0;
}

void roundValuesToBF16(float *values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof bits);
    bool isNaN = (bits & 0x7fffffffu) > 0x7f800000u;
    uint32_t rounded = isNaN ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1);
    rounded &= 0xffff0000u;
    std::memcpy(values + i, &rounded, sizeof rounded);
  }
}

Status productFailed() { return Status(StatusCode::OutOfMemory, "no memory for a matrix product"); }

RowProduct::RowProduct(const BoundWeight &weight, bool transposed, ElementType operands)
    : weight_(&weight), inputs_(transposed ? weight.rows() : weight.columns()),
      outputs_(transposed ? weight.columns() : weight.rows()), transposed_(transposed),
      roundInputs_(operands == ElementType::BF16),
      roundWeights_(operands == ElementType::BF16 &&
                    (weight.description().stored != ElementType::BF16 || weight.scaled())) {
  assert((operands == ElementType::F32 || operands == ElementType::BF16) && "can't round to it");
  blockOutputs_ = productBlockOutputs(inputs_, outputs_, transposed);
  std::vector<BlockShape> shapes = {{inputs_, blockOutputs_, transposed}};
  if (outputs_ % blockOutputs_ != 0)
    shapes.push_back({inputs_, outputs_ % blockOutputs_, transposed});
  libraryRows_ = chooseBlockRows(shapes);
}

size_t RowProduct::scratchBytes() const {
  // Whatever rows this processor takes at once, so that a package says what it needs.
  return productScratchBytes(inputs_, outputs_, transposed_);
}

RowProduct::Room RowProduct::room(std::byte *scratch) const {
  Room room;
  room.rows = reinterpret_cast<float *>(scratch);
  room.weights = room.rows + paddedFloats(inputs_ * blockRows());
  room.sums = room.weights + paddedFloats(inputs_ * blockOutputs_);
  return room;
}

/// A checkpoint may hold f32 values at any address.
bool RowProduct::usedInPlace(int64_t member) const {
  return weight_->description().stored == ElementType::F32 && !weight_->scaled() &&
         !roundWeights_ &&
         reinterpret_cast<uintptr_t>(weight_->row(member, 0)) % alignof(float) == 0;
}

const float *RowProduct::loadWeights(int64_t member, int64_t outputBlock, const Room &room) const {
  int64_t firstRow = transposed_ ? 0 : firstOutput(outputBlock);
  if (usedInPlace(member))
    return reinterpret_cast<const float *>(weight_->row(member, firstRow));
  int64_t width = blockWidth(outputBlock);
  weight_->readRows(member, firstRow, transposed_ ? inputs_ : width, room.weights);
  if (roundWeights_)
    roundValuesToBF16(room.weights, inputs_ * width);
  return room.weights;
}

void RowProduct::loadRow(const float *input, float *row) const {
  std::copy(input, input + inputs_, row);
  if (roundInputs_)
    roundValuesToBF16(row, inputs_);
}

/// Places without a row hold zeros, so that nothing depends on what was there.
void RowProduct::clearRows(int64_t first, const Room &room) const {
  std::fill(room.rows + first * inputs_, room.rows + blockRows() * inputs_, 0.0f);
}

bool RowProduct::multiply(int64_t outputBlock, const float *weights, const Room &room) const {
  return multiplyBlock({inputs_, blockWidth(outputBlock), transposed_}, libraryRows_, room.rows,
                       weights, room.sums);
}

} // namespace strata::rt
