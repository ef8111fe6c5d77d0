//===- Comparison.cpp - When are two runs equal? --------------------------===//
#include "Comparison.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

using llvm::ArrayRef;

namespace strata::test {

/// How far from the k-th score two correct implementations may choose differently, in parts of the
/// largest score.
static constexpr double kScoreTolerance = 1e-5;

OracleScores::OracleScores(const TestedModel &model, const TokenBatch &batch) {
  for (const Choice &choice : model.choices()) {
    (choice.isIndexer ? choiceOfIndexer_ : choiceOfRouter_).push_back(scores_.size());
    auto &sequences = scores_.emplace_back();
    for (const std::vector<int32_t> &tokens : batch)
      sequences.emplace_back(tokens.size());
  }
}

void OracleScores::keep(size_t choice, int token, ArrayRef<float> scores) {
  TokenPlace place = places_[size_t(token)];
  scores_[choice][size_t(place.sequence)][size_t(place.position)] = scores.vec();
}

reference::Observer OracleScores::observer() {
  return {[this](int indexer, int token, ArrayRef<float> scores, ArrayRef<int32_t>) {
            keep(choiceOfIndexer_[size_t(indexer)], token, scores);
          },
          [this](int router, int token, ArrayRef<float> choices, ArrayRef<int32_t>) {
            keep(choiceOfRouter_[size_t(router)], token, choices);
          }};
}

//===----------------------------------------------------------------------===//
// The same kernels
//===----------------------------------------------------------------------===//

static std::string nameOf(const Choice &choice) {
  return (choice.isIndexer ? "rows of indexer " : "experts of router ") +
         std::to_string(choice.number) + " (layer " + std::to_string(choice.layer) + ")";
}

static std::string placeText(size_t sequence, size_t position) {
  return ", sequence " + std::to_string(sequence) + ", position " + std::to_string(position);
}

static std::string listText(ArrayRef<int32_t> values) {
  std::string text;
  for (int32_t value : values)
    text += " " + std::to_string(value);
  return text;
}

std::string compareBits(const TestedModel &model, const RunResults &expected,
                        const RunResults &found) {
  size_t vocabulary = size_t(model.description().vocabularySize);
  for (size_t s = 0; s < expected.sequences.size(); ++s) {
    const SequenceResults &a = expected.sequences[s], &b = found.sequences[s];
    for (const Choice &choice : model.choices()) {
      auto [left, right] =
          std::mismatch(a.chosen(choice).begin(), a.chosen(choice).end(), b.chosen(choice).begin());
      if (left == a.chosen(choice).end())
        continue;
      size_t length = a.hasLogits.size();
      return nameOf(choice) +
             placeText(s, size_t(left - a.chosen(choice).begin()) /
                              (a.chosen(choice).size() / length)) +
             ": expected " + std::to_string(*left) + " but got " + std::to_string(*right);
    }
    for (size_t i = 0; i < a.logits.size(); ++i)
      if (a.hasLogits[i / vocabulary] && b.hasLogits[i / vocabulary] &&
          std::memcmp(&a.logits[i], &b.logits[i], sizeof(float)) != 0)
        return "logit " + std::to_string(i % vocabulary) + placeText(s, i / vocabulary) +
               ": expected " + std::to_string(a.logits[i]) + " but got " +
               std::to_string(b.logits[i]);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Two implementations
//===----------------------------------------------------------------------===//

static double largestMagnitude(ArrayRef<float> scores) {
  double largest = 0;
  for (float score : scores)
    largest = std::max(largest, std::fabs(double(score)));
  return largest;
}

static float kthBest(ArrayRef<float> scores, size_t k) {
  std::vector<float> sorted = scores.vec();
  std::nth_element(sorted.begin(), sorted.begin() + int64_t(k) - 1, sorted.end(), std::greater<>());
  return sorted[k - 1];
}

/// Whether `chosen` (ascending) are the best of `candidates` if scores may be off by `tolerance`
/// from the k-th.
static bool mayBeChosen(ArrayRef<float> scores, ArrayRef<int32_t> candidates,
                        ArrayRef<int32_t> chosen, double tolerance) {
  std::vector<float> values;
  for (int32_t candidate : candidates)
    values.push_back(scores[size_t(candidate)]);
  double kth = kthBest(values, chosen.size());
  for (auto [candidate, value] : llvm::zip_equal(candidates, values)) {
    bool isChosen = std::binary_search(chosen.begin(), chosen.end(), candidate);
    if (isChosen ? value < kth - tolerance : value > kth + tolerance)
      return false;
  }
  return llvm::all_of(chosen, [&](int32_t c) { return llvm::is_contained(candidates, c); });
}

/// Groups first, then experts: some choice of groups that near-ties allow must explain the experts.
static bool mayBeExperts(const TestedModel::Router &router, ArrayRef<float> choices,
                         ArrayRef<int32_t> chosen) {
  double tolerance = kScoreTolerance * largestMagnitude(choices);
  size_t groups = size_t(router.groups), size = choices.size() / groups;
  std::vector<float> groupScores;
  for (size_t group = 0; group < groups; ++group) {
    std::vector<float> members = choices.slice(group * size, size).vec();
    std::sort(members.begin(), members.end(), std::greater<>());
    groupScores.push_back(router.maximum || size < 2 ? members[0] : members[0] + members[1]);
  }
  std::vector<int32_t> allGroups(groups);
  for (size_t group = 0; group < groups; ++group)
    allGroups[group] = int32_t(group);
  for (uint32_t set = 0; set < 1u << groups; ++set) {
    if (__builtin_popcount(set) != router.topGroups)
      continue;
    std::vector<int32_t> kept, candidates;
    for (int32_t group : allGroups) {
      if (!(set >> group & 1))
        continue;
      kept.push_back(group);
      for (size_t i = 0; i < size; ++i)
        candidates.push_back(int32_t(size_t(group) * size + i));
    }
    if (mayBeChosen(groupScores, allGroups, kept, 2 * tolerance) &&
        mayBeChosen(choices, candidates, chosen, tolerance))
      return true;
  }
  return false;
}

static bool mayBeRows(ArrayRef<float> scores, ArrayRef<int32_t> rows, double leastScore) {
  std::vector<int32_t> positions(scores.size());
  for (size_t i = 0; i < positions.size(); ++i)
    positions[i] = int32_t(i);
  return mayBeChosen(scores, positions, rows,
                     kScoreTolerance * std::max(largestMagnitude(scores), leastScore));
}

static bool isAscending(ArrayRef<int32_t> values) {
  return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

std::string compareChoice(const TestedModel &model, size_t number, const OracleScores &scores,
                          bool exact, double leastScore, const RunResults &oracle,
                          const RunResults &found, int64_t &differing) {
  const Choice &choice = model.choices()[number];
  for (size_t s = 0; s < oracle.sequences.size(); ++s) {
    size_t length = oracle.sequences[s].hasLogits.size();
    if (length == 0)
      continue;
    ArrayRef<int32_t> all = oracle.sequences[s].chosen(choice);
    ArrayRef<int32_t> allFound = found.sequences[s].chosen(choice);
    size_t width = all.size() / length;
    for (size_t position = 0; position < length; ++position) {
      ArrayRef<int32_t> left = all.slice(position * width, width),
                        right = allFound.slice(position * width, width);
      if (left == right)
        continue;
      ++differing;
      ArrayRef<float> values = scores.get(number, s, position);
      // Without scores there is nothing to choose.
      bool allowed =
          !exact && !values.empty() && isAscending(right) &&
          (choice.isIndexer ? mayBeRows(values, right, leastScore)
                            : mayBeExperts(model.routers()[choice.number], values, right));
      if (allowed)
        continue;
      std::string text = nameOf(choice) + placeText(s, position) + ": expected" + listText(left) +
                         " but got" + listText(right) + "; scores";
      for (float value : values)
        text += " " + std::to_string(value);
      return text;
    }
  }
  return "";
}

LogitErrors compareLogits(const RunResults &oracle, const RunResults &found) {
  double sum = 0, squares = 0, largest = 0, differences = 0, count = 0;
  for (size_t s = 0; s < oracle.sequences.size(); ++s)
    for (size_t i = 0; i < oracle.sequences[s].logits.size(); ++i) {
      double expected = oracle.sequences[s].logits[i];
      double difference = std::fabs(double(found.sequences[s].logits[i]) - expected);
      sum += expected;
      squares += expected * expected;
      // Written so that NaN becomes the largest.
      largest = difference <= largest ? largest : difference;
      differences += difference * difference;
      ++count;
    }
  double variance = squares / count - sum / count * (sum / count);
  double scale = std::max(std::sqrt(std::max(variance, 0.0)), 1e-30);
  return {largest / scale, std::sqrt(differences / count) / scale};
}

void countTies(const TestedModel &model, const OracleScores &scores, const RunResults &oracle,
               bool exact, Coverage &coverage) {
  for (size_t number = 0; number < model.choices().size(); ++number) {
    const Choice &choice = model.choices()[number];
    for (size_t s = 0; s < oracle.sequences.size(); ++s)
      for (size_t position = 0; position < oracle.sequences[s].hasLogits.size(); ++position) {
        std::vector<float> values = scores.get(number, s, position);
        if (!choice.isIndexer) {
          ++coverage[Coverage::ChosenExperts];
          continue;
        }
        if (values.empty())
          continue;
        size_t k = size_t(model.description().rowWidths[choice.number]);
        std::sort(values.begin(), values.end(), std::greater<>());
        bool isTie = values[k - 1] == values[k]; // −0 and +0 as well
        ++coverage[Coverage::ScoredRows];
        coverage[Coverage::TieRows] += isTie;
        coverage[Coverage::PlateauRows] += isTie && values[k] == 0;
        coverage[Coverage::ExactTieRows] += isTie && exact;
      }
  }
}

} // namespace strata::test
