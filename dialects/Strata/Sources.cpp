//===- Sources.cpp - Attention over a union of key sources ----------------===//
#include "strata/dialects/Strata/IR.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace strata;

SmallVector<AttentionOp::Source> AttentionOp::getSources() {
  SmallVector<Source> sources;
  auto rows = getRows().begin();
  for (auto [cache, attribute] : llvm::zip(getCaches(), getSelectors())) {
    auto selector = cast<SelectorAttr>(attribute);
    sources.push_back({cache, selector, selector.isListed() ? *rows++ : Value()});
  }
  return sources;
}

/// query `over` `(` cache selector [rows] (`,` …)* `)` `[` batch `]` [`sinks` sinks]
/// [`with` `scores` scores] [`after` partial] attributes `:` `(` types `)` `->` type
///
/// The types are those of the query, then of each source's cache and rows, then of sinks, scores
/// and partial.
ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &state) {
  using Operand = OpAsmParser::UnresolvedOperand;
  Operand query, batch;
  SmallVector<Operand> caches, rows, sinks, scores, partial;
  SmallVector<Attribute> selectors;
  auto parseSource = [&]() -> ParseResult {
    if (parser.parseOperand(caches.emplace_back()))
      return failure();
    FailureOr<SelectorAttr> selector = SelectorAttr::parseBody(parser);
    if (failed(selector))
      return failure();
    selectors.push_back(*selector);
    return selector->isListed() ? parser.parseOperand(rows.emplace_back()) : ParseResult(success());
  };
  if (parser.parseOperand(query) || parser.parseKeyword("over") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseSource) ||
      parser.parseLSquare() || parser.parseOperand(batch) || parser.parseRSquare())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("sinks")) && parser.parseOperand(sinks.emplace_back()))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("with")) &&
      (parser.parseKeyword("scores") || parser.parseOperand(scores.emplace_back())))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("after")) &&
      parser.parseOperand(partial.emplace_back()))
    return failure();
  FunctionType type;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseColon() ||
      parser.parseType(type))
    return failure();
  if (type.getNumInputs() !=
          1 + caches.size() + rows.size() + sinks.size() + scores.size() + partial.size() ||
      type.getNumResults() != 1)
    return parser.emitError(location, "expected the types of the query, of each cache and its "
                                      "rows, and of sinks, scores and the part before");

  unsigned next = 0;
  SmallVector<Type> cacheTypes, rowTypes;
  Type queryType = type.getInput(next++);
  for (Attribute selector : selectors) {
    cacheTypes.push_back(type.getInput(next++));
    if (cast<SelectorAttr>(selector).isListed())
      rowTypes.push_back(type.getInput(next++));
  }
  auto resolveLast = [&](ArrayRef<Operand> operands) -> ParseResult {
    return operands.empty()
               ? ParseResult(success())
               : parser.resolveOperand(operands.front(), type.getInput(next++), state.operands);
  };
  if (parser.resolveOperand(query, queryType, state.operands) ||
      parser.resolveOperands(caches, cacheTypes, location, state.operands) ||
      parser.resolveOperands(rows, rowTypes, location, state.operands) || resolveLast(sinks) ||
      parser.resolveOperand(batch, BatchType::get(parser.getContext()), state.operands) ||
      resolveLast(scores) || resolveLast(partial))
    return failure();
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.selectors = parser.getBuilder().getArrayAttr(selectors);
  properties.operandSegmentSizes = {1, int(caches.size()), int(rows.size()),   int(sinks.size()),
                                    1, int(scores.size()), int(partial.size())};
  state.addTypes(type.getResults());
  return success();
}

void AttentionOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getQuery() << " over (";
  SmallVector<Type> types{getQuery().getType()};
  llvm::interleaveComma(getSources(), printer, [&](const Source &source) {
    printer << source.cache << ' ';
    source.selector.printBody(printer);
    types.push_back(source.cache.getType());
    if (source.rows) {
      printer << ' ' << source.rows;
      types.push_back(source.rows.getType());
    }
  });
  printer << ")[" << getBatch() << ']';
  if (getSinks()) {
    printer << " sinks " << getSinks();
    types.push_back(getSinks().getType());
  }
  if (getScores()) {
    printer << " with scores " << getScores();
    types.push_back(getScores().getType());
  }
  if (getPartial()) {
    printer << " after " << getPartial();
    types.push_back(getPartial().getType());
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), {"selectors", "operandSegmentSizes"});
  printer << " : ";
  printer.printFunctionalType(types, (*this)->getResultTypes());
}

LogicalResult AttentionOp::verify() {
  if (getCaches().empty() || getCaches().size() != getSelectors().size())
    return emitOpError()
           << "(attention_c1) expected one selector for each of at least one cache but got "
           << getSelectors().size() << " for " << getCaches().size();
  size_t rowSelectors = llvm::count_if(getSelectors(), [](Attribute attribute) {
    auto selector = dyn_cast<SelectorAttr>(attribute);
    return selector && selector.isListed();
  });
  if (!llvm::all_of(getSelectors(), llvm::IsaPred<SelectorAttr>) ||
      rowSelectors != getRows().size())
    return emitOpError() << "(attention_c2) expected an index tensor for each of " << rowSelectors
                         << " listed selectors but got " << getRows().size();

  auto query = cast<ShapedType>(getQuery().getType()),
       result = cast<ShapedType>(getResult().getType());
  int64_t heads = query.getDimSize(1);
  llvm::SmallPtrSet<Value, 4> withRows;
  for (const Source &source : getSources()) {
    auto cache = cast<CacheType>(source.cache.getType());
    SelectorKind kind = source.selector.getKind();
    if ((kind == SelectorKind::Window || kind == SelectorKind::First) &&
        source.selector.getCount() < 1)
      return emitOpError() << "(attention_c2) expected a count of at least 1 but got "
                           << source.selector.getCount();
    if (cache.getKeyWidth() != query.getDimSize(2) || cache.getValueWidth() != result.getDimSize(2))
      return emitOpError() << "(attention_c3) expected keys of " << query.getDimSize(2)
                           << " and values of " << result.getDimSize(2) << " elements but got "
                           << cache.getKeyWidth() << " and " << cache.getValueWidth() << " in "
                           << cache;
    if (heads % cache.getKeyHeads())
      return emitOpError() << "(attention_c4) expected key heads that divide " << heads
                           << " heads but got " << cache.getKeyHeads();
    if (source.rows && !withRows.insert(source.cache).second)
      return emitOpError() << "(attention_c6) expected at most one listed source for each cache";
  }
  if (getSinks() && cast<ShapedType>(getSinks().getType()).getDimSize(0) != heads)
    return emitOpError() << "(attention_c5) expected " << heads << " sinks but got "
                         << cast<ShapedType>(getSinks().getType()).getDimSize(0);
  if (result.getDimSize(1) != heads)
    return emitOpError() << "(attention_c7) expected a result with " << heads << " heads but got "
                         << result.getDimSize(1);
  return verifyKnown();
}

bool AttentionOp::isPlaced() {
  return getScores() || getPartial() || llvm::any_of(getSources(), [](const Source &source) {
           return source.selector.getKind() == SelectorKind::Records;
         });
}

LogicalResult AttentionOp::verifyKnown() {
  int64_t heads = getQuery().getType().getDimSize(1);
  if (getScores()) {
    auto scores = cast<RankedTensorType>(getScores().getType());
    int64_t listed =
        getRows().size() == 1 ? cast<ShapedType>(getRows().front().getType()).getDimSize(1) : -1;
    if (scores.getDimSize(1) != heads || scores.getDimSize(2) != listed)
      return emitOpError() << "(attention_c8) expected scores of each head and each of the rows of "
                              "one listed source but got "
                           << scores;
  }
  if (getPartial()) {
    auto partial = cast<RankedTensorType>(getPartial().getType());
    int64_t width = cast<ShapedType>(getResult().getType()).getDimSize(2) + kPartialNumbers;
    if (partial.getDimSize(1) != heads || partial.getDimSize(2) != width || getScores() ||
        getSinks())
      return emitOpError() << "(attention_c9) expected neither scores nor sinks after a part of "
                           << heads << " heads of " << width << " elements but got " << partial;
  }
  return success();
}

/// Drops sources that add no record: a second one with the same selector, and any beside `all` of
/// the same cache.
LogicalResult AttentionOp::canonicalize(AttentionOp op, PatternRewriter &rewriter) {
  SmallVector<Source> sources = op.getSources(), kept;
  auto covers = [](const Source &a, const Source &b) {
    if (a.cache != b.cache)
      return false;
    SelectorKind kind = a.selector.getKind();
    if (kind == SelectorKind::All)
      return true;
    return kind == b.selector.getKind() && !a.selector.isListed() &&
           a.selector.getCount() >= b.selector.getCount();
  };
  for (auto [i, source] : llvm::enumerate(sources)) {
    bool redundant = false;
    for (auto [j, other] : llvm::enumerate(sources))
      if (i != j && covers(other, source) && (!covers(source, other) || j < i))
        redundant = true; // of two that cover each other the first stays
    if (!redundant)
      kept.push_back(source);
  }
  if (kept.size() == sources.size())
    return failure();
  SmallVector<Value> caches, rows;
  SmallVector<Attribute> selectors;
  for (const Source &source : kept) {
    caches.push_back(source.cache);
    selectors.push_back(source.selector);
    if (source.rows)
      rows.push_back(source.rows);
  }
  rewriter.replaceOpWithNewOp<AttentionOp>(
      op, op.getType(), op.getQuery(), caches, rows, op.getSinks(), op.getBatch(),
      rewriter.getArrayAttr(selectors), op.getScaleAttr(), op.getScores(), op.getPartial());
  return success();
}

//===----------------------------------------------------------------------===//
// Attention in steps
//===----------------------------------------------------------------------===//

/// Does the cache have keys for the query? `constraint` names the rule.
static LogicalResult verifyKeys(Operation *op, CacheType cache, RankedTensorType query,
                                StringRef constraint) {
  if (cache.getKeyWidth() == query.getDimSize(2) && query.getDimSize(1) % cache.getKeyHeads() == 0)
    return success();
  return op->emitOpError() << "(" << constraint << ") expected keys of " << query.getDimSize(2)
                           << " elements and key heads that divide " << query.getDimSize(1)
                           << " heads but got " << cache;
}

/// Is the type [tokens, heads, width]?
static bool hasHeads(RankedTensorType type, int64_t heads, int64_t width) {
  return type.getDimSize(1) == heads && type.getDimSize(2) == width;
}

LogicalResult AttentionScoresOp::verify() {
  RankedTensorType query = getQuery().getType(), result = getResult().getType();
  if (failed(verifyKeys(*this, getCache().getType(), query, "attention_scores_c1")))
    return failure();
  int64_t k = getRecords().getType().getDimSize(1);
  if (!hasHeads(result, query.getDimSize(1), k) || (getInto() && getInto().getType() != result)) {
    InFlightDiagnostic diagnostic = emitOpError() << "(attention_scores_c2) expected scores of "
                                                  << query.getDimSize(1) << " heads and " << k
                                                  << " records but got " << result;
    if (getInto())
      diagnostic << " into " << getInto().getType();
    return diagnostic;
  }
  return success();
}

LogicalResult PartialAttentionOp::verify() {
  RankedTensorType query = getQuery().getType(), result = getResult().getType();
  CacheType cache = getCache().getType();
  if (failed(verifyKeys(*this, cache, query, "partial_attention_c1")))
    return failure();
  int64_t heads = query.getDimSize(1), width = cache.getValueWidth() + kPartialNumbers;
  if (!hasHeads(result, heads, width))
    return emitOpError() << "(partial_attention_c2) expected " << heads << " heads of " << width
                         << " elements but got " << result;
  if (getSinks() && cast<ShapedType>(getSinks().getType()).getDimSize(0) != heads)
    return emitOpError() << "(partial_attention_c3) expected " << heads << " sinks but got "
                         << getSinks().getType();
  return success();
}
