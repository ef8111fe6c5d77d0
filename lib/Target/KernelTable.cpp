//===- KernelTable.cpp - The kernels that a package exports ---------------===//
#include "strata/lib/Target/KernelTable.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace strata;

/// Everything that a kernel's code depends on.
static std::string getText(func::FuncOp kernel) {
  OwningOpRef<func::FuncOp> nameless = kernel.clone();
  nameless->setSymName("");
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*nameless)->print(stream, OpPrintingFlags().useLocalScope().printGenericOpForm());
  return text;
}

std::string KernelTable::makeSymbol(StringRef name) {
  std::string symbol;
  for (char character : name)
    symbol += llvm::isAlnum(character) ? character : '_';
  std::string unique = symbol;
  for (int copy = 2; !symbols.insert(unique).second; ++copy)
    unique = symbol + "_" + std::to_string(copy);
  return unique;
}

FailureOr<int32_t> KernelTable::getNumber(Operation *command, SymbolRefAttr name) {
  auto [byName, isNewName] = numbersByName.try_emplace(name, 0);
  if (!isNewName)
    return byName->second;
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(command, name);
  if (!function)
    return command->emitOpError() << "expected " << name << " to be a func.func";
  auto parent = function->getParentOfType<ModuleOp>();
  if (module && module != parent)
    return command->emitOpError() << "expected all kernels in one module but got " << name;
  module = parent;
  auto [byText, isNewText] = numbersByText.try_emplace(getText(function), int32_t(entries.size()));
  if (isNewText)
    entries.push_back({function, makeSymbol(function.getSymName())});
  return byName->second = byText->second;
}
