//===- Attributes.cpp - Fields, selectors and rotary embeddings -----------===//
#include "strata/dialects/Strata/IR.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace strata;

//===----------------------------------------------------------------------===//
// Cache fields: role [heads x] width x type
//===----------------------------------------------------------------------===//

FailureOr<CacheFieldAttr> CacheFieldAttr::parseBody(AsmParser &parser, FieldRole role) {
  SmallVector<int64_t> dimensions;
  Type elementType;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseDimensionList(dimensions, /*allowDynamic=*/false) ||
      parser.parseType(elementType))
    return failure();
  if (dimensions.empty() || dimensions.size() > 2)
    return parser.emitError(location, "expected [heads x] width x type but got ")
           << dimensions.size() << " dimensions";
  int64_t heads = dimensions.size() == 2 ? dimensions.front() : 1;
  return CacheFieldAttr::get(parser.getContext(), role, heads, dimensions.back(), elementType);
}

void CacheFieldAttr::printBody(AsmPrinter &printer) const {
  printer << stringifyFieldRole(getRole()) << ' ';
  if (getHeads() != 1)
    printer << getHeads() << 'x';
  printer << getWidth() << 'x' << getElementType();
}

Attribute CacheFieldAttr::parse(AsmParser &parser, Type) {
  StringRef keyword;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&keyword))
    return {};
  std::optional<FieldRole> role = symbolizeFieldRole(keyword);
  if (!role) {
    parser.emitError(location, "expected key, value or key_value but got ") << keyword;
    return {};
  }
  FailureOr<CacheFieldAttr> field = parseBody(parser, *role);
  if (failed(field) || parser.parseGreater())
    return {};
  return *field;
}

void CacheFieldAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printBody(printer);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Selectors
//===----------------------------------------------------------------------===//

FailureOr<SelectorAttr> SelectorAttr::parseBody(AsmParser &parser) {
  StringRef keyword;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<SelectorKind> kind = symbolizeSelectorKind(keyword);
  if (!kind)
    return parser.emitError(location, "expected all, window, first, rows or records but got ") << keyword;
  int64_t count = 0;
  if (*kind == SelectorKind::Window || *kind == SelectorKind::First)
    if (parser.parseInteger(count))
      return failure();
  return SelectorAttr::get(parser.getContext(), *kind, count);
}

void SelectorAttr::printBody(AsmPrinter &printer) const {
  printer << stringifySelectorKind(getKind());
  if (getKind() == SelectorKind::Window || getKind() == SelectorKind::First)
    printer << ' ' << getCount();
}

Attribute SelectorAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<SelectorAttr> selector = parseBody(parser);
  if (failed(selector) || parser.parseGreater())
    return {};
  return *selector;
}

void SelectorAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printBody(printer);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Rotary embeddings
//===----------------------------------------------------------------------===//

LogicalResult RopeAttr::verify(function_ref<InFlightDiagnostic()> emitError, FloatAttr theta,
                               RopeLayout layout, Attribute scaling) {
  if (!(theta.getValueAsDouble() > 0))
    return emitError() << "expected a positive theta but got " << theta.getValueAsDouble();
  if (scaling && !isa<YarnAttr, Llama3Attr>(scaling))
    return emitError() << "expected #strata.yarn or #strata.llama3 as scaling but got " << scaling;
  return success();
}

/// The index of the pair that turns `rotations` times over the original positions (YaRN paper,
/// section 3.2; real number).
static double pairOfRotations(double rotations, double width, double theta,
                              double originalPositions) {
  return width * std::log(originalPositions / (rotations * 2 * M_PI)) / (2 * std::log(theta));
}

static void scaleYarn(YarnAttr yarn, double theta, int64_t width,
                      MutableArrayRef<double> frequencies) {
  double low = pairOfRotations(yarn.getBetaFast().getValueAsDouble(), width, theta,
                               yarn.getOriginalPositions());
  double high = pairOfRotations(yarn.getBetaSlow().getValueAsDouble(), width, theta,
                                yarn.getOriginalPositions());
  if (yarn.getTruncate()) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, double(width - 1));
  if (low == high)
    high += 0.001; // the ramp would divide by zero
  for (auto [i, frequency] : llvm::enumerate(frequencies)) {
    double ramp = std::clamp((double(i) - low) / (high - low), 0.0, 1.0);
    frequency = frequency / yarn.getFactor().getValueAsDouble() * ramp + frequency * (1 - ramp);
  }
}

static void scaleLlama3(Llama3Attr llama3, MutableArrayRef<double> frequencies) {
  double factor = llama3.getFactor().getValueAsDouble(), original = llama3.getOriginalPositions();
  double low = llama3.getLowFrequencyFactor().getValueAsDouble(),
         high = llama3.getHighFrequencyFactor().getValueAsDouble();
  for (double &frequency : frequencies) {
    double wavelength = 2 * M_PI / frequency;
    if (wavelength < original / high)
      continue;
    if (wavelength > original / low) {
      frequency /= factor;
      continue;
    }
    double smooth = (original / wavelength - low) / (high - low);
    frequency = (1 - smooth) * frequency / factor + smooth * frequency;
  }
}

SmallVector<double> RopeAttr::getFrequencies(int64_t width) const {
  double theta = getTheta().getValueAsDouble();
  SmallVector<double> frequencies;
  for (int64_t i = 0; i < width / 2; ++i)
    frequencies.push_back(std::pow(theta, -2.0 * double(i) / double(width)));
  if (auto yarn = dyn_cast_or_null<YarnAttr>(getScaling()))
    scaleYarn(yarn, theta, width, frequencies);
  else if (auto llama3 = dyn_cast_or_null<Llama3Attr>(getScaling()))
    scaleLlama3(llama3, frequencies);
  return frequencies;
}

double RopeAttr::getAttentionFactor() const {
  if (auto yarn = dyn_cast_or_null<YarnAttr>(getScaling()))
    return yarn.getAttentionFactor().getValueAsDouble();
  return 1;
}
