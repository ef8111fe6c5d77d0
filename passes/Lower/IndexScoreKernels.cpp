//===- IndexScoreKernels.cpp - Scores of the lightning indexer ------------===//
#include "strata/passes/Lower/CacheAddress.h"

using namespace mlir;
using namespace strata;

/// Heads whose products with a key advance together: independent sums hide the latency of the
/// additions.
constexpr int64_t headsTogether = 4;

SymbolRefAttr KernelModule::indexScores(CacheType cache, int64_t heads, double scale,
                                        bool roundQuery) {
  int64_t width = cache.getKeyWidth();
  MLIRContext *context = cache.getContext();
  KernelName name("index_scores");
  name.integer("h", heads).cache(cache).real("scale", scale);
  if (roundQuery)
    name.word("bf16_query");
  // The query is one run of heads × width elements.
  MemRefType query = MemRefType::get({heads, width}, Float32Type::get(context));
  MemRefType scores = MemRefType::get({ShapedType::kDynamic}, Float32Type::get(context));
  SmallVector<Type> arguments{query, getFloatsType(context, heads), getCacheElementsType(cache),
                              getIntegersType(context), scores};
  return getOrBuildKernel(kernels, name, arguments, [&](KernelBuilder &b) {
    CacheAddress address(b, cache, b.argument(2));
    Value rounded;
    if (roundQuery) {
      rounded = b.stackBuffer(heads * width, b.getF32Type());
      b.loop(b.index(0), b.index(heads), 1, [&](Value head) {
        b.forEachChunk(width, [&](Value position, int64_t lanes) {
          Value x = b.roundToBF16(b.load(b.row(b.argument(0), {head}), position, lanes));
          b.store(x, {rounded, {b.multiply(head, width)}}, position);
        });
      });
    }
    auto getQuery = [&](Value head) -> KernelRow {
      if (roundQuery)
        return {rounded, {b.multiply(head, width)}};
      return b.row(b.argument(0), {head});
    };

    b.forEachItem([&](Value position) {
      KernelRow key =
          address.getField(address.findRecord(b.argument(3), b.index(0), position), 0, Value());
      // total + Σ over `count` heads from `first` on, one head after the other
      auto addHeads = [&](Value first, int64_t count, Value total) {
        SmallVector<KernelRow> queries;
        for (int64_t i = 0; i < count; ++i)
          queries.push_back(getQuery(b.add(first, i)));
        SmallVector<Value> zeros(count, b.splat(0, chunkLanes));
        SmallVector<Value> sums =
            b.reduceChunks(width, zeros, [&](Value feature, int64_t lanes, ValueRange sums) {
              Value keyLanes = b.load(key, feature, lanes);
              SmallVector<Value> next;
              for (int64_t i = 0; i < count; ++i) {
                Value product = b.multiplyFloats(b.load(queries[i], feature, lanes), keyLanes);
                next.push_back(b.addFloats(sums[i], b.widen(product)));
              }
              return next;
            });
        for (int64_t i = 0; i < count; ++i) {
          Value zero = b.real(0), product = b.sum(sums[i]);
          // NaN isn't less than 0: it stays, and the selection counts it.
          Value positive = b.selectFloats(arith::CmpFPredicate::OLT, product, zero, zero, product);
          Value weight = b.loadFloat(b.argument(1), {b.add(first, i)});
          total = b.addFloats(total, b.multiplyFloats(weight, positive));
        }
        return total;
      };
      int64_t grouped = heads - heads % headsTogether;
      Value total = b.real(0);
      if (grouped > 0)
        total = b.loop(b.index(0), b.index(grouped), headsTogether, total,
                       [&](Value head, ValueRange totals) {
                         return SmallVector<Value>{addHeads(head, headsTogether, totals[0])};
                       })
                    .front();
      if (grouped < heads)
        total = addHeads(b.index(grouped), heads - grouped, total);
      Value score = b.multiplyFloats(total, b.real(scale));
      b.storeFloat(score, b.argument(4), {b.subtract(position, b.begin())});
    });
  });
}
