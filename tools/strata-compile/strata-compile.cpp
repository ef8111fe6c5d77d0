//===- strata-compile.cpp - From a model's MLIR to a package --------------===//
#include "CommandLine.h"

#include "strata/InitAll.h"
#include "strata/lib/Support/File.h"
#include "strata/lib/Target/WritePackage.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace strata;

/// Writes a module of a phase before emit.
static LogicalResult writeModule(ModuleOp module, const CommandLine &commandLine) {
  std::string content;
  if (commandLine.bytecode) {
    content = getBytecode(module);
  } else {
    llvm::raw_string_ostream stream(content);
    module.print(stream);
    stream << "\n";
  }
  if (commandLine.output == "-") {
    llvm::outs() << content;
    return success();
  }
  Status status = writeFile(commandLine.output, content);
  if (status.ok())
    return success();
  llvm::WithColor::error() << status.message() << "\n";
  return failure();
}

static LogicalResult compile(const CommandLine &commandLine) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(commandLine.input, &error);
  if (!file) {
    llvm::WithColor::error() << error << "\n";
    return failure();
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(*sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return failure();

  std::string inputModule;
  if (commandLine.keepInputModule && commandLine.from == Phase::Input)
    inputModule = getBytecode(*module);

  NumberFormat format = getDefaultFormat(*module);
  PipelineOptions options;
  options.compute = commandLine.compute.value_or(format);
  options.cache = commandLine.cache.value_or(format);
  options.pageSize = commandLine.pageSize;
  PassManager manager(&context, ModuleOp::getOperationName());
  buildPipeline(manager, options, commandLine.from, commandLine.to);
  if (failed(manager.run(*module)))
    return failure();
  if (commandLine.to != Phase::Emit)
    return writeModule(*module, commandLine);
  return writePackage(*module, commandLine.processors, inputModule, commandLine.output);
}

int main(int argc, char **argv) {
  std::optional<CommandLine> commandLine = parseCommandLine(argc, argv);
  return commandLine && succeeded(compile(*commandLine)) ? EXIT_SUCCESS : EXIT_FAILURE;
}
