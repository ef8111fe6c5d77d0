//===- AttentionKernels.cpp - Attention over a union of key sources -------===//
//
// An item is one token and head. Its keys are taken source by source in blocks of 64 candidates,
// counted from the source's first one; those that count are listed, scored, and added by the online
// softmax (Milakov and Gimelshein, 2018). So what an item does depends on the token alone. Ranges
// of positions come first: then a `rows` source only has to look whether a position lies in a range
// of the same cache.
//
//===----------------------------------------------------------------------===//
#include "strata/passes/Lower/CacheAddress.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace strata;

/// Candidates of a block.
constexpr int64_t blockKeys = 64;
/// Keys whose products advance together: independent sums hide the latency of the additions.
constexpr int64_t keysTogether = 4;

namespace {
/// Positions [begin, end) that a source of a cache takes.
struct PositionRange {
  int64_t cacheArgument;
  Value begin, end;
};

/// What the running softmax knows: the greatest score so far, and Σ e^(score − greatest).
struct Softmax {
  Value greatest, denominator;
};

class AttentionBody {
public:
  AttentionBody(KernelBuilder &b, ArrayRef<KernelModule::Source> sources, bool hasSinks,
                double scale, bool roundQuery, MemRefType query, MemRefType output);

  void build();

private:
  void buildItem(Value item);
  PositionRange getRange(const KernelModule::Source &source, Value visible);
  Softmax addRange(const KernelModule::Source &source, const PositionRange &range, Softmax softmax);
  Softmax addRows(const KernelModule::Source &source, Value rows, Value item, Value visible,
                  Softmax softmax);
  /// Walks candidates [begin, end) in blocks. `getKey` gives a candidate's position and whether it
  /// counts (null: always).
  Softmax addBlocks(const KernelModule::Source &source, Value begin, Value end,
                    llvm::function_ref<std::pair<Value, Value>(Value candidate)> getKey,
                    Softmax softmax);
  /// Adds the first `count` listed records (at least one) to softmax and accumulator.
  Softmax addListed(const KernelModule::Source &source, Value count, Softmax softmax);
  void scoreListed(CacheAddress &address, CacheType cache, Value groups, Value count);
  void accumulateListed(CacheAddress &address, CacheType cache, Value groups, Value correction);
  CacheAddress getAddress(const KernelModule::Source &source);
  /// The positions that are in no range of the source's cache added so far; null if there are none.
  Value isInNoRange(int64_t cacheArgument, Value position);
  Value keyHead(CacheType cache);

  KernelBuilder &b;
  ArrayRef<KernelModule::Source> sources;
  bool hasSinks;
  double scale;
  bool roundQuery;
  int64_t heads, keyWidth, valueWidth;

  Value sinks, positions, pageBegin, pages, output;
  SmallVector<Value> rowsArguments;
  /// On the stack: the block's records, scores and softmax numerators, the sum of values, and the
  /// rounded query.
  Value records, scores, sums, rounded;

  // Of the current item.
  Value token, head, firstPage;
  KernelRow query;
  SmallVector<PositionRange> ranges;
};
} // namespace

AttentionBody::AttentionBody(KernelBuilder &b, ArrayRef<KernelModule::Source> sources,
                             bool hasSinks, double scale, bool roundQuery, MemRefType query,
                             MemRefType output)
    : b(b), sources(sources), hasSinks(hasSinks), scale(scale), roundQuery(roundQuery),
      heads(query.getDimSize(1)), keyWidth(query.getDimSize(2)), valueWidth(output.getDimSize(2)) {
  unsigned number = 1;
  for (const KernelModule::Source &source : sources)
    number = std::max<unsigned>(number, 2 + source.cacheArgument);
  for (const KernelModule::Source &source : sources)
    rowsArguments.push_back(source.rows ? b.argument(number++) : Value());
  if (hasSinks)
    sinks = b.argument(number++);
  positions = b.argument(number++);
  pageBegin = b.argument(number++);
  pages = b.argument(number++);
  this->output = b.argument(number++);
}

void AttentionBody::build() {
  Type f32 = b.getF32Type();
  // The list may be filled up to a whole group of keys.
  records = b.stackBuffer(blockKeys + keysTogether, b.getIndexType());
  scores = b.stackBuffer(blockKeys, f32);
  sums = b.stackBuffer(valueWidth, f32);
  if (roundQuery)
    rounded = b.stackBuffer(keyWidth, f32);
  b.forEachItem([&](Value item) { buildItem(item); });
}

void AttentionBody::buildItem(Value item) {
  token = b.quotient(item, heads);
  head = b.remainder(item, heads);
  firstPage = b.loadIndex(pageBegin, token);
  Value visible = b.add(b.loadIndex(positions, token), 1);

  query = b.row(b.argument(0), {token, head});
  if (roundQuery) {
    KernelRow buffer = b.row(rounded, {});
    b.forEachChunk(keyWidth, [&](Value feature, int64_t lanes) {
      b.store(b.roundToBF16(b.load(query, feature, lanes)), buffer, feature);
    });
    query = buffer;
  }
  KernelRow sumsRow = b.row(sums, {});
  b.forEachChunk(valueWidth, [&](Value feature, int64_t lanes) {
    b.store(b.splat(0, lanes), sumsRow, feature);
  });

  // A sink is a score without a value.
  Softmax softmax{b.real(-std::numeric_limits<float>::infinity()), b.real(0)};
  if (hasSinks)
    softmax = {b.loadFloat(sinks, head), b.real(1)};

  ranges.clear();
  for (const KernelModule::Source &source : sources) {
    if (source.rows)
      continue;
    PositionRange range = getRange(source, visible);
    softmax = addRange(source, range, softmax);
    ranges.push_back(range);
  }
  for (auto [source, rows] : llvm::zip_equal(sources, rowsArguments))
    if (source.rows)
      softmax = addRows(source, rows, token, visible, softmax);

  // Without any key the sum of values is 0, and so must be the result.
  Value zero = b.real(0);
  Value denominator = b.selectFloats(arith::CmpFPredicate::OEQ, softmax.denominator, zero,
                                     b.real(1), softmax.denominator);
  KernelRow destination = b.row(output, {token, head});
  b.forEachChunk(valueWidth, [&](Value feature, int64_t lanes) {
    Value sum = b.load(sumsRow, feature, lanes);
    b.store(b.divideFloats(sum, b.broadcast(denominator, lanes)), destination, feature);
  });
}

PositionRange AttentionBody::getRange(const KernelModule::Source &source, Value visible) {
  Value zero = b.index(0), count = b.index(source.selector.getCount());
  switch (source.selector.getKind()) {
  case SelectorKind::Window:
    return {source.cacheArgument, b.maximum(zero, b.subtract(visible, count)), visible};
  case SelectorKind::First:
    return {source.cacheArgument, zero, b.minimum(visible, count)};
  default:
    return {source.cacheArgument, zero, visible};
  }
}

Value AttentionBody::isInNoRange(int64_t cacheArgument, Value position) {
  Value outside;
  for (const PositionRange &range : ranges) {
    if (range.cacheArgument != cacheArgument)
      continue;
    Value isBefore = b.isLess(position, range.begin);
    Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, position, range.end);
    Value isOutside = arith::OrIOp::create(b, isBefore, isBehind);
    outside = outside ? arith::AndIOp::create(b, outside, isOutside).getResult() : isOutside;
  }
  return outside;
}

Softmax AttentionBody::addRange(const KernelModule::Source &source, const PositionRange &range,
                                Softmax softmax) {
  auto getKey = [&](Value position) {
    return std::pair(position, isInNoRange(source.cacheArgument, position));
  };
  return addBlocks(source, range.begin, range.end, getKey, softmax);
}

Softmax AttentionBody::addRows(const KernelModule::Source &source, Value rows, Value token,
                               Value visible, Softmax softmax) {
  auto getKey = [&](Value candidate) {
    Value position = b.loadIndex(rows, {token, candidate});
    // −1 is great without a sign, so one comparison excludes it and what the token doesn't see.
    Value counts = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, position, visible);
    if (Value outside = isInNoRange(source.cacheArgument, position))
      counts = arith::AndIOp::create(b, counts, outside);
    return std::pair(position, counts);
  };
  return addBlocks(source, b.index(0), b.index(source.rows.getDimSize(1)), getKey, softmax);
}

Softmax AttentionBody::addBlocks(const KernelModule::Source &source, Value begin, Value end,
                                 llvm::function_ref<std::pair<Value, Value>(Value)> getKey,
                                 Softmax softmax) {
  CacheAddress address = getAddress(source);
  SmallVector<Value> initial{softmax.greatest, softmax.denominator};
  SmallVector<Value> result =
      b.loop(begin, end, blockKeys, initial, [&](Value block, ValueRange state) {
        Value blockEnd = b.minimum(end, b.add(block, blockKeys));
        auto list = [&](Value candidate, ValueRange counts) {
          Value count = counts.front();
          auto [position, isKey] = getKey(candidate);
          auto append = [&, position = position] {
            // Only here, where the position is known to be one, is an address made of it.
            Value record = address.findRecord(pages, firstPage, position);
            b.storeFloat(record, records, count);
            return b.add(count, 1);
          };
          return SmallVector<Value>{isKey ? b.ifThenElse(isKey, count, append) : append()};
        };
        Value count = b.loop(block, blockEnd, 1, b.index(0), list).front();

        auto any = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, count, b.index(0));
        auto choice = scf::IfOp::create(b, TypeRange(state), any, /*withElseRegion=*/true);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(choice.elseBlock());
        scf::YieldOp::create(b, state);
        b.setInsertionPointToStart(choice.thenBlock());
        Softmax next = addListed(source, count, {state[0], state[1]});
        scf::YieldOp::create(b, ValueRange{next.greatest, next.denominator});
        return llvm::to_vector_of<Value>(choice.getResults());
      });
  return {result[0], result[1]};
}

Softmax AttentionBody::addListed(const KernelModule::Source &source, Value count, Softmax softmax) {
  CacheAddress address = getAddress(source);
  // The last group is filled up with its last record, whose further copies get the score −∞.
  Value last = memref::LoadOp::create(b, records, b.add(count, -1));
  for (int64_t i = 0; i < keysTogether; ++i)
    b.storeFloat(last, records, b.add(count, i));
  Value groups = b.quotient(b.add(count, keysTogether - 1), keysTogether);

  Value lowest = b.splat(-std::numeric_limits<float>::infinity(), chunkLanes);
  KernelRow scoresRow = b.row(scores, {});
  b.forEachChunk(blockKeys, [&](Value key, int64_t) { b.store(lowest, scoresRow, key); });
  scoreListed(address, source.cache, groups, count);

  Value maxima = b.reduceChunks(blockKeys, lowest, [&](Value key, int64_t lanes, ValueRange so) {
                    return SmallVector<Value>{b.greaterFloat(b.load(scoresRow, key, lanes), so[0])};
                  }).front();
  Value blockGreatest = b.reduce(maxima, [&](Value x, Value y) { return b.greaterFloat(x, y); });
  Value greatest = b.greaterFloat(blockGreatest, softmax.greatest);
  Value correction = b.exponential(b.subtractFloats(softmax.greatest, greatest));

  Value shift = b.broadcast(greatest, chunkLanes);
  Value numerators = b.reduceChunks(blockKeys, b.splat(0, chunkLanes),
                                    [&](Value key, int64_t lanes, ValueRange so) {
                                      Value power = b.exponential(
                                          b.subtractFloats(b.load(scoresRow, key, lanes), shift));
                                      b.store(power, scoresRow, key);
                                      return SmallVector<Value>{b.addFloats(so[0], power)};
                                    })
                         .front();
  Value denominator =
      b.addFloats(b.multiplyFloats(softmax.denominator, correction), b.sum(numerators));
  accumulateListed(address, source.cache, groups, correction);
  return {greatest, denominator};
}

void AttentionBody::scoreListed(CacheAddress &address, CacheType cache, Value groups, Value count) {
  b.loop(b.index(0), groups, 1, [&](Value group) {
    Value first = b.multiply(group, keysTogether);
    SmallVector<Value> listed;
    for (int64_t i = 0; i < keysTogether; ++i)
      listed.push_back(memref::LoadOp::create(b, records, b.add(first, i)));
    SmallVector<Value> products(keysTogether, b.splat(0, chunkLanes));
    int64_t feature = 0;
    for (auto [number, field] : llvm::enumerate(cache.getFields())) {
      if (!field.isKey())
        continue;
      SmallVector<KernelRow> keys;
      for (Value record : listed)
        keys.push_back(address.getField(record, number, keyHead(cache)));
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
      b.storeFloat(arith::SelectOp::create(b, b.isLess(key, count), score, lowest), scores, key);
    }
  });
}

void AttentionBody::accumulateListed(CacheAddress &address, CacheType cache, Value groups,
                                     Value correction) {
  KernelRow sumsRow = b.row(sums, {});
  b.forEachChunk(valueWidth, [&](Value feature, int64_t lanes) {
    Value corrected =
        b.multiplyFloats(b.load(sumsRow, feature, lanes), b.broadcast(correction, lanes));
    b.store(corrected, sumsRow, feature);
  });
  b.loop(b.index(0), groups, 1, [&](Value group) {
    Value first = b.multiply(group, keysTogether);
    SmallVector<Value> listed, numerators;
    for (int64_t i = 0; i < keysTogether; ++i) {
      listed.push_back(memref::LoadOp::create(b, records, b.add(first, i)));
      numerators.push_back(b.loadFloat(scores, b.add(first, i)));
    }
    int64_t feature = 0;
    for (auto [number, field] : llvm::enumerate(cache.getFields())) {
      if (!field.isValue())
        continue;
      SmallVector<KernelRow> values;
      for (Value record : listed)
        values.push_back(address.getField(record, number, keyHead(cache)));
      b.forEachChunk(field.getWidth(), [&](Value position, int64_t lanes) {
        Value target = b.add(position, feature);
        Value sum = b.load(sumsRow, target, lanes);
        for (int64_t i = 0; i < keysTogether; ++i) {
          Value weight = b.broadcast(numerators[i], lanes);
          sum = b.addFloats(sum, b.multiplyFloats(weight, b.load(values[i], position, lanes)));
        }
        b.store(sum, sumsRow, target);
      });
      feature += field.getWidth();
    }
  });
}

CacheAddress AttentionBody::getAddress(const KernelModule::Source &source) {
  return CacheAddress(b, source.cache, b.argument(1 + source.cacheArgument));
}

Value AttentionBody::keyHead(CacheType cache) {
  return cache.getKeyHeads() == 1 ? Value() : b.quotient(head, heads / cache.getKeyHeads());
}

SymbolRefAttr KernelModule::attention(MemRefType query, ArrayRef<Source> sources, bool hasSinks,
                                      double scale, bool roundQuery, MemRefType output) {
  query = getKernelArgumentType(query);
  output = getKernelArgumentType(output);
  MLIRContext *context = query.getContext();

  KernelName name("attention");
  name.view(query).view(output).real("scale", scale);
  SmallVector<Type> cacheArguments, rowsArguments;
  for (const Source &source : sources) {
    name.integer("c", source.cacheArgument)
        .cache(source.cache)
        .word(stringifySelectorKind(source.selector.getKind()));
    if (source.selector.getKind() == SelectorKind::Rows) {
      rowsArguments.push_back(getKernelArgumentType(source.rows));
      name.view(getKernelArgumentType(source.rows));
    } else if (source.selector.getKind() != SelectorKind::All) {
      name.integer("n", source.selector.getCount());
    }
    if (source.cacheArgument >= static_cast<int64_t>(cacheArguments.size()))
      cacheArguments.resize(source.cacheArgument + 1);
    cacheArguments[source.cacheArgument] = getCacheElementsType(source.cache);
  }
  if (hasSinks)
    name.word("sinks");
  if (roundQuery)
    name.word("bf16_query");

  SmallVector<Type> arguments{query};
  llvm::append_range(arguments, cacheArguments);
  llvm::append_range(arguments, rowsArguments);
  if (hasSinks)
    arguments.push_back(getFloatsType(context, query.getDimSize(1)));
  arguments.append(3, getIntegersType(context));
  arguments.push_back(output);
  return getOrBuildKernel(kernels, name, arguments, [&](KernelBuilder &b) {
    AttentionBody(b, sources, hasSinks, scale, roundQuery, query, output).build();
  });
}
