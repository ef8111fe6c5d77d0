//===- SharingEstimate.cpp - What a schedule may cost, before it runs -----===//
#include "SharingEstimate.h"

#include <algorithm>
#include <limits>

namespace strata::tune {

int64_t countLeaders(const std::string &pattern) {
  return std::count(pattern.begin(), pattern.end(), 'F');
}

SharingEstimate::SharingEstimate(std::string declared, Matrix recall)
    : declared_(std::move(declared)), recall_(std::move(recall)), sensitivity_(recall_.size(), 1) {
  int64_t owner = -1;
  for (char letter : declared_)
    owners_.push_back(owner += letter == 'F');
}

double SharingEstimate::of(int64_t leader, int64_t follower) const {
  int64_t from = owners_[size_t(leader)], to = owners_[size_t(follower)];
  if (from == to)
    return 0; // as the model has it
  return sensitivity_[size_t(to)] * (1 - recall_[size_t(from)][size_t(to)]);
}

double SharingEstimate::of(const std::string &pattern) const {
  double sum = 0;
  int64_t leader = 0;
  for (int64_t layer = 0; layer < int64_t(pattern.size()); ++layer) {
    if (pattern[size_t(layer)] == 'F')
      leader = layer;
    sum += of(leader, layer);
  }
  return sum;
}

void SharingEstimate::learn(int64_t leaderLayer, double loss, double least) {
  std::string pattern = declared_;
  pattern[size_t(leaderLayer)] = 'S';
  double &sensitivity = sensitivity_[size_t(owners_[size_t(leaderLayer)])];
  sensitivity = 1;
  double missed = of(pattern);
  // Layers that lose nothing of their rows cost nothing, however sensitive they are.
  if (missed > 0)
    sensitivity = std::max(loss, least) / missed;
}

std::string SharingEstimate::best(int64_t leaders) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  int64_t layers = int64_t(declared_.size());
  // groups[l][e]: layers l to e − 1 with the rows of l.
  Matrix groups(size_t(layers), std::vector<double>(size_t(layers) + 1, 0));
  for (int64_t leader = 0; leader < layers; ++leader)
    for (int64_t layer = leader; layer < layers; ++layer)
      groups[leader][layer + 1] = groups[leader][layer] + of(leader, layer);

  // costs[n][e]: the best n groups that end before layer e; begins: where the last of them begins.
  Matrix costs(size_t(leaders) + 1, std::vector<double>(size_t(layers) + 1, kNever));
  std::vector<std::vector<int64_t>> begins(size_t(leaders) + 1,
                                           std::vector<int64_t>(size_t(layers) + 1, 0));
  costs[0][0] = 0;
  for (int64_t count = 1; count <= leaders; ++count)
    for (int64_t begin = 0; begin < layers; ++begin) {
      if (declared_[size_t(begin)] != 'F')
        continue;
      for (int64_t end = begin + 1; end <= layers; ++end) {
        double cost = costs[count - 1][begin] + groups[begin][end];
        if (cost < costs[count][end]) {
          costs[count][end] = cost;
          begins[count][end] = begin;
        }
      }
    }
  std::string pattern(size_t(layers), 'S');
  for (int64_t count = leaders, end = layers; count > 0; --count) {
    end = begins[count][end];
    pattern[size_t(end)] = 'F';
  }
  return pattern;
}

} // namespace strata::tune
