//===- KernelModule.cpp - Names, types and look-up of kernels -------------===//
#include "strata/passes/Lower/KernelBuilder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <array>
#include <cstdio>

using namespace mlir;
using namespace strata;

MemRefType strata::getKernelArgumentType(MemRefType view) {
  auto [strides, offset] = view.getStridesAndOffset();
  MemRefType dense = MemRefType::get(view.getShape(), view.getElementType());
  if (dense.getStridesAndOffset().first == strides)
    return dense;
  auto layout = StridedLayoutAttr::get(view.getContext(), /*offset=*/0, strides);
  return MemRefType::get(view.getShape(), view.getElementType(), layout);
}

MemRefType strata::getCacheElementsType(CacheType cache) {
  return MemRefType::get({ShapedType::kDynamic}, cache.getFields().front().getElementType());
}

MemRefType strata::getIntegersType(MLIRContext *context) {
  return MemRefType::get({ShapedType::kDynamic}, IntegerType::get(context, 32));
}

MemRefType strata::getFloatsType(MLIRContext *context, int64_t width) {
  return MemRefType::get({width}, Float32Type::get(context));
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// bf16, i32, …; nothing for f32, which most arguments are.
static std::string getTypeSuffix(Type elementType) {
  if (elementType.isF32())
    return "";
  std::string text;
  llvm::raw_string_ostream(text) << elementType;
  return text;
}

KernelName &KernelName::word(StringRef word) {
  text += ("_" + word).str();
  return *this;
}

KernelName &KernelName::integer(StringRef label, int64_t value) {
  return word((label + Twine(value)).str());
}

KernelName &KernelName::real(StringRef label, double value) {
  std::array<char, 32> digits;
  for (int precision = 1; precision <= 17; ++precision) {
    std::snprintf(digits.data(), digits.size(), "%.*g", precision, value);
    if (std::strtod(digits.data(), nullptr) == value)
      break;
  }
  // A sign would have to be quoted in symbol names.
  std::string number(digits.data());
  std::replace(number.begin(), number.end(), '-', 'm');
  llvm::erase(number, '+');
  return word((label + number).str());
}

KernelName &KernelName::view(MemRefType type) {
  ArrayRef<int64_t> shape = type.getShape();
  std::string part;
  if (shape.size() > 1 && ShapedType::isDynamic(shape.front()))
    shape = shape.drop_front();
  else
    part = "of";
  part +=
      llvm::join(llvm::map_range(shape,
                                 [](int64_t size) {
                                   return ShapedType::isDynamic(size) ? "n" : std::to_string(size);
                                 }),
                 "x");
  if (!type.getLayout().isIdentity()) {
    SmallVector<int64_t> strides = type.getStridesAndOffset().first;
    part += "s" + llvm::join(llvm::map_range(ArrayRef(strides).drop_back(),
                                             [](int64_t stride) { return std::to_string(stride); }),
                             "x");
  }
  return word(part + getTypeSuffix(type.getElementType()));
}

KernelName &KernelName::cache(CacheType cache) {
  for (CacheFieldAttr field : cache.getFields()) {
    StringRef role = field.isKey() ? (field.isValue() ? "kv" : "k") : "v";
    std::string heads = field.getHeads() == 1 ? "" : std::to_string(field.getHeads()) + "x";
    word((role + heads + Twine(field.getWidth()) + getTypeSuffix(field.getElementType())).str());
  }
  integer("p", cache.getPageSize());
  return cache.getPlanar() ? word("planar") : *this;
}

std::string KernelName::str() const {
  constexpr size_t longest = 96, kept = 72;
  if (text.size() <= longest)
    return text;
  return text.substr(0, kept) + "_h" + llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// Look-up
//===----------------------------------------------------------------------===//

SymbolRefAttr strata::getOrBuildKernel(ModuleOp kernels, const KernelName &name,
                                       ArrayRef<Type> arguments,
                                       llvm::function_ref<void(KernelBuilder &)> build) {
  MLIRContext *context = kernels.getContext();
  std::string symbol = name.str();
  if (!kernels.lookupSymbol(symbol)) {
    SmallVector<Type> inputs(arguments);
    inputs.append(2, IndexType::get(context));
    OpBuilder builder = OpBuilder::atBlockEnd(kernels.getBody());
    auto function = func::FuncOp::create(builder, kernels.getLoc(), symbol,
                                         FunctionType::get(context, inputs, {}));
    KernelBuilder body(function);
    build(body);
    func::ReturnOp::create(body);
  }
  return SymbolRefAttr::get(kernels.getSymNameAttr(), {FlatSymbolRefAttr::get(context, symbol)});
}
