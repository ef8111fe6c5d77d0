//===- strata-import.cpp - From a checkpoint to a module ------------------===//
#include "../LlvmProgram.h"

#include "strata/lib/Import/ImportModel.h"
#include "strata/lib/Support/File.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace strata;
namespace cl = llvm::cl;

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs()) << message << '\n';
  return 1;
}

static std::string serialise(mlir::ModuleOp module, bool bytecode) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (bytecode) {
    // Writing to a string can't fail, and no older version of the format is asked for.
    (void)mlir::writeBytecodeToFile(module, stream);
  } else {
    module.print(stream);
    stream << '\n';
  }
  return text;
}

static int write(const std::string &content, const std::string &path) {
  if (path != "-") {
    Status status = writeFile(path, content);
    return status.ok() ? 0 : fail(status.message());
  }
  llvm::outs() << content;
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return 0;
  std::string reason = llvm::outs().error().message();
  llvm::outs().clear_error();
  return fail("standard output: " + reason);
}

int main(int argc, char **argv) {
  beginLlvmProgram();
  llvm::InitLLVM init(argc, argv);
  cl::OptionCategory category("Options of strata-import");
  cl::opt<std::string> path(cl::Positional, cl::desc("<folder with config.json>"),
                            cl::cat(category));
  cl::opt<std::string> output("o", cl::desc("Output file; - is standard output"),
                              cl::value_desc("file"), cl::init("-"), cl::cat(category));
  cl::opt<bool> noWeights("no-weights",
                          cl::desc("Do not look at the weights; the folder may be a config.json"),
                          cl::cat(category));
  cl::opt<bool> bytecode("emit-bytecode", cl::desc("Write bytecode instead of text"),
                         cl::cat(category));
  cl::opt<int64_t> pageSize("page-size", cl::desc("Tokens in a page of each cache (default 64)"),
                            cl::value_desc("n"), cl::init(64), cl::cat(category));
  cl::HideUnrelatedOptions(category);
  if (!parseOptions(argc, argv, "Imports a checkpoint in Hugging Face's format\n"))
    return 1;
  if (path.empty())
    return fail("expected a folder with config.json; see --help");

  mlir::MLIRContext context;
  std::vector<importer::Note> notes;
  ImportOptions options;
  options.pageSize = pageSize;
  options.withWeights = !noWeights;
  ImportedModel module = importFolder(context, path, options, notes);
  for (const importer::Note &note : notes)
    (note.kind == importer::Note::Kind::Warning ? llvm::WithColor::warning(llvm::errs())
                                                : llvm::WithColor::remark(llvm::errs()))
        << note.text << '\n';
  if (!module.ok())
    return fail(module.status().message());
  return write(serialise(**module, bytecode), output);
}
