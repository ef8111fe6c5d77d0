//===- TestCache.h - A paged cache for tests of kernels ---------*- C++ -*-===//
#ifndef STRATA_PASSES_LOWER_TESTCACHE_H
#define STRATA_PASSES_LOWER_TESTCACHE_H

#include "strata/passes/Lower/TestKernels.h"

#include <numeric>

namespace strata {

/// Paged caches of several sequences. The pool holds NaN where no token was written.
struct TestCache {
  TestCache(CacheType type, std::vector<int64_t> lengths, std::mt19937 &random)
      : type(type), pool(0) {
    int64_t pageSize = type.getPageSize();
    for (CacheFieldAttr field : type.getFields())
      recordElements += field.getElements();
    for (int64_t length : lengths) {
      begins.push_back(int32_t(pages.size()));
      pages.resize(pages.size() + size_t((length + pageSize - 1) / pageSize));
    }
    // Pages lie in any order, the same for all caches, and some belong to nobody.
    std::vector<int32_t> order(pages.size() + 2);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(3));
    std::copy_n(order.begin(), pages.size(), pages.begin());
    bool bf16 = type.getFields().front().getElementType().isBF16();
    pool = TestArray(order.size() * size_t(pageSize * recordElements), bf16);
    std::normal_distribution<float> normal;
    for (size_t sequence = 0; sequence < lengths.size(); ++sequence)
      for (int64_t position = 0; position < lengths[sequence]; ++position)
        for (unsigned number = 0; number < type.getFields().size(); ++number)
          for (int64_t i = 0; i < type.getFields()[number].getElements(); ++i)
            pool.set(index(sequence, position, number) + size_t(i), normal(random));
  }

  /// The first element of a field of a record.
  size_t index(size_t sequence, int64_t position, unsigned number) const {
    int64_t pageSize = type.getPageSize(),
            page = pages[size_t(begins[sequence] + position / pageSize)];
    int64_t slot = position % pageSize, before = 0;
    for (unsigned i = 0; i < number; ++i)
      before += type.getFields()[i].getElements();
    int64_t elements = type.getFields()[number].getElements();
    return size_t(page * pageSize * recordElements + (type.getPlanar()
                                                          ? pageSize * before + slot * elements
                                                          : slot * recordElements + before));
  }

  /// Keys or values of one head of a record, all fields in order.
  std::vector<double> get(size_t sequence, int64_t position, int64_t head, bool keys) const {
    std::vector<double> result;
    for (auto [number, field] : llvm::enumerate(type.getFields()))
      if (keys ? field.isKey() : field.isValue())
        for (int64_t i = 0; i < field.getWidth(); ++i)
          result.push_back(pool.get(index(sequence, position, unsigned(number)) +
                                    size_t(head * field.getWidth() + i)));
    return result;
  }

  CacheType type;
  TestArray pool;
  std::vector<int32_t> pages, begins;
  int64_t recordElements = 0;
};

} // namespace strata

#endif // STRATA_PASSES_LOWER_TESTCACHE_H
