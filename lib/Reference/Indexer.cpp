//===- Indexer.cpp - Index scores and the choice of rows ------------------===//
#include "strata/lib/Reference/Choice.h"
#include "strata/lib/Reference/Ops.h"
#include "strata/lib/Reference/Products.h"

#include <cmath>

using namespace mlir;

namespace strata::reference {

namespace {

/// The operands that `index_scores` and `select` share, checked.
struct Scorer {
  const Tensor *query, *headWeights;
  const Cache *cache;
  double scale;
  const rt::StepInput *input;

  template <typename Op> static Expected<Scorer> create(StepState &state, Op op);
  /// The scores of positions 0 … scores.size() − 1 for a token.
  void score(int64_t token, MutableArrayRef<float> scores) const;
};

} // namespace

template <typename Op> Expected<Scorer> Scorer::create(StepState &state, Op op) {
  const Tensor &query = state.tensor(op.getQuery());
  int64_t width = op.getCache().getType().getKeyWidth();
  if (Status status =
          state.expectShape(op, "a query", op.getQuery(), {state.tokens(), query.dim(1), width});
      !status.ok())
    return status;
  if (Status status = state.expectShape(op, "head weights", op.getHeadWeights(),
                                        {state.tokens(), query.dim(1)});
      !status.ok())
    return status;
  Expected<Cache *> cache = state.filledCache(op, op.getCache());
  if (!cache.ok())
    return cache.status();
  return Scorer{&query, &state.tensor(op.getHeadWeights()), *cache, op.getScale().convertToDouble(),
                &state.input};
}

void Scorer::score(int64_t token, MutableArrayRef<float> scores) const {
  int64_t heads = query->dim(1), width = query->dim(2);
  for (auto [position, score] : llvm::enumerate(scores)) {
    const float *key = cache->field(input->sequences[token], 0, position);
    double sum = 0;
    for (int64_t head = 0; head < heads; ++head) {
      double product = dot(query->row(token) + head * width, key, width);
      // Not std::max: a NaN must reach the score.
      sum += double(headWeights->row(token)[head]) * (product < 0 ? 0 : product);
    }
    score = float(scale * sum);
  }
}

/// Multiplications for the scores of a token.
static double work(StepState &state, Value query) {
  return double(state.tensor(query).rowElements()) * state.averageVisible();
}

Status run(StepState &state, IndexScoresOp op) {
  Expected<Scorer> scorer = Scorer::create(state, op);
  if (!scorer.ok())
    return scorer.status();
  int64_t longest = 0;
  for (int64_t token = 0; token < state.tokens(); ++token)
    longest = std::max(longest, state.visible(token));
  Tensor result = Tensor::ofFloats({state.tokens(), longest});
  state.resources.workers.forEach(state.tokens(), work(state, op.getQuery()), [&](int64_t token) {
    MutableArrayRef<float> scores(result.row(token), longest);
    scorer->score(token, scores.take_front(state.visible(token)));
    llvm::fill(scores.drop_front(state.visible(token)), -std::numeric_limits<float>::infinity());
  });
  state.set(op.getScores(), std::move(result));
  return Status::success();
}

/// Imported rows must be what an indexer can give.
static Status checkImported(StepState &state, Operation *op, const int32_t *rows, int64_t k) {
  for (int64_t token = 0; token < state.tokens(); ++token) {
    int64_t last = -1;
    bool ended = false;
    for (int32_t position : ArrayRef(rows + token * k, k)) {
      ended |= position == -1;
      if (ended ? position != -1 : position <= last || position >= state.visible(token))
        return errorAt(op, "token " + llvm::Twine(token) +
                               ": expected imported rows to be ascending positions below " +
                               llvm::Twine(state.visible(token)) + " and then -1 but got " +
                               llvm::Twine(position));
      last = position;
    }
  }
  return Status::success();
}

Status importRows(StepState &state, func::FuncOp step, BlockArgument rows, int64_t indexer) {
  int64_t k = cast<RankedTensorType>(rows.getType()).getDimSize(1);
  const int32_t *imported = state.input.importedRows[indexer];
  if (!imported)
    return errorAt(step, "expected rows for indexer " + llvm::Twine(indexer) + " but got none");
  if (Status status = checkImported(state, step, imported, k); !status.ok())
    return status;
  Tensor tensor = Tensor::ofIntegers({state.tokens(), k});
  tensor.integers.assign(imported, imported + state.tokens() * k);
  if (!state.output.rows.empty() && state.output.rows[indexer])
    llvm::copy(tensor.integers, state.output.rows[indexer]);
  state.set(rows, std::move(tensor));
  return Status::success();
}

/// Chooses the rows of all tokens. `computeScores` gives the scores of a token's visible positions;
/// it is called by several threads, and not for tokens that see at most k positions.
static Status choose(StepState &state, Operation *op, Value result, int64_t k, int64_t indexer,
                     double work,
                     llvm::function_ref<void(int64_t, MutableArrayRef<float>)> computeScores) {
  Tensor rows = Tensor::ofIntegers({state.tokens(), k});
  const int32_t *imported =
      state.input.importedRows.empty() ? nullptr : state.input.importedRows[indexer];
  if (imported)
    if (Status status = checkImported(state, op, imported, k); !status.ok())
      return status;
  bool observed = bool(state.resources.observer.rows);
  std::vector<std::vector<float>> observedScores(observed ? state.tokens() : 0);
  std::vector<int64_t> nanScores(state.tokens(), 0);
  state.resources.workers.forEach(state.tokens(), work, [&](int64_t token) {
    int32_t *row = rows.integers.data() + token * k;
    int64_t visible = state.visible(token);
    std::vector<float> scores;
    if (visible > k && (!imported || observed)) {
      scores.resize(visible);
      computeScores(token, scores);
    }
    if (imported)
      std::copy_n(imported + token * k, k, row);
    else if (visible <= k)
      llvm::copy(numbersBelow(visible), row);
    else
      llvm::copy(chooseBest(scores, numbersBelow(visible), k), row);
    if (!imported)
      nanScores[token] = llvm::count_if(scores, [](float score) { return std::isnan(score); });
    if (observed)
      observedScores[token] = std::move(scores);
  });
  for (int64_t token = 0; token < state.tokens(); ++token) {
    state.output.nanScores += nanScores[token];
    if (observed && !observedScores[token].empty())
      state.resources.observer.rows(int(indexer), int(token), observedScores[token],
                                    ArrayRef(rows.integers).slice(token * k, k));
  }
  if (!state.output.rows.empty() && state.output.rows[indexer])
    llvm::copy(rows.integers, state.output.rows[indexer]);
  state.set(result, std::move(rows));
  return Status::success();
}

Status run(StepState &state, TopKOp op, int64_t indexer) {
  const Tensor &scores = state.tensor(op.getScores());
  if (scores.dim(0) != state.tokens())
    return errorAt(op, "expected " + llvm::Twine(state.tokens()) + " tokens but got " +
                           llvm::Twine(scores.dim(0)));
  for (int64_t token = 0; token < state.tokens(); ++token)
    if (state.visible(token) > scores.dim(1))
      return errorAt(op, "token " + llvm::Twine(token) + " sees " +
                             llvm::Twine(state.visible(token)) + " positions but there are " +
                             llvm::Twine(scores.dim(1)) + " scores");
  auto copyScores = [&](int64_t token, MutableArrayRef<float> out) {
    std::copy_n(scores.row(token), out.size(), out.data());
  };
  return choose(state, op, op.getRows(), op.getK(), indexer, double(scores.dim(1)), copyScores);
}

Status run(StepState &state, SelectOp op, int64_t indexer) {
  Expected<Scorer> scorer = Scorer::create(state, op);
  if (!scorer.ok())
    return scorer.status();
  return choose(state, op, op.getRows(), op.getK(), indexer, work(state, op.getQuery()),
                [&](int64_t token, MutableArrayRef<float> out) { scorer->score(token, out); });
}

} // namespace strata::reference
