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
    bool takesRows = selector.getKind() == SelectorKind::Rows;
    sources.push_back({cache, selector, takesRows ? *rows++ : Value()});
  }
  return sources;
}

/// query `over` `(` cache selector [rows] (`,` …)* `)` `[` batch `]` [`sinks` sinks] attributes `:`
/// `(` types `)` `->` type
///
/// The types are those of the query, then of each source's cache and rows, then of the sinks.
ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &state) {
  using Operand = OpAsmParser::UnresolvedOperand;
  Operand query, batch;
  SmallVector<Operand> caches, rows, sinks;
  SmallVector<Attribute> selectors;
  auto parseSource = [&]() -> ParseResult {
    if (parser.parseOperand(caches.emplace_back()))
      return failure();
    FailureOr<SelectorAttr> selector = SelectorAttr::parseBody(parser);
    if (failed(selector))
      return failure();
    selectors.push_back(*selector);
    return selector->getKind() == SelectorKind::Rows ? parser.parseOperand(rows.emplace_back())
                                                     : ParseResult(success());
  };
  if (parser.parseOperand(query) || parser.parseKeyword("over") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseSource) ||
      parser.parseLSquare() || parser.parseOperand(batch) || parser.parseRSquare())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("sinks")) && parser.parseOperand(sinks.emplace_back()))
    return failure();
  FunctionType type;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseColon() ||
      parser.parseType(type))
    return failure();
  if (type.getNumInputs() != 1 + caches.size() + rows.size() + sinks.size() ||
      type.getNumResults() != 1)
    return parser.emitError(
        location, "expected the types of the query, of each cache and its rows, and of the sinks");

  unsigned next = 0;
  SmallVector<Type> cacheTypes, rowTypes, sinkTypes;
  Type queryType = type.getInput(next++);
  for (Attribute selector : selectors) {
    cacheTypes.push_back(type.getInput(next++));
    if (cast<SelectorAttr>(selector).getKind() == SelectorKind::Rows)
      rowTypes.push_back(type.getInput(next++));
  }
  if (!sinks.empty())
    sinkTypes.push_back(type.getInput(next++));
  if (parser.resolveOperand(query, queryType, state.operands) ||
      parser.resolveOperands(caches, cacheTypes, location, state.operands) ||
      parser.resolveOperands(rows, rowTypes, location, state.operands) ||
      parser.resolveOperands(sinks, sinkTypes, location, state.operands) ||
      parser.resolveOperand(batch, BatchType::get(parser.getContext()), state.operands))
    return failure();
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.selectors = parser.getBuilder().getArrayAttr(selectors);
  properties.operandSegmentSizes = {1, int(caches.size()), int(rows.size()), int(sinks.size()), 1};
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
    return selector && selector.getKind() == SelectorKind::Rows;
  });
  if (!llvm::all_of(getSelectors(), llvm::IsaPred<SelectorAttr>) ||
      rowSelectors != getRows().size())
    return emitOpError() << "(attention_c2) expected an index tensor for each of " << rowSelectors
                         << " rows selectors but got " << getRows().size();

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
      return emitOpError() << "(attention_c6) expected at most one rows source for each cache";
  }
  if (getSinks() && cast<ShapedType>(getSinks().getType()).getDimSize(0) != heads)
    return emitOpError() << "(attention_c5) expected " << heads << " sinks but got "
                         << cast<ShapedType>(getSinks().getType()).getDimSize(0);
  if (result.getDimSize(1) != heads)
    return emitOpError() << "(attention_c7) expected a result with " << heads << " heads but got "
                         << result.getDimSize(1);
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
    return kind == b.selector.getKind() && kind != SelectorKind::Rows &&
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
  rewriter.replaceOpWithNewOp<AttentionOp>(op, op.getType(), op.getQuery(), caches, rows,
                                           op.getSinks(), op.getBatch(),
                                           rewriter.getArrayAttr(selectors), op.getScaleAttr());
  return success();
}
