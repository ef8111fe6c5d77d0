//===- strata-compile.cpp - From a model's MLIR to a package --------------===//
#include "CommandLine.h"
#include "Diagnostics.h"
#include "Output.h"

#include "../LlvmProgram.h"

#include "strata/InitAll.h"
#include "strata/lib/Report/Report.h"
#include "strata/lib/Target/EmitPackage.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace strata;

/// On standard error, as diagnostics.
static LogicalResult showRemarks(MLIRContext &context, const std::string &filter) {
  if (filter.empty())
    return success();
  // A kind without a filter of its own, even an empty one, would not be shown.
  remark::RemarkCategories categories{filter, "", "", "", ""};
  return remark::enableOptimizationRemarks(context, nullptr,
                                           std::make_unique<remark::RemarkEmittingPolicyAll>(),
                                           categories, /*printAsEmitRemarks=*/true);
}

static LogicalResult runPipeline(ModuleOp module, const PipelineOptions &options, Phase from,
                                 Phase to) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  buildPipeline(manager, options, from, to);
  return manager.run(module);
}

/// Other files would be shown on the terminal as the source line of the parser's error, and bytes
/// have no line.
static LogicalResult checkIsModule(const llvm::MemoryBuffer &file) {
  llvm::StringRef text = file.getBuffer();
  if (isBytecode(file) || !text.take_front(1 << 16).contains('\0'))
    return success();
  llvm::WithColor::error() << file.getBufferIdentifier() << ": expected a module but got "
                           << (text.starts_with("STRATAPK") ? "a package" : "binary data") << "\n";
  return failure();
}

static LogicalResult compile(const CommandLine &commandLine) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(commandLine.input, &error);
  if (!file) {
    llvm::WithColor::error() << error << "\n";
    return failure();
  }
  if (failed(checkIsModule(*file)))
    return failure();
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false); // an op may be a whole model
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->setDiagHandler(printDiagnostic);
  sources->AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(*sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return failure();

  if (commandLine.hasFormats && (*module)->hasAttr("tier.machine")) {
    llvm::WithColor::error() << "--compute, --cache and --page-size: the module is placed for "
                                "formats of its own\n";
    return failure();
  }
  if (failed(showRemarks(context, commandLine.remarks)))
    return failure();

  PipelineOptions options = getPipelineOptions(commandLine, *module);
  if (const std::optional<ReportRequest> &request = commandLine.report) {
    FailureOr<Report> report = makeReport(*module, request->options, options, commandLine.from);
    return failed(report) ? failure()
                          : write(writeReport(*report, request->format), commandLine.output);
  }
  // What --device=reference runs is the model as it came, unless the compilation was told to
  // compute something else.
  bool isChanged = options.schedule != "declared" || options.importRows || options.exportRows;
  Phase kept = isChanged ? Phase::Share : Phase::Input;
  std::string inputModule;
  Phase done = commandLine.from;
  if (commandLine.keepInputModule && done <= kept && commandLine.to == Phase::Emit) {
    if (failed(runPipeline(*module, options, done, kept)))
      return failure();
    inputModule = getBytecode(*module);
    done = kept;
  }
  if (failed(runPipeline(*module, options, done, commandLine.to)))
    return failure();
  if (commandLine.to != Phase::Emit)
    return write(commandLine.bytecode ? getBytecode(*module) : getText(*module),
                 commandLine.output);
  FailureOr<std::string> package = emitPackage(*module, commandLine.processors, inputModule);
  return failed(package) ? failure() : write(*package, commandLine.output);
}

int main(int argc, char **argv) {
  beginLlvmProgram();
  std::optional<CommandLine> commandLine = parseCommandLine(argc, argv);
  return commandLine && succeeded(compile(*commandLine)) ? EXIT_SUCCESS : EXIT_FAILURE;
}
