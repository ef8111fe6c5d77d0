//===- strata-compile.cpp - From a model's MLIR to a package --------------===//
#include "CommandLine.h"

#include "strata/InitAll.h"
#include "strata/lib/Support/File.h"
#include "strata/lib/Target/EmitPackage.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace strata;

static std::string getText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << "\n";
  return text;
}

static LogicalResult write(StringRef content, const std::string &path) {
  if (path == "-") {
    llvm::outs() << content;
    return success();
  }
  Status status = writeFile(path, content);
  if (!status.ok())
    llvm::WithColor::error() << status.message() << "\n";
  return success(status.ok());
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
  context.printOpOnDiagnostic(false); // an op may be a whole model
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
    return write(commandLine.bytecode ? getBytecode(*module) : getText(*module),
                 commandLine.output);
  FailureOr<std::string> package = emitPackage(*module, commandLine.processors, inputModule);
  return failed(package) ? failure() : write(*package, commandLine.output);
}

int main(int argc, char **argv) {
  std::optional<CommandLine> commandLine = parseCommandLine(argc, argv);
  return commandLine && succeeded(compile(*commandLine)) ? EXIT_SUCCESS : EXIT_FAILURE;
}
