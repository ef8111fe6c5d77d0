//===- Output.cpp - Where strata-compile writes ---------------------------===//
#include "Output.h"

#include "strata/lib/Support/File.h"

#include "llvm/Support/WithColor.h"

using namespace mlir;

std::string strata::getText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << "\n";
  return text;
}

LogicalResult strata::write(StringRef content, const std::string &path) {
  if (path == "-") {
    llvm::outs() << content;
    return success();
  }
  Status status = writeFile(path, content);
  if (!status.ok())
    llvm::WithColor::error() << status.message() << "\n";
  return success(status.ok());
}
