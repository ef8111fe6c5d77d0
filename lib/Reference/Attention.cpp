//===- Attention.cpp - Caches and attention over them ---------------------===//
#include "strata/lib/Reference/Ops.h"
#include "strata/lib/Reference/Products.h"

#include <cmath>

using namespace mlir;

namespace strata::reference {

Status run(StepState &state, AppendOp op) {
  Expected<Cache *> found = state.cache(op, op.getCache());
  if (!found.ok())
    return found.status();
  Cache &cache = **found;
  ArrayRef<CacheFieldAttr> fields = cache.type().getFields();
  std::vector<const Tensor *> values;
  for (auto [field, value] : llvm::zip_equal(fields, op.getValues())) {
    Shape shape{state.tokens(), field.getWidth()};
    if (field.getHeads() != 1)
      shape = {state.tokens(), field.getHeads(), field.getWidth()};
    if (Status status = state.expectShape(op, "a value", value, shape); !status.ok())
      return status;
    values.push_back(&state.tensor(value));
  }
  for (int64_t token = 0; token < state.tokens(); ++token) {
    int64_t sequence = state.input.sequences[token], position = state.input.positions[token];
    if (position > cache.length(sequence))
      return errorAt(op, "token " + llvm::Twine(token) + ": expected a position up to " +
                             llvm::Twine(cache.length(sequence)) + ", the length of sequence " +
                             llvm::Twine(sequence) + ", but got " + llvm::Twine(position));
    cache.beginRecord(sequence, position);
    for (auto [field, value] : llvm::enumerate(values))
      cache.writeField(sequence, field, value->row(token));
  }
  ++cache.version;
  state.setCache(op.getResult(), state.cacheArgument(op.getCache()));
  return Status::success();
}

namespace {

struct Source {
  SelectorAttr selector;
  const Tensor *rows; ///< of a `rows` selector
};

/// The sources that choose from one cache, and where its keys and values lie.
struct SourceCache {
  const Cache *cache;
  std::vector<Source> sources;
};

/// One record that a token attends to.
struct Key {
  const Cache *cache;
  int64_t sequence, position;
};

} // namespace

/// The positions that the sources of a cache choose, ascending, each once.
static std::vector<int64_t> choosePositions(const SourceCache &cache, int64_t token,
                                            int64_t visible) {
  std::vector<bool> chosen(visible, false);
  auto choose = [&](int64_t begin, int64_t end) {
    std::fill(chosen.begin() + begin, chosen.begin() + end, true);
  };
  for (const Source &source : cache.sources) {
    int64_t count = source.selector.getCount();
    switch (source.selector.getKind()) {
    case SelectorKind::All:
      choose(0, visible);
      break;
    case SelectorKind::Window:
      choose(std::max<int64_t>(0, visible - count), visible);
      break;
    case SelectorKind::First:
      choose(0, std::min(count, visible));
      break;
    case SelectorKind::Records: // input modules have none
      break;
    case SelectorKind::Rows: {
      int64_t k = source.rows->dim(1);
      for (int32_t row : ArrayRef(source.rows->integers).slice(token * k, k))
        if (row >= 0 && row < visible)
          chosen[row] = true;
      break;
    }
    }
  }
  std::vector<int64_t> positions;
  for (int64_t position = 0; position < visible; ++position)
    if (chosen[position])
      positions.push_back(position);
  return positions;
}

/// The product of a query with a record's key: its key fields one after the other.
static double multiplyKey(const float *query, const Key &key, int64_t head) {
  double sum = 0;
  for (auto [i, field] : llvm::enumerate(key.cache->type().getFields())) {
    if (!field.isKey())
      continue;
    const float *values = key.cache->field(key.sequence, i, key.position);
    sum += dot(query, values + head * field.getWidth(), field.getWidth());
    query += field.getWidth();
  }
  return sum;
}

/// Adds weight × the record's value to `sums`: its value fields one after the other.
static void addValue(double weight, const Key &key, int64_t head, double *sums) {
  for (auto [i, field] : llvm::enumerate(key.cache->type().getFields())) {
    if (!field.isValue())
      continue;
    const float *values = key.cache->field(key.sequence, i, key.position) + head * field.getWidth();
    for (int64_t j = 0; j < field.getWidth(); ++j)
      sums[j] += weight * double(values[j]);
    sums += field.getWidth();
  }
}

/// Attention of one head of one token. Without a sink `sink` is −∞.
static void attend(const float *query, ArrayRef<Key> keys, int64_t head, int64_t heads,
                   double scale, double sink, MutableArrayRef<float> result) {
  llvm::fill(result, 0.0f);
  if (keys.empty())
    return;
  auto keyHead = [&](const Key &key) { return head / (heads / key.cache->type().getKeyHeads()); };
  std::vector<double> scores;
  double maximum = sink;
  for (const Key &key : keys) {
    scores.push_back(scale * multiplyKey(query, key, keyHead(key)));
    maximum = std::max(maximum, scores.back());
  }
  std::vector<double> sums(result.size(), 0.0);
  double denominator = std::exp(sink - maximum);
  for (auto [key, score] : llvm::zip_equal(keys, scores)) {
    double weight = std::exp(score - maximum);
    denominator += weight;
    addValue(weight, key, keyHead(key), sums.data());
  }
  for (auto [value, sum] : llvm::zip_equal(result, sums))
    value = float(sum / denominator);
}

/// The op's sources by cache, in the order in which the caches appear.
static Expected<std::vector<SourceCache>> collectSources(StepState &state, AttentionOp op) {
  std::vector<SourceCache> caches;
  for (const AttentionOp::Source &source : op.getSources()) {
    Expected<Cache *> cache = state.filledCache(op, source.cache);
    if (!cache.ok())
      return cache.status();
    const Tensor *rows = nullptr;
    if (source.rows) {
      rows = &state.tensor(source.rows);
      if (Status status =
              state.expectShape(op, "rows", source.rows, {state.tokens(), rows->dim(1)});
          !status.ok())
        return status;
    }
    auto known = llvm::find_if(caches, [&](const SourceCache &c) { return c.cache == *cache; });
    if (known == caches.end())
      known = caches.insert(known, {*cache, {}});
    known->sources.push_back({source.selector, rows});
  }
  return caches;
}

Status run(StepState &state, AttentionOp op) {
  const Tensor &query = state.tensor(op.getQuery());
  Expected<std::vector<SourceCache>> caches = collectSources(state, op);
  if (!caches.ok())
    return caches.status();
  CacheType type = caches->front().cache->type();
  int64_t heads = query.dim(1), width = type.getKeyWidth(), valueWidth = type.getValueWidth();
  if (Status status =
          state.expectShape(op, "a query", op.getQuery(), {state.tokens(), heads, width});
      !status.ok())
    return status;
  for (const SourceCache &source : *caches)
    if (heads % source.cache->type().getKeyHeads() != 0)
      return errorAt(op, "expected key heads that divide " + llvm::Twine(heads) +
                             " heads but got " + llvm::Twine(source.cache->type().getKeyHeads()));
  std::vector<float> sinks(heads, -std::numeric_limits<float>::infinity());
  if (op.getSinks()) {
    if (Status status = state.expectShape(op, "sinks", op.getSinks(), {heads}); !status.ok())
      return status;
    sinks = state.vector(op.getSinks());
  }

  double scale = op.getScale().convertToDouble();
  Tensor result = Tensor::ofFloats({state.tokens(), heads, valueWidth});
  double work = double(heads) * double(width + valueWidth) * state.averageVisible();
  state.resources.workers.forEach(state.tokens(), work, [&](int64_t token) {
    std::vector<Key> keys;
    for (const SourceCache &source : *caches)
      for (int64_t position : choosePositions(source, token, state.visible(token)))
        keys.push_back({source.cache, state.input.sequences[token], position});
    for (int64_t head = 0; head < heads; ++head)
      attend(query.row(token) + head * width, keys, head, heads, scale, sinks[head],
             MutableArrayRef(result.row(token) + head * valueWidth, valueWidth));
  });
  state.set(op.getResult(), std::move(result));
  return Status::success();
}

} // namespace strata::reference
