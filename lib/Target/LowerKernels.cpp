//===- LowerKernels.cpp - Kernels to LLVM IR ------------------------------===//
#include "strata/lib/Target/LowerKernels.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"

using namespace mlir;
using namespace strata;

static void registerInterfaces(MLIRContext &context) {
  DialectRegistry registry;
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  registerConvertToLLVMDependentDialectLoading(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
}

/// Everything to the LLVM dialect.
static void buildPipeline(PassManager &manager) {
  // Transfers of more than one dimension become loops over rows.
  manager.addPass(createConvertVectorToSCFPass());
  manager.addPass(createSCFToControlFlowPass());
  // Views become index computations, and those (affine.apply) plain arithmetic.
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  // Rounding to bf16 in integer arithmetic: the same bits on every processor, and no call of a
  // compiler's library.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  manager.addPass(arith::createArithExpandOpsPass(expand));
  // This pass lowers transfers, contractions and masks, which the conversion below doesn't know.
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

static LogicalResult verifySignature(func::FuncOp kernel) {
  ArrayRef<Type> arguments = kernel.getArgumentTypes();
  auto isIndex = [](Type type) { return isa<IndexType>(type); };
  if (kernel.isExternal())
    return kernel.emitError() << "kernel '" << kernel.getSymName() << "' has no body";
  if (arguments.size() < 2 || !llvm::all_of(arguments.take_back(2), isIndex) ||
      kernel.getNumResults() != 0)
    return kernel.emitError()
           << "kernel '" << kernel.getSymName()
           << "': expected two last arguments of type index and no results but got "
           << kernel.getFunctionType();
  for (auto [number, argument] : llvm::enumerate(arguments.drop_back(2))) {
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    auto type = dyn_cast<MemRefType>(argument);
    if (!type || failed(type.getStridesAndOffset(strides, offset)) || offset != 0 ||
        llvm::any_of(strides, ShapedType::isDynamic))
      return kernel.emitError() << "kernel '" << kernel.getSymName() << "': expected argument "
                                << number
                                << " to be a memref with static strides and no offset but got "
                                << argument;
  }
  return success();
}

/// Conversions leave what they don't know; the translation would name neither the kernel nor all
/// such ops.
static LogicalResult verifyLowered(ModuleOp module) {
  bool lowered = true;
  for (Operation &function : *module.getBody())
    function.walk([&](Operation *op) {
      if (isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect()))
        return;
      auto name = function.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
      op->emitError() << "kernel '" << (name ? name.getValue() : "?") << "' uses " << op->getName()
                      << ", which can't be lowered to LLVM IR";
      lowered = false;
    });
  return success(lowered);
}

/// Calls `body` with memref descriptors made of the pointers in `arguments`; all else in them is
/// constant.
static void emitEntry(KernelEntry entry, llvm::Function *body) {
  llvm::Module &module = *body->getParent();
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::getUnqual(context);
  auto *integer = llvm::Type::getInt64Ty(context);
  auto *type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, integer, integer}, false);
  auto *function =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, entry.symbol, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);

  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  SmallVector<llvm::Value *> values;
  auto addConstant = [&](int64_t value) {
    values.push_back(llvm::ConstantInt::getSigned(integer, value));
  };
  for (auto [number, argument] : llvm::enumerate(entry.function.getArgumentTypes().drop_back(2))) {
    auto memref = cast<MemRefType>(argument);
    SmallVector<int64_t> strides;
    int64_t offset;
    (void)memref.getStridesAndOffset(strides, offset); // verifySignature has seen that it works
    llvm::Value *slot = builder.CreateConstInBoundsGEP1_64(pointer, function->getArg(0), number);
    llvm::Value *base = builder.CreateLoad(pointer, slot);
    values.append({base, base});
    addConstant(0);
    for (int64_t size : memref.getShape())
      addConstant(ShapedType::isDynamic(size) ? std::numeric_limits<int64_t>::max() : size);
    for (int64_t stride : strides)
      addConstant(stride);
  }
  values.append({function->getArg(1), function->getArg(2)});
  builder.CreateCall(body, values);
  builder.CreateRetVoid();
}

std::unique_ptr<llvm::Module> strata::lowerKernels(ModuleOp kernels, ArrayRef<KernelEntry> entries,
                                                   const llvm::DataLayout &layout,
                                                   llvm::LLVMContext &llvmContext) {
  for (KernelEntry entry : entries)
    if (failed(verifySignature(entry.function)))
      return nullptr;

  MLIRContext &context = *kernels.getContext();
  registerInterfaces(context);
  OwningOpRef<ModuleOp> lowered = kernels.clone();
  (*lowered)->setAttr(LLVM::LLVMDialect::getDataLayoutAttrName(),
                      StringAttr::get(&context, layout.getStringRepresentation()));
  PassManager manager(&context, ModuleOp::getOperationName());
  buildPipeline(manager);
  if (failed(manager.run(*lowered)) || failed(verifyLowered(*lowered)))
    return nullptr;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(*lowered, llvmContext, "kernels");
  if (!module) {
    kernels.emitError() << "the kernels can't be translated to LLVM IR";
    return nullptr;
  }

  SmallVector<llvm::Function *> bodies;
  for (KernelEntry entry : entries)
    bodies.push_back(module->getFunction(entry.function.getSymName()));
  // The names belong to the entries.
  for (llvm::GlobalObject &object : module->global_objects()) {
    if (object.isDeclaration())
      continue;
    object.setLinkage(llvm::GlobalValue::InternalLinkage);
    object.setName("");
  }
  for (auto [entry, body] : llvm::zip_equal(entries, bodies)) {
    body->addFnAttr(llvm::Attribute::AlwaysInline);
    emitEntry(entry, body);
  }
  return module;
}
