//===- CommandWriter.h - Ops of a lowered program as commands ---*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_COMMANDWRITER_H
#define STRATA_LIB_TARGET_COMMANDWRITER_H

#include "strata/lib/Target/Bindings.h"
#include "strata/lib/Target/KernelTable.h"

#include <vector>

namespace strata {

/// Writes commands into the buffer of a manifest.
class CommandWriter {
public:
  CommandWriter(flatbuffers::FlatBufferBuilder &buffer, Bindings &bindings, KernelTable &kernels)
      : buffer(buffer), bindings(bindings), kernels(kernels) {}

  /// Appends the command that an op of the entry point stands for. Buffers, views, weights and the
  /// like stand for none; an op that is neither is an error.
  mlir::LogicalResult write(mlir::Operation *op);

  const std::vector<flatbuffers::Offset<package::CommandEntry>> &getEntries() const {
    return entries;
  }
  int32_t getIndexerCount() const { return indexers; }
  int32_t getMixtureCount() const { return mixtures; }

private:
  mlir::LogicalResult append(LaunchOp op);
  mlir::LogicalResult append(LaunchRopeTableOp op);
  mlir::LogicalResult append(LaunchProductOp op);
  mlir::LogicalResult append(LaunchGatedProductOp op);
  mlir::LogicalResult append(LaunchHeadAttentionOp op);
  mlir::LogicalResult append(LaunchPartialScoresOp op);
  mlir::LogicalResult append(LaunchGroupByExpertOp op);
  mlir::LogicalResult append(LaunchGroupedProductOp op);
  mlir::LogicalResult append(LaunchRouteOp op);
  mlir::LogicalResult append(LaunchSelectOp op);
  mlir::LogicalResult append(LaunchImportRowsOp op);
  mlir::LogicalResult append(LaunchRecordsOp op);
  mlir::LogicalResult append(LaunchResolveOp op);
  mlir::LogicalResult append(LaunchGatherOp op);
  mlir::LogicalResult append(LaunchWriteBackOp op);
  mlir::LogicalResult append(LaunchReloadOp op);
  mlir::LogicalResult append(LaunchWaitOp op);
  template <typename Table>
  void add(mlir::Operation *op, package::Command kind, flatbuffers::Offset<Table> table);

  mlir::FailureOr<package::Argument> getKernelArgument(mlir::Operation *op, mlir::Value value,
                                                       mlir::Type wanted);
  /// A launch of a kernel, as a command or as a part of one.
  mlir::FailureOr<flatbuffers::Offset<package::Launch>>
  makeLaunch(mlir::Operation *op, mlir::SymbolRefAttr name, mlir::ValueRange operands,
             package::Size items, int64_t grain);
  /// A product of HeadAttention or PartialScores; `input` may be null: then there is none.
  template <typename Op>
  mlir::FailureOr<flatbuffers::Offset<package::Product>>
  makeHeadProduct(Op op, mlir::Value input, mlir::Value weight, mlir::Value output,
                  bool transposed);
  /// A kernel that combines gate and up, element by element.
  mlir::FailureOr<int32_t> getGateKernel(mlir::Operation *op, mlir::SymbolRefAttr name);
  /// A bias or a correction: −1 where there is none.
  mlir::FailureOr<int32_t> getOptionalVector(mlir::Operation *op, mlir::Value value);

  flatbuffers::FlatBufferBuilder &buffer;
  Bindings &bindings;
  KernelTable &kernels;
  std::vector<flatbuffers::Offset<package::CommandEntry>> entries;
  int32_t indexers = 0, mixtures = 0;
};

} // namespace strata

#endif // STRATA_LIB_TARGET_COMMANDWRITER_H
