//===- InputModule.h - A module of the phase input --------------*- C++ -*-===//
#ifndef STRATA_LIB_REFERENCE_INPUTMODULE_H
#define STRATA_LIB_REFERENCE_INPUTMODULE_H

#include "strata/dialects/Strata/IR.h"
#include "strata/runtime/core/Executor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace strata::reference {

/// Parses and verifies MLIR text or bytecode; an error has the text of the first diagnostic.
/// `context` gets the dialects of the phase `input`.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> parseInputModule(llvm::StringRef bytes,
                                                             mlir::MLIRContext &context);

/// The function @step of a module, checked: one block; the first argument is a batch, the others
/// are caches, then rows and then activations; only ops that the reference executor knows.
Expected<mlir::func::FuncOp> findStep(mlir::ModuleOp module);
/// The arguments of a checked @step that are caches, and those that are rows: they stand in for the
/// first indexers.
llvm::MutableArrayRef<mlir::BlockArgument> getCaches(mlir::func::FuncOp step);
llvm::MutableArrayRef<mlir::BlockArgument> getRows(mlir::func::FuncOp step);
/// The arguments of a checked @step that are f32 tensors [tokens, …]: a stage of a pipeline takes
/// them from the stage below.
llvm::MutableArrayRef<mlir::BlockArgument> getActivations(mlir::func::FuncOp step);

/// What a session must know of a model. An error if the module lacks it, or if @step does not
/// return the logits and then each cache, or takes activations.
Expected<rt::ModelDescription> describeModel(mlir::ModuleOp module);

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_INPUTMODULE_H
