//===- KeyBlock.cpp - The keys of a block and their scores ----------------===//
#include "strata/passes/Lower/KeyBlock.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <limits>

using namespace mlir;
using namespace strata;

KeyBlock::KeyBlock(KernelBuilder &builder, double scale, bool roundQuery, int64_t keyWidth)
    : b(builder), scale(scale), keyWidth(keyWidth) {
  // The list may be filled up to a whole group of keys.
  records_ = b.stackBuffer(blockKeys + keysTogether, b.getIndexType());
  scores_ = b.stackBuffer(blockKeys, b.getF32Type());
  if (roundQuery)
    rounded = b.stackBuffer(keyWidth, b.getF32Type());
}

KernelRow KeyBlock::loadQuery(Value queries, ArrayRef<Value> leading) {
  KernelRow query = b.row(queries, leading);
  if (!rounded)
    return query;
  KernelRow buffer = b.row(rounded, {});
  b.forEachChunk(keyWidth, [&](Value feature, int64_t lanes) {
    b.store(b.roundToBF16(b.load(query, feature, lanes)), buffer, feature);
  });
  return buffer;
}

void KeyBlock::clearScores() {
  Value lowest = b.splat(-std::numeric_limits<float>::infinity(), chunkLanes);
  KernelRow row = scoresRow();
  b.forEachChunk(blockKeys, [&](Value key, int64_t) { b.store(lowest, row, key); });
}

Value KeyBlock::fillGroups(Value count) {
  // Further copies of the last record get the score −∞.
  Value last = memref::LoadOp::create(b, records_, b.add(count, -1));
  for (int64_t i = 0; i < keysTogether; ++i)
    b.storeFloat(last, records_, b.add(count, i));
  return b.quotient(b.add(count, keysTogether - 1), keysTogether);
}

SmallVector<Value> KeyBlock::group(Value firstKey) {
  SmallVector<Value> listed;
  for (int64_t i = 0; i < keysTogether; ++i)
    listed.push_back(memref::LoadOp::create(b, records_, b.add(firstKey, i)));
  return listed;
}

void KeyBlock::score(const KernelRow &query, CacheAddress &address, CacheType cache, Value keyHead,
                     Value groups, Value count) {
  b.loop(b.index(0), groups, 1, [&](Value number) {
    Value first = b.multiply(number, keysTogether);
    SmallVector<Value> listed = group(first);
    SmallVector<Value> products(keysTogether, b.splat(0, chunkLanes));
    int64_t feature = 0;
    for (auto [number, field] : llvm::enumerate(cache.getFields())) {
      if (!field.isKey())
        continue;
      SmallVector<KernelRow> keys;
      for (Value record : listed)
        keys.push_back(address.getField(record, number, keyHead));
      products = b.reduceChunks(
          field.getWidth(), products, [&](Value position, int64_t lanes, ValueRange so) {
            Value queryLanes = b.load(query, b.add(position, feature), lanes);
            SmallVector<Value> next;
            for (int64_t i = 0; i < keysTogether; ++i) {
              Value product = b.multiplyFloats(queryLanes, b.load(keys[i], position, lanes));
              next.push_back(b.addFloats(so[i], b.widen(product)));
            }
            return next;
          });
      feature += field.getWidth();
    }
    for (int64_t i = 0; i < keysTogether; ++i) {
      Value key = b.add(first, i);
      Value score = b.multiplyFloats(b.sum(products[i]), b.real(scale));
      Value lowest = b.real(-std::numeric_limits<float>::infinity());
      b.storeFloat(arith::SelectOp::create(b, b.isLess(key, count), score, lowest), scores_, key);
    }
  });
}
