//===- CpuCode.cpp - Kernels to shared objects ----------------------------===//
#include "strata/lib/Target/CpuCode.h"

#include "strata/lib/Target/LinkSharedObject.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace strata;

static const llvm::Triple &getTriple() {
  static const llvm::Triple triple("x86_64-unknown-linux-gnu");
  return triple;
}

/// Null if this LLVM was built without x86.
static std::unique_ptr<llvm::TargetMachine> createMachine(const Processor &processor) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(getTriple(), error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  // A section for each kernel tells which one calls what it must not.
  options.FunctionSections = true;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      getTriple(), processor.level, /*Features=*/"", options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

/// A kernel has no library at hand: loops must not become calls, and no call is taken for a known
/// function.
static llvm::TargetLibraryInfoImpl getNoLibrary() {
  llvm::TargetLibraryInfoImpl library(getTriple());
  library.disableAllFunctions();
  return library;
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  functions.registerPass([] { return llvm::TargetLibraryAnalysis(getNoLibrary()); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

/// The relocatable object, or nothing if this machine can't write objects.
static std::optional<SmallVector<char, 0>> emitObject(llvm::Module &module,
                                                      llvm::TargetMachine &machine) {
  SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager manager;
  manager.add(new llvm::TargetLibraryInfoWrapperPass(getNoLibrary()));
  if (machine.addPassesToEmitFile(manager, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return std::nullopt;
  manager.run(module);
  return object;
}

/// What compilers may always call, and every C library has.
static bool isAllowedCall(StringRef symbol) {
  return symbol == "memcpy" || symbol == "memmove" || symbol == "memset" ||
         symbol == "_GLOBAL_OFFSET_TABLE_"; // set by the linker
}

/// Refuses an object that needs a function from outside, with an error at each kernel that does.
static LogicalResult verifyCalls(ModuleOp kernels, ArrayRef<KernelEntry> entries,
                                 const Processor &processor, StringRef object) {
  auto report = [&](llvm::Error error) {
    return kernels.emitError() << "the kernels' object can't be read: "
                               << llvm::toString(std::move(error));
  };
  auto file =
      llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, "kernels.o"));
  if (!file)
    return report(file.takeError());
  bool allowed = true;
  for (const llvm::object::SectionRef &relocations : (*file)->sections()) {
    auto section = relocations.getRelocatedSection();
    if (!section)
      return report(section.takeError());
    if (*section == (*file)->section_end())
      continue;
    llvm::Expected<StringRef> name = (*section)->getName();
    if (!name)
      return report(name.takeError());
    name->consume_front(".text.");
    std::set<std::string> reported;
    for (const llvm::object::RelocationRef &relocation : relocations.relocations()) {
      llvm::object::symbol_iterator symbol = relocation.getSymbol();
      if (symbol == (*file)->symbol_end())
        continue;
      llvm::Expected<uint32_t> flags = symbol->getFlags();
      if (!flags)
        return report(flags.takeError());
      llvm::Expected<StringRef> callee = symbol->getName();
      if (!callee)
        return report(callee.takeError());
      if (!(*flags & llvm::object::SymbolRef::SF_Undefined) || isAllowedCall(*callee) ||
          !reported.insert(callee->str()).second)
        continue;
      const KernelEntry *entry =
          llvm::find_if(entries, [&](const KernelEntry &e) { return e.symbol == *name; });
      Location location =
          entry == entries.end() ? kernels.getLoc() : func::FuncOp(entry->function).getLoc();
      emitError(location) << "kernel '" << *name << "' calls '" << *callee << "' when compiled for "
                          << processor.level << ", but generated code has to do without";
      allowed = false;
    }
  }
  return success(allowed);
}

FailureOr<std::vector<std::string>> strata::compileKernels(ModuleOp kernels,
                                                           ArrayRef<KernelEntry> entries,
                                                           ArrayRef<Processor> processors) {
  llvm::LLVMContext context;
  bool failedInLLVM = false;
  struct Handler : llvm::DiagnosticHandler {
    Handler(ModuleOp kernels, bool &failed) : kernels(kernels), failed(failed) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
      if (info.getSeverity() != llvm::DS_Error)
        return true; // remarks and warnings of optimisations are of no use to the user of a model
      std::string text;
      llvm::raw_string_ostream stream(text);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      kernels.emitError() << "LLVM can't compile the kernels: " << text;
      failed = true;
      return true;
    }
    ModuleOp kernels;
    bool &failed;
  };
  context.setDiagnosticHandler(std::make_unique<Handler>(kernels, failedInLLVM));

  std::unique_ptr<llvm::Module> module;
  std::vector<std::string> objects;
  for (const Processor &processor : processors) {
    std::unique_ptr<llvm::TargetMachine> machine = createMachine(processor);
    if (!machine)
      return kernels.emitError() << "this LLVM can't compile for " << processor.level, failure();
    if (!module)
      module = lowerKernels(kernels, entries, machine->createDataLayout(), context);
    if (!module)
      return failure();
    std::unique_ptr<llvm::Module> variant = llvm::CloneModule(*module);
    variant->setTargetTriple(getTriple());
    for (llvm::Function &function : *variant) {
      function.addFnAttr("target-cpu", processor.level);
      function.addFnAttr("tune-cpu", processor.tuning);
    }
    optimise(*variant, *machine);
    std::optional<SmallVector<char, 0>> object = emitObject(*variant, *machine);
    if (!object || failedInLLVM)
      return failedInLLVM ? failure()
                          : (kernels.emitError() << "this LLVM can't write objects", failure());
    StringRef bytes(object->data(), object->size());
    if (failed(verifyCalls(kernels, entries, processor, bytes)))
      return failure();
    llvm::Expected<std::string> shared = linkSharedObject(bytes);
    if (!shared)
      return kernels.emitError() << llvm::toString(shared.takeError()), failure();
    objects.push_back(std::move(*shared));
  }
  return objects;
}
