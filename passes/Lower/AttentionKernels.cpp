//===- AttentionKernels.cpp - Attention over a union of key sources -------===//
//
// An item is one token and head. Its keys are taken source by source in blocks of 64 candidates,
// counted from the source's first one; those that count are listed, scored, and added by the online
// softmax (Milakov and Gimelshein, 2018). So what an item does depends on the token alone. Ranges
// of positions come first: then a `rows` source only has to look whether a position lies in a range
// of the same cache.
//
// Scores of rows may have been computed before, by another kernel. Attention may also be cut in
// two: one kernel leaves the softmax and the sum of values of its keys, another goes on from there.
//
//===----------------------------------------------------------------------===//
#include "strata/passes/Lower/KeyBlock.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace strata;

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
                double scale, bool roundQuery, AttentionPart part, MemRefType query,
                MemRefType output);

  void build();

private:
  void buildItem(Value item);
  /// Clears the sum of values, or takes it and the softmax from the part before.
  Softmax begin();
  /// Writes the result, or leaves sum and softmax to the part behind.
  void finish(const Softmax &softmax);
  PositionRange getRange(const KernelModule::Source &source, Value visible);
  Softmax addRange(const KernelModule::Source &source, const PositionRange &range, Softmax softmax);
  Softmax addRows(const KernelModule::Source &source, Value rows, Value given, Value visible,
                  Softmax softmax);
  /// Walks candidates [begin, end) in blocks. `getKey` gives a candidate's position and whether it
  /// counts (null: always). `given` are the candidates' scores (a null value: they are computed).
  Softmax addBlocks(const KernelModule::Source &source, Value begin, Value end,
                    llvm::function_ref<std::pair<Value, Value>(Value candidate)> getKey,
                    Value given, Softmax softmax);
  /// Adds the first `count` listed records (at least one) to softmax and accumulator.
  Softmax addListed(const KernelModule::Source &source, Value count, bool areScored,
                    Softmax softmax);
  void accumulateListed(CacheAddress &address, CacheType cache, Value groups, Value correction);
  CacheAddress getAddress(const KernelModule::Source &source);
  /// The positions that are in no range of the source's cache added so far; null if there are none.
  Value isInNoRange(int64_t cacheArgument, Value position);
  Value keyHead(CacheType cache);

  KernelBuilder &b;
  ArrayRef<KernelModule::Source> sources;
  bool hasSinks;
  AttentionPart part;
  int64_t heads, valueWidth;
  /// The scores become the numerators of the softmax.
  KeyBlock keys;

  Value sinks, partial, positions, pageBegin, pages, output;
  SmallVector<Value> rowsArguments, scoresArguments;
  Value sums; ///< on the stack: of values

  // Of the current item.
  Value token, head, firstPage;
  KernelRow query;
  SmallVector<PositionRange> ranges;
};
} // namespace

/// Whether a listed position or record is a key: not −1, and a position that the token sees.
static Value countsAsKey(KernelBuilder &b, SelectorAttr selector, Value listed, Value visible) {
  if (selector.getKind() == SelectorKind::Records)
    return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, listed, b.index(0));
  // −1 is great without a sign, so one comparison excludes it and what the token doesn't see.
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, listed, visible);
}

/// The record that a listed number stands for.
static Value getRecord(SelectorAttr selector, CacheAddress &address, Value pages, Value firstPage,
                       Value listed) {
  return selector.getKind() == SelectorKind::Records ? listed
                                                     : address.findRecord(pages, firstPage, listed);
}

AttentionBody::AttentionBody(KernelBuilder &b, ArrayRef<KernelModule::Source> sources,
                             bool hasSinks, double scale, bool roundQuery, AttentionPart part,
                             MemRefType query, MemRefType output)
    : b(b), sources(sources), hasSinks(hasSinks), part(part), heads(query.getDimSize(1)),
      valueWidth(output.getDimSize(2) - (part == AttentionPart::First ? kPartialNumbers : 0)),
      keys(b, scale, roundQuery, query.getDimSize(2)) {
  unsigned number = 1;
  for (const KernelModule::Source &source : sources)
    number = std::max<unsigned>(number, 2 + source.cacheArgument);
  for (const KernelModule::Source &source : sources)
    rowsArguments.push_back(source.rows ? b.argument(number++) : Value());
  for (const KernelModule::Source &source : sources)
    scoresArguments.push_back(source.scores ? b.argument(number++) : Value());
  if (hasSinks)
    sinks = b.argument(number++);
  if (part == AttentionPart::Last)
    partial = b.argument(number++);
  positions = b.argument(number++);
  pageBegin = b.argument(number++);
  pages = b.argument(number++);
  this->output = b.argument(number++);
}

void AttentionBody::build() {
  sums = b.stackBuffer(valueWidth, b.getF32Type());
  b.forEachItem([&](Value item) { buildItem(item); });
}

void AttentionBody::buildItem(Value item) {
  token = b.quotient(item, heads);
  head = b.remainder(item, heads);
  firstPage = b.loadIndex(pageBegin, token);
  Value visible = b.add(b.loadIndex(positions, token), 1);
  query = keys.loadQuery(b.argument(0), {token, head});

  Softmax softmax = begin();
  ranges.clear();
  for (const KernelModule::Source &source : sources) {
    if (source.rows)
      continue;
    PositionRange range = getRange(source, visible);
    softmax = addRange(source, range, softmax);
    ranges.push_back(range);
  }
  for (auto [source, rows, given] : llvm::zip_equal(sources, rowsArguments, scoresArguments))
    if (source.rows)
      softmax = addRows(source, rows, given, visible, softmax);
  finish(softmax);
}

Softmax AttentionBody::begin() {
  KernelRow sumsRow = b.row(sums, {});
  if (partial) {
    KernelRow sumsBefore = b.row(partial, {token, head});
    b.forEachChunk(valueWidth, [&](Value feature, int64_t lanes) {
      b.store(b.load(sumsBefore, feature, lanes), sumsRow, feature);
    });
    return {b.loadFloat(partial, {token, head, b.index(valueWidth)}),
            b.loadFloat(partial, {token, head, b.index(valueWidth + 1)})};
  }
  b.forEachChunk(valueWidth, [&](Value feature, int64_t lanes) {
    b.store(b.splat(0, lanes), sumsRow, feature);
  });
  // A sink is a score without a value.
  if (hasSinks)
    return {b.loadFloat(sinks, head), b.real(1)};
  return {b.real(-std::numeric_limits<float>::infinity()), b.real(0)};
}

void AttentionBody::finish(const Softmax &softmax) {
  KernelRow sumsRow = b.row(sums, {}), destination = b.row(output, {token, head});
  if (part == AttentionPart::First) {
    b.copy(sumsRow, destination, valueWidth);
    b.storeFloat(softmax.greatest, output, {token, head, b.index(valueWidth)});
    b.storeFloat(softmax.denominator, output, {token, head, b.index(valueWidth + 1)});
    return;
  }
  // Without any key the sum of values is 0, and so must be the result.
  Value zero = b.real(0);
  Value denominator = b.selectFloats(arith::CmpFPredicate::OEQ, softmax.denominator, zero,
                                     b.real(1), softmax.denominator);
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
  return addBlocks(source, range.begin, range.end, getKey, /*given=*/Value(), softmax);
}

Softmax AttentionBody::addRows(const KernelModule::Source &source, Value rows, Value given,
                               Value visible, Softmax softmax) {
  auto getKey = [&](Value candidate) {
    Value position = b.loadIndex(rows, {token, candidate});
    Value counts = countsAsKey(b, source.selector, position, visible);
    if (Value outside = isInNoRange(source.cacheArgument, position))
      counts = arith::AndIOp::create(b, counts, outside);
    return std::pair(position, counts);
  };
  return addBlocks(source, b.index(0), b.index(source.rows.getDimSize(1)), getKey, given, softmax);
}

Softmax AttentionBody::addBlocks(const KernelModule::Source &source, Value begin, Value end,
                                 llvm::function_ref<std::pair<Value, Value>(Value)> getKey,
                                 Value given, Softmax softmax) {
  CacheAddress address = getAddress(source);
  SmallVector<Value> initial{softmax.greatest, softmax.denominator};
  SmallVector<Value> result =
      b.loop(begin, end, blockKeys, initial, [&](Value block, ValueRange state) {
        Value blockEnd = b.minimum(end, b.add(block, blockKeys));
        if (given)
          keys.clearScores();
        auto list = [&](Value candidate, ValueRange counts) {
          Value count = counts.front();
          auto [position, isKey] = getKey(candidate);
          auto append = [&, candidate, position = position] {
            // Only here, where the position is known to be one, is an address made of it.
            keys.append(getRecord(source.selector, address, pages, firstPage, position), count);
            if (given)
              b.storeFloat(b.loadFloat(given, {token, head, candidate}), keys.scores(), count);
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
        Softmax next = addListed(source, count, given != nullptr, {state[0], state[1]});
        scf::YieldOp::create(b, ValueRange{next.greatest, next.denominator});
        return llvm::to_vector_of<Value>(choice.getResults());
      });
  return {result[0], result[1]};
}

Softmax AttentionBody::addListed(const KernelModule::Source &source, Value count, bool areScored,
                                 Softmax softmax) {
  CacheAddress address = getAddress(source);
  Value groups = keys.fillGroups(count);
  if (!areScored) {
    keys.clearScores();
    keys.score(query, address, source.cache, keyHead(source.cache), groups, count);
  }

  KernelRow scoresRow = keys.scoresRow();
  Value lowest = b.splat(-std::numeric_limits<float>::infinity(), chunkLanes);
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

void AttentionBody::accumulateListed(CacheAddress &address, CacheType cache, Value groups,
                                     Value correction) {
  KernelRow sumsRow = b.row(sums, {});
  b.forEachChunk(valueWidth, [&](Value feature, int64_t lanes) {
    Value corrected =
        b.multiplyFloats(b.load(sumsRow, feature, lanes), b.broadcast(correction, lanes));
    b.store(corrected, sumsRow, feature);
  });
  b.loop(b.index(0), groups, 1, [&](Value group) {
    Value first = b.multiply(group, KeyBlock::keysTogether);
    SmallVector<Value> listed = keys.group(first), numerators;
    for (int64_t i = 0; i < KeyBlock::keysTogether; ++i)
      numerators.push_back(b.loadFloat(keys.scores(), b.add(first, i)));
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
        for (int64_t i = 0; i < KeyBlock::keysTogether; ++i) {
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

/// The scores of the rows that count, each at its place; the others are left alone.
static void buildScores(KernelBuilder &b, const KernelModule::Source &source, double scale,
                        bool roundQuery, MemRefType query) {
  int64_t heads = query.getDimSize(1), perKeyHead = heads / source.cache.getKeyHeads();
  Value rows = b.argument(2), pageBegin = b.argument(4), pages = b.argument(5),
        output = b.argument(6);
  KeyBlock keys(b, scale, roundQuery, query.getDimSize(2));
  Value candidates = b.stackBuffer(blockKeys, b.getIndexType());
  CacheAddress address(b, source.cache, b.argument(1));
  b.forEachItem([&](Value item) {
    Value token = b.quotient(item, heads), head = b.remainder(item, heads);
    Value firstPage = b.loadIndex(pageBegin, token);
    Value visible = b.add(b.loadIndex(b.argument(3), token), 1);
    KernelRow queryRow = keys.loadQuery(b.argument(0), {token, head});
    Value keyHead = source.cache.getKeyHeads() == 1 ? Value() : b.quotient(head, perKeyHead);
    Value end = b.index(source.rows.getDimSize(1));
    b.loop(b.index(0), end, blockKeys, [&](Value block) {
      Value blockEnd = b.minimum(end, b.add(block, blockKeys));
      auto list = [&](Value candidate, ValueRange counts) {
        Value count = counts.front(), position = b.loadIndex(rows, {token, candidate});
        Value isKey = countsAsKey(b, source.selector, position, visible);
        return SmallVector<Value>{b.ifThenElse(isKey, count, [&] {
          keys.append(getRecord(source.selector, address, pages, firstPage, position), count);
          b.storeFloat(candidate, candidates, count);
          return b.add(count, 1);
        })};
      };
      Value count = b.loop(block, blockEnd, 1, b.index(0), list).front();
      b.ifThen(b.isLess(b.index(0), count), [&] {
        Value groups = keys.fillGroups(count);
        keys.score(queryRow, address, source.cache, keyHead, groups, count);
        b.loop(b.index(0), count, 1, [&](Value key) {
          Value candidate = memref::LoadOp::create(b, candidates, key);
          b.storeFloat(b.loadFloat(keys.scores(), key), output, {token, head, candidate});
        });
      });
    });
  });
}

SymbolRefAttr KernelModule::attention(MemRefType query, ArrayRef<Source> sources, bool hasSinks,
                                      double scale, bool roundQuery, MemRefType output,
                                      AttentionPart part) {
  query = getKernelArgumentType(query);
  output = getKernelArgumentType(output);
  MLIRContext *context = query.getContext();

  KernelName name("attention");
  if (part != AttentionPart::Whole)
    name.word(part == AttentionPart::First ? "first" : "last");
  name.view(query).view(output).real("scale", scale);
  SmallVector<Type> cacheArguments, rowsArguments, scoresArguments;
  for (const Source &source : sources) {
    name.integer("c", source.cacheArgument)
        .cache(source.cache)
        .word(stringifySelectorKind(source.selector.getKind()));
    if (source.rows) {
      rowsArguments.push_back(getKernelArgumentType(source.rows));
      name.view(getKernelArgumentType(source.rows));
    } else if (source.selector.getKind() != SelectorKind::All) {
      name.integer("n", source.selector.getCount());
    }
    if (source.scores) {
      scoresArguments.push_back(getKernelArgumentType(source.scores));
      name.word("scored").view(getKernelArgumentType(source.scores));
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
  llvm::append_range(arguments, scoresArguments);
  if (hasSinks)
    arguments.push_back(getFloatsType(context, query.getDimSize(1)));
  if (part == AttentionPart::Last)
    arguments.push_back(getPartialType(output));
  arguments.append(3, getIntegersType(context));
  arguments.push_back(output);
  return getOrBuildKernel(kernels, name, arguments, [&](KernelBuilder &b) {
    AttentionBody(b, sources, hasSinks, scale, roundQuery, part, query, output).build();
  });
}

MemRefType KernelModule::getPartialType(MemRefType output) {
  return MemRefType::get(
      {ShapedType::kDynamic, output.getDimSize(1), output.getDimSize(2) + kPartialNumbers},
      output.getElementType());
}

SymbolRefAttr KernelModule::attentionScores(MemRefType query, const Source &source, double scale,
                                            bool roundQuery) {
  query = getKernelArgumentType(query);
  MemRefType rows = getKernelArgumentType(source.rows),
             scores = getKernelArgumentType(source.scores);
  KernelName name("attention_scores");
  name.view(query).real("scale", scale).cache(source.cache);
  name.word(stringifySelectorKind(source.selector.getKind())).view(rows).view(scores);
  if (roundQuery)
    name.word("bf16_query");
  Type integers = getIntegersType(query.getContext());
  Type arguments[] = {query, getCacheElementsType(source.cache), rows, integers, integers, integers,
                      scores};
  return getOrBuildKernel(kernels, name, arguments, [&](KernelBuilder &b) {
    buildScores(b, source, scale, roundQuery, query);
  });
}
