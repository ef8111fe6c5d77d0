//===- RandomNumbers.h - Numbers that a seed determines ---------*- C++ -*-===//
#ifndef STRATA_TEST_INTEGRATION_RANDOM_RANDOMNUMBERS_H
#define STRATA_TEST_INTEGRATION_RANDOM_RANDOMNUMBERS_H

#include "WeightGenerator.h"

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace strata::test {

/// A stream of numbers by integer arithmetic alone: the same on every machine.
class RandomNumbers {
public:
  explicit RandomNumbers(uint64_t seed) : state_(splitmix64(seed)) {}

  uint64_t next() { return splitmix64(state_++); }
  /// From `least` to `most`, both included.
  int64_t between(int64_t least, int64_t most) {
    return least + int64_t(next() % uint64_t(most - least + 1));
  }
  bool chance(int percent) { return between(0, 99) < percent; }
  template <typename T> T oneOf(std::initializer_list<T> values) {
    return *(values.begin() + between(0, int64_t(values.size()) - 1));
  }
  template <typename T> void shuffle(std::vector<T> &values) {
    for (size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[size_t(between(0, int64_t(i) - 1))]);
  }

private:
  uint64_t state_;
};

} // namespace strata::test

#endif // STRATA_TEST_INTEGRATION_RANDOM_RANDOMNUMBERS_H
