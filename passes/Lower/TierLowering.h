//===- TierLowering.h - From ops of tier to commands ------------*- C++ -*-===//
#ifndef STRATA_PASSES_LOWER_TIERLOWERING_H
#define STRATA_PASSES_LOWER_TIERLOWERING_H

#include "strata/dialects/Tier/IR.h"
#include "strata/passes/Lower/CommandBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace strata {

/// Lowers what moves between tiers. Homes, hot sets, tables and slots become numbers; what kernels
/// read becomes a cache of the lowered step, or rows in near memory (strata.near_rows).
class TierLowering {
public:
  TierLowering(mlir::func::FuncOp newStep, CommandBuilder &commands)
      : newStep(newStep), commands(commands) {}

  /// The caches among a step's arguments, wherever they lie.
  static CacheType getCacheOf(mlir::Type argument);
  /// Takes an argument of the step that is a table or a hot set. False for others.
  bool takeArgument(mlir::BlockArgument argument);
  /// Says that an argument of the step is the home of cache `number`.
  void takeHome(mlir::BlockArgument argument, int64_t number) { homes[argument] = number; }

  llvm::LogicalResult lowerOp(tier::ResolveOp op);
  llvm::LogicalResult lowerOp(tier::SpeculateOp op);
  llvm::LogicalResult lowerOp(tier::SlotsOp op);
  llvm::LogicalResult lowerOp(tier::SplitOp op);
  llvm::LogicalResult lowerOp(tier::GatherOp op);
  llvm::LogicalResult lowerOp(tier::WaitOp op);
  llvm::LogicalResult lowerOp(tier::ViewOp op);
  llvm::LogicalResult lowerOp(tier::PresentOp op);
  llvm::LogicalResult lowerOp(tier::HomeOp op);
  llvm::LogicalResult lowerOp(tier::StageOp op);
  llvm::LogicalResult lowerOp(tier::WriteBackOp op);
  llvm::LogicalResult lowerOp(tier::SlotOp op);
  llvm::LogicalResult lowerOp(tier::ReloadOp op);
  llvm::LogicalResult lowerOp(tier::ReleaseOp op);
  llvm::LogicalResult lowerOp(tier::StreamOp op);

  /// The engine that brings the blocks of a cache while it is scored; nothing for other caches.
  std::optional<int64_t> getStreamEngine(mlir::Value cache) const;

  /// Writes what the numbers stand for into the module, if it was placed.
  void finish(mlir::ModuleOp module) const;

private:
  enum class Residence { Whole, Rows, Reloaded, Streamed }; ///< as in strata-rt/package.fbs
  struct Cache {
    Residence residence = Residence::Whole;
    int64_t staging = -1;
  };
  struct Plan {
    int64_t table = 0;
    mlir::Value slots, hits, misses; ///< buffers; none of a speculation
  };
  /// What a transfer will give.
  struct Transfer {
    int64_t number = 0;
    int64_t hotSet = -1, home = -1;
    mlir::Value lowered; ///< of a reload: the weight or cache
    int64_t root = -1;   ///< of a reload: the piece of near memory
  };

  mlir::FailureOr<int64_t> getEngine(mlir::Operation *op, llvm::StringRef name) const;
  /// A command of a layer, which ops of tier don't say.
  template <typename Op, typename... Args> void command(mlir::Attribute layer, Args &&...args);
  llvm::LogicalResult setWidth(mlir::Operation *op, int64_t table, mlir::Value records);
  Transfer &addTransfer(mlir::Value pending);
  mlir::Value getNearRows(NearKind kind, int64_t index, mlir::Type cache);
  mlir::Value makeArray(int64_t k);
  mlir::Value getCache(int64_t number) const {
    return mlir::func::FuncOp(newStep).getArgument(unsigned(number) + 1);
  }
  CacheType getCacheType(int64_t number) const {
    return mlir::cast<CacheType>(getCache(number).getType());
  }
  Cache &getCacheState(int64_t number) { return caches[number]; }
  llvm::LogicalResult lowerView(mlir::Operation *op, mlir::Value hotSet);

  mlir::func::FuncOp newStep;
  CommandBuilder &commands;
  llvm::DenseMap<mlir::Value, int64_t> homes, hotSets, tables; ///< numbers
  llvm::DenseMap<mlir::Value, int64_t> rooms; ///< of slots: the tier.slot that they began as
  llvm::DenseMap<mlir::Value, int64_t> roomOfLowered; ///< of weights and caches in them
  llvm::DenseMap<mlir::Value, Plan> plans;
  llvm::DenseMap<mlir::Value, Transfer> transfers;
  llvm::DenseMap<mlir::Value, mlir::Value> weightHomes;
  std::map<int64_t, Cache> caches;
  std::map<int64_t, int64_t> streamEngines; ///< by cache
  std::map<std::pair<NearKind, int64_t>, mlir::Value> nearRows;
  int64_t roomCount = 0, transferCount = 0;
  // Tables of the manifest, and the numbers that rooms have there.
  llvm::SmallVector<int64_t> slotTables, hotSetPairs, stagingPools, blockBuffers, weightSlots;
  std::map<int64_t, int64_t> weightSlotOfRoom, poolOfRoom;
  std::map<std::pair<int64_t, int64_t>, int64_t> buffersOfRooms;
};

} // namespace strata

#endif // STRATA_PASSES_LOWER_TIERLOWERING_H
