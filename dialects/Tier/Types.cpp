//===- Types.cpp - Values in tiers ----------------------------------------===//
#include "strata/dialects/Tier/IR.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace strata;
using namespace strata::tier;

/// Bytes of a row of a value; 0 for what has no rows.
static int64_t getRowBytes(Type value) {
  if (auto store = dyn_cast<RowStoreTypeInterface>(value))
    return store.getRowBytes();
  auto tensor = dyn_cast<RankedTensorType>(value);
  if (!tensor || !tensor.getElementType().isIntOrFloat())
    return 0;
  uint64_t bytes = tensor.getElementTypeBitWidth() / 8;
  for (int64_t size : tensor.getShape().drop_front(tensor.getRank() > 0 ? 1 : 0))
    bytes = llvm::SaturatingMultiply<uint64_t>(bytes, ShapedType::isDynamic(size) ? 1 : size);
  return int64_t(std::min<uint64_t>(bytes, std::numeric_limits<int64_t>::max()));
}

static LogicalResult verifyRows(function_ref<InFlightDiagnostic()> emitError, StringAttr space,
                                Type value, int64_t stride, int64_t align) {
  if (space.empty())
    return emitError() << "expected the name of a tier but got an empty one";
  auto tensor = dyn_cast<RankedTensorType>(value);
  if (!isa<RowStoreTypeInterface>(value) && !tensor)
    return emitError() << "expected a row store or a ranked tensor but got " << value;
  if (stride < 0 || (stride && stride < getRowBytes(value)))
    return emitError() << "expected a stride of at least the " << getRowBytes(value)
                       << " bytes of a row but got " << stride;
  if (align < 0 || (align & (align - 1)))
    return emitError() << "expected an alignment that is a power of two but got " << align;
  int64_t step = stride ? stride : getRowBytes(value);
  if (align && step % align)
    return emitError() << "expected a stride that is a multiple of the alignment " << align
                       << " but got " << step;
  return success();
}

/// (`,` `stride` `=` integer)? (`,` `align` `=` integer)? `>`
static ParseResult parseStride(AsmParser &parser, int64_t &stride, int64_t &align) {
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("stride"))) {
      if (parser.parseEqual() || parser.parseInteger(stride))
        return failure();
    } else if (parser.parseKeyword("align") || parser.parseEqual() || parser.parseInteger(align)) {
      return failure();
    }
  }
  return parser.parseGreater();
}

static void printStride(AsmPrinter &printer, int64_t stride, int64_t align) {
  if (stride)
    printer << ", stride = " << stride;
  if (align)
    printer << ", align = " << align;
  printer << ">";
}

int64_t AtType::getRowStride() const { return getStride() ? getStride() : getRowBytes(getValue()); }

LogicalResult AtType::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr space,
                             Type value, int64_t stride, int64_t align) {
  return verifyRows(emitError, space, value, stride, align);
}

Type AtType::parse(AsmParser &parser) {
  std::string space;
  Type value;
  int64_t stride = 0, align = 0;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&space) || parser.parseComma() ||
      parser.parseType(value) || parseStride(parser, stride, align))
    return {};
  return parser.getChecked<AtType>(location, parser.getContext(),
                                   StringAttr::get(parser.getContext(), space), value, stride,
                                   align);
}

void AtType::print(AsmPrinter &printer) const {
  printer << "<" << getSpace() << ", " << getValue();
  printStride(printer, getStride(), getAlign());
}

int64_t HotSetType::getRowStride() const {
  return getStride() ? getStride() : getRowBytes(getValue());
}

LogicalResult HotSetType::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr space,
                                 Type value, int64_t slots, int64_t stride, int64_t align) {
  if (!isa<RowStoreTypeInterface>(value))
    return emitError() << "expected a row store but got " << value;
  if (slots < 1)
    return emitError() << "expected at least 1 slot but got " << slots;
  return verifyRows(emitError, space, value, stride, align);
}

Type HotSetType::parse(AsmParser &parser) {
  std::string space;
  Type value;
  int64_t slots = 0, stride = 0, align = 0;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&space) || parser.parseComma() ||
      parser.parseType(value) || parser.parseComma() || parser.parseKeyword("slots") ||
      parser.parseEqual() || parser.parseInteger(slots) || parseStride(parser, stride, align))
    return {};
  return parser.getChecked<HotSetType>(location, parser.getContext(),
                                       StringAttr::get(parser.getContext(), space), value, slots,
                                       stride, align);
}

void HotSetType::print(AsmPrinter &printer) const {
  printer << "<" << getSpace() << ", " << getValue() << ", slots = " << getSlots();
  printStride(printer, getStride(), getAlign());
}

static LogicalResult verifyPageSpace(function_ref<InFlightDiagnostic()> emitError, int64_t slots,
                                     StringAttr pages) {
  if (slots < 1)
    return emitError() << "expected at least 1 slot but got " << slots;
  if (pages.empty())
    return emitError() << "expected the name of a page space but got an empty one";
  return success();
}

LogicalResult TableType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t slots,
                                StringAttr pages) {
  return verifyPageSpace(emitError, slots, pages);
}

LogicalResult PlanType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t slots,
                               StringAttr pages) {
  return verifyPageSpace(emitError, slots, pages);
}

LogicalResult SlotType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t bytes) {
  if (bytes < 1)
    return emitError() << "expected at least 1 byte but got " << bytes;
  return success();
}

LogicalResult PendingType::verify(function_ref<InFlightDiagnostic()> emitError, Type value) {
  if (isa<PendingType>(value))
    return emitError() << "expected a value that can be waited for but got " << value;
  return success();
}
