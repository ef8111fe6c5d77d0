//===- Plan.h - What lives where, and what it saves -------------*- C++ -*-===//
//
// The planner's input and result, apart from any IR: passes/Place fills the one from a module and
// writes the other into it; tests make both by hand.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_LIB_PLAN_PLAN_H
#define STRATA_LIB_PLAN_PLAN_H

#include "strata/lib/Machine/Machine.h"

#include <optional>

namespace strata::plan {

/// What a buffer is for; reports add up by it.
enum class BufferClass { Weights, Latents, IndexKeys, Activations, Workspace };

/// What misses a hot set of some size has: the share of a step's rows that are not there, at slot
/// counts in ascending order. Falling; between points it is linear.
struct MissCurve {
  std::vector<double> slots; ///< as multiples of k
  std::vector<double> share;
  double at(double slotsPerK) const;
};
/// The default for a layer, from published measurements (facts: overlap between steps, hot sets of
/// 2 k rows with LRU).
MissCurve defaultMissCurve(int64_t layer);

/// A group of layers that use the same rows, whose caches can have hot sets.
struct RowGroup {
  std::string name;        ///< "layers 2-5"
  std::vector<int> caches; ///< numbers of buffers, leader first
  int64_t k = 0;
  int64_t known = -1; ///< command behind which the rows of a step are known; −1: before the first
  MissCurve misses;
};

/// A buffer of the program.
struct Buffer {
  std::string name;
  BufferClass bufferClass = BufferClass::Weights;
  uint64_t bytes = 0;                ///< in the near tier, whole
  int64_t firstUse = 0, lastUse = 0; ///< commands of the step, by number
  /// Bytes that a step transfers when it is not in the near tier: the whole buffer for weights and
  /// index keys, pages in use for reloaded caches. Rows are counted by their group.
  uint64_t bytesPerStep = 0;
  uint64_t rowBytes = 0;    ///< of caches: a record
  uint64_t stagedBytes = 0; ///< near memory of its own that it takes when it is elsewhere
  enum class Elsewhere {
    Never,  ///< must be in the near tier
    Reload, ///< through a slot as large as the buffer
    Rows,   ///< through a hot set (it belongs to one RowGroup)
    Stream, ///< through two block buffers
  } elsewhere = Elsewhere::Never;
};

/// What is to be planned.
struct Problem {
  std::vector<Buffer> buffers;
  std::vector<RowGroup> groups;
  std::vector<double> commandSeconds; ///< predicted, without transfers
  std::vector<int> commandLayer;      ///< −1: none
  int64_t context = 0, batch = 1,
          tokens = 1;          ///< positions of a sequence, sequences, tokens of a step
  uint64_t capacity = 0;       ///< of the near tier, bytes
  int64_t blockRecords = 4096; ///< of a stream's buffer
};

/// Where a buffer lies, and how it comes.
struct Decision {
  int buffer = 0;
  bool isNear = true;
  int64_t slots = 0;           ///< of the group's hot set, Rows
  int engine = -1;             ///< that brings it
  std::string engineName = {}; ///< the same; where only this is set, checkPlan looks it up
  uint64_t offset = 0; ///< of its near part (the whole, the hot set, the slot) in the near tier
};

/// A plan and what it predicts. Written and read as plan.json.
struct Plan {
  std::string machine;
  int64_t context = 0, batch = 1, tokens = 1;
  uint64_t capacity = 0;
  std::vector<Decision> decisions;   ///< one for each buffer, in order
  std::vector<int64_t> slotsOfGroup; ///< 0: the group's caches are whole
  std::vector<uint64_t> weightSlots; ///< bytes of the slots that reloaded weights share
  uint64_t nearBytes = 0;            ///< of all of it, at its peak
  uint64_t leastCapacity = 0;        ///< the least feasible one
  /// Of a step whose transfers hide under work wherever there is any: what plans are chosen by. It
  /// never rises with the capacity.
  double stepSeconds = 0;
  double lowerBound = 0; ///< of stepSeconds, for any plan
  double transferSeconds = 0;
  /// Of a step as it runs: transfers start when it is known what is needed and there is a place
  /// for it (see getExposedSeconds). And the part of it that waits for transfers.
  double scheduledSeconds = 0, exposedSeconds = 0;
  /// Seconds of a step as it runs that one more unit saves.
  double perGigabyte = 0, perTenGigabytesPerSecond = 0;
  std::string solver; ///< "greedy" or "clp"
};

/// Plans. An error (OutOfMemory) when nothing fits names the least feasible capacity.
Expected<Plan> makePlan(const Problem &problem, const Machine &machine);
/// Checks a plan that a person may have edited, and fills in what follows from its decisions.
Status checkPlan(const Problem &problem, const Machine &machine, Plan &plan);

/// Buffers and groups go by name.
std::string writePlan(const Problem &problem, const Plan &plan);
Expected<Plan> readPlan(const Problem &problem, const std::string &text, const std::string &name);

} // namespace strata::plan

#endif // STRATA_LIB_PLAN_PLAN_H
