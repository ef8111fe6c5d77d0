//===- Types.cpp - The cache type -----------------------------------------===//
#include "strata/dialects/Strata/IR.h"

using namespace mlir;
using namespace strata;

int64_t CacheType::getKeyWidth() const {
  int64_t width = 0;
  for (CacheFieldAttr field : getFields())
    if (field.isKey())
      width += field.getWidth();
  return width;
}

int64_t CacheType::getValueWidth() const {
  int64_t width = 0;
  for (CacheFieldAttr field : getFields())
    if (field.isValue())
      width += field.getWidth();
  return width;
}

int64_t CacheType::getKeyHeads() const {
  for (CacheFieldAttr field : getFields())
    if (field.isKey())
      return field.getHeads();
  return 0;
}

int64_t CacheType::getRecordBytes() const {
  int64_t bytes = 0;
  for (CacheFieldAttr field : getFields())
    bytes += field.getElements() * field.getElementType().getIntOrFloatBitWidth() / 8;
  return bytes;
}

int64_t CacheType::getRowBytes() const { return getRecordBytes(); }

int64_t CacheType::getPageRows() const { return getPageSize(); }

CacheType CacheType::withElementType(Type elementType) const {
  SmallVector<CacheFieldAttr> fields;
  for (CacheFieldAttr field : getFields())
    fields.push_back(CacheFieldAttr::get(getContext(), field.getRole(), field.getHeads(),
                                         field.getWidth(), elementType));
  return CacheType::get(getContext(), fields, getPageSize(), getPlanar(), getRope(), getHadamard());
}

CacheType CacheType::withPageSize(int64_t pageSize) const {
  return CacheType::get(getContext(), getFields(), pageSize, getPlanar(), getRope(), getHadamard());
}

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<CacheFieldAttr> fields, int64_t pageSize, bool planar,
                                RopeLayout rope, bool hadamard) {
  if (fields.empty())
    return emitError() << "expected a cache with at least one field";
  if (pageSize < 1)
    return emitError() << "expected a page of at least 1 token but got " << pageSize;
  bool hasKey = false;
  for (CacheFieldAttr field : fields) {
    if (field.getHeads() < 1 || field.getWidth() < 1)
      return emitError() << "expected positive heads and width but got " << field;
    if (!isa<FloatType>(field.getElementType()))
      return emitError() << "expected a floating-point element type but got "
                         << field.getElementType();
    if (field.getHeads() != fields.front().getHeads())
      return emitError() << "expected all fields to have " << fields.front().getHeads()
                         << " heads but got " << field;
    hasKey |= field.isKey();
  }
  if (!hasKey)
    return emitError() << "expected a cache with at least one key field";
  return success();
}

/// `<` field (`,` field)* `,` `page` `=` integer (`,` (`rope` `=` layout | `planar` | `hadamard`))*
/// `>`
Type CacheType::parse(AsmParser &parser) {
  SmallVector<CacheFieldAttr> fields;
  int64_t pageSize = 0;
  bool planar = false, hadamard = false;
  RopeLayout rope = RopeLayout::None;
  SMLoc location = parser.getCurrentLocation();
  auto parseItem = [&]() -> ParseResult {
    StringRef keyword;
    SMLoc itemLocation = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    if (std::optional<FieldRole> role = symbolizeFieldRole(keyword)) {
      FailureOr<CacheFieldAttr> field = CacheFieldAttr::parseBody(parser, *role);
      if (failed(field))
        return failure();
      fields.push_back(*field);
      return success();
    }
    if (keyword == "page")
      return failure(parser.parseEqual() || parser.parseInteger(pageSize));
    if (keyword == "rope") {
      StringRef layout;
      if (parser.parseEqual() || parser.parseKeyword(&layout))
        return failure();
      std::optional<RopeLayout> parsed = symbolizeRopeLayout(layout);
      if (!parsed)
        return parser.emitError(itemLocation, "expected none, interleaved or half but got ")
               << layout;
      rope = *parsed;
      return success();
    }
    if (keyword == "planar" || keyword == "hadamard") {
      (keyword == "planar" ? planar : hadamard) = true;
      return success();
    }
    return parser.emitError(itemLocation,
                            "expected a field, page, rope, planar or hadamard but got ")
           << keyword;
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseItem))
    return {};
  return parser.getChecked<CacheType>(location, parser.getContext(),
                                      ArrayRef<CacheFieldAttr>(fields), pageSize, planar, rope,
                                      hadamard);
}

void CacheType::print(AsmPrinter &printer) const {
  printer << '<';
  for (CacheFieldAttr field : getFields()) {
    field.printBody(printer);
    printer << ", ";
  }
  printer << "page = " << getPageSize();
  if (getRope() != RopeLayout::None)
    printer << ", rope = " << stringifyRopeLayout(getRope());
  if (getPlanar())
    printer << ", planar";
  if (getHadamard())
    printer << ", hadamard";
  printer << '>';
}
