//===- ManifestVerifier.h - Is a manifest sound? ----------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_MANIFESTVERIFIER_H
#define STRATA_RUNTIME_CORE_MANIFESTVERIFIER_H

#include "strata-rt/package_generated.h"
#include "strata/lib/Support/Status.h"

#include <string>
#include <type_traits>

namespace strata::rt {

/// Checks a manifest that is a well-formed FlatBuffer: all that class Package promises but what
/// concerns the file's other bytes. Every vector, string and struct that a reader needs is there
/// (only `scale_name` may be missing). Errors are StatusCode::Corrupt and name the entry.
Status verifyManifest(const package::Manifest &manifest);

/// The sizes beyond which a manifest is refused. They keep every sum and product of the executor
/// within 63 bits, for steps of up to kMaxStepTokens tokens and pools of up to 2^31 pages.
constexpr int64_t kMaxExtent = int64_t(1) << 31;     ///< a dimension, a stride, a factor of a size
constexpr int64_t kMaxTotalBytes = int64_t(1) << 40; ///< all slots: each factor, summed
constexpr int64_t kMaxWeightElements = int64_t(1) << 46; ///< all weights
constexpr int64_t kMaxWeightTensors = int64_t(1) << 20;  ///< all weights, each tensor of a stack
constexpr int64_t kMaxPageBytes = int64_t(1) << 31;      ///< one page of all caches
constexpr int64_t kMaxExperts = int64_t(1) << 16;
constexpr int64_t kMaxExpertsPerToken = int64_t(1) << 10;
constexpr int64_t kMaxProductParts = 64;
constexpr int64_t kMaxRowWidth = int64_t(1) << 20; ///< k of an indexer
constexpr int64_t kMaxHotSetSlots = int64_t(1) << 30;

/// Says what is wrong with the first thing that is. Checks return false when they fail, so that
/// they chain with &&.
class ManifestChecker {
public:
  explicit ManifestChecker(const package::Manifest &manifest) : manifest_(manifest) {}
  const std::string &error() const { return error_; }

protected:
  /// `what` is the message without the entry that `enter` named.
  bool fail(const std::string &what);
  /// For messages that are put together write `condition || fail(…)`: few of them are ever needed.
  bool check(bool condition, const char *what) { return condition || fail(what); }
  bool check(bool condition, const char *thing, const char *what) {
    return condition || fail(thing + std::string(": ") + what);
  }
  bool checkRange(int64_t value, int64_t least, int64_t most, const char *what);
  template <typename Enum> bool checkEnum(Enum value, Enum most, const char *what) {
    return checkRange(int64_t(value), 0, int64_t(most), what);
  }
  /// A vector that is there. FlatBuffers' own verifier looks at the alignment of its length alone.
  template <typename T> bool checkAligned(const flatbuffers::Vector<T> *vector, const char *thing) {
    constexpr size_t kAlignment = alignof(std::remove_const_t<std::remove_pointer_t<T>>);
    return check(vector, (std::string(thing) + " are missing").c_str()) &&
           check(vector->size() == 0 ||
                     reinterpret_cast<uintptr_t>(vector->Data()) % kAlignment == 0,
                 thing, "expected aligned entries");
  }
  /// Names the entry that following messages are about.
  void enter(std::string entry) { entry_ = std::move(entry); }
  /// What `checkPiece` says; messages name `piece` after the entry meanwhile.
  template <typename Check> bool inPiece(const std::string &piece, Check checkPiece) {
    std::string outer = entry_;
    entry_ += ": " + piece;
    bool result = checkPiece();
    entry_ = std::move(outer);
    return result;
  }

  const package::Manifest &manifest_;

private:
  std::string entry_, error_;
};

/// The part of `verifyManifest` that is about tiers, and what of caches and weights lies where.
class TierChecker : public ManifestChecker {
public:
  using ManifestChecker::ManifestChecker;
  bool run();

private:
  bool checkTiers();
  bool checkEngines();
  bool checkHotSets();
  bool checkCaches();
  bool checkWeights();
};

/// The part of `verifyManifest` that is about commands and the logits; all else was found to be
/// sound.
class CommandChecker : public ManifestChecker {
public:
  using ManifestChecker::ManifestChecker;
  bool run();

private:
  /// A linear size without an upper bound on its value: wide enough for products of two factors.
  struct Linear;
  bool checkCommand(const package::CommandEntry &entry);
  bool checkCost(const package::CommandCost &cost);
  bool check(const package::Launch &launch);
  bool check(const package::RopeTable &rope);
  bool check(const package::Product &product);
  bool check(const package::GroupByExpert &group);
  bool check(const package::GroupedProduct &product);
  bool check(const package::Route &route);
  bool check(const package::Select &select);
  bool check(const package::ImportRows &import);
  bool check(const package::GatedProduct &product);
  bool check(const package::HeadAttention &attention);
  bool check(const package::PartialScores &partial);
  // Those of tiers: TierVerifier.cpp.
  bool check(const package::Records &records);
  bool check(const package::Resolve &resolve);
  bool check(const package::Gather &gather);
  bool check(const package::WriteBack &back);
  bool check(const package::Reload &reload);
  bool check(const package::Wait &wait);
  using ManifestChecker::check;

  bool checkSize(const package::Size *size, const char *what);
  bool checkKernel(int32_t kernel);
  bool checkArgument(const package::Argument &argument, const char *what);
  bool checkTierArgument(const package::Argument &argument, const char *what);
  bool checkNearCache(int32_t cache, const char *what);
  bool checkBlocks(const package::Launch &launch, int64_t itemsOfToken);
  bool checkHotSet(int32_t hotSet, const package::Launch &launch);
  bool checkTransfer(int32_t engine, int32_t transfer);
  bool checkWeight(int32_t weight, const char *what);
  bool checkVector(int32_t weight, int64_t elements, const char *what);
  bool checkMatrices(int32_t weight, int64_t members, int64_t rows, int64_t columns,
                     const char *what);
  bool checkArray(const package::Argument *argument, const package::Size &entries,
                  const char *what);
  bool checkView(const package::View *view, const package::Size &rows, int64_t batch, int64_t width,
                 const char *what);
  bool checkPart(const package::Product &product, const package::ProductPart &part);
  bool checkHeadLaunch(const package::Launch *launch, int64_t heads, const char *what);
  bool checkHeadProduct(const package::Product *product, const package::Launch &launch,
                        int64_t heads, const char *what);
  bool checkWithinSlot(const package::Argument &base, const Linear &extent, const char *what);

  int32_t indexers_ = 0, mixtures_ = 0;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_MANIFESTVERIFIER_H
