//===- TransferVerifier.h - Is what commands use there? ---------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_TRANSFERVERIFIER_H
#define STRATA_RUNTIME_CORE_TRANSFERVERIFIER_H

#include "strata/runtime/core/ManifestVerifier.h"

#include <map>
#include <vector>

namespace strata::rt {

/// The part of `verifyManifest` that is about the order of commands: near memory holds what a
/// command reads, nothing that is on its way is touched, and a step ends when all transfers have.
/// All else was found to be sound.
class TransferChecker : public ManifestChecker {
public:
  explicit TransferChecker(const package::Manifest &manifest);
  bool run();

private:
  /// What was started under a number.
  enum class Kind { Gather, WriteBack, Weight, Cache };
  struct Transfer {
    Kind kind;
    int32_t index; ///< of its hot set, cache or weight
  };
  /// Resolutions of a step are numbered; 0: none yet.
  struct Table {
    int64_t resolution = 0;
    bool isSpeculation = false;
  };
  struct HotSet {
    int64_t gathered = 0; ///< the resolution
    bool isComing = false;
    bool wasRead = false;
  };
  /// A weight slot, or a staging pool.
  struct Room {
    int32_t content = -1; ///< a weight, or a cache
    bool isComing = false;
    int64_t leaving = 0; ///< write-backs that read it
    int32_t leavingBy = -1;
  };
  struct Cache {
    bool isStaged = false;  ///< its stage has records that don't go home yet
    bool isLeaving = false; ///< a write-back runs
  };

  bool checkCommand(const package::CommandEntry &entry);
  bool checkResolve(const package::Resolve &resolve);
  bool checkGather(const package::Gather &gather);
  bool checkWriteBack(const package::WriteBack &back);
  bool checkReload(const package::Reload &reload);
  bool checkWait(const package::Wait &wait);
  bool checkSelect(const package::Select &select);
  bool checkEnd();

  bool start(int32_t transfer, Kind kind, int32_t index);
  bool useWeight(int32_t weight);
  bool useCache(int32_t cache);
  bool useProduct(const package::Product *product);
  bool useLaunch(const package::Launch *launch, bool needsAll);
  bool useHotSet(int32_t hotSet, bool needsAll);
  void finishReading(const package::Launch &launch);
  Room *poolOf(int32_t cache);
  const package::Weight &weight(int32_t index) const {
    return *manifest_.weights()->Get(uint32_t(index));
  }

  int64_t resolutions_ = 0;
  std::map<int32_t, Transfer> started_; ///< by number: not waited for yet
  std::vector<Table> tables_;
  std::vector<HotSet> hotSets_;
  std::vector<Room> weightSlots_, pools_;
  std::vector<Cache> caches_;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_TRANSFERVERIFIER_H
