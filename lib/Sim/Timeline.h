//===- Timeline.h - When commands and transfers run -------------*- C++ -*-===//
//
// A discrete-event run of a list of operations: one compute stream, engines that run their
// transfers in the order in which they start, links that engines share. Times are integer
// nanoseconds; the same input gives the same timeline everywhere.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_LIB_SIM_TIMELINE_H
#define STRATA_LIB_SIM_TIMELINE_H

#include "strata/lib/Machine/Machine.h"
#include "strata/runtime/core/StallCause.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace strata::sim {

/// What an engine does, started once.
struct Transfer {
  int engine = 0;
  int64_t bytes = 0;
  bool toNear = true;
  int64_t setupNanoseconds = 0; ///< what its operations cost apart from bytes
  double stretch = 1;           ///< by how much its bytes take longer than the engine's rate says
  rt::StallCause cause = rt::StallCause::WriteBack;
  int command = -1; ///< of the package, that starts it
  int layer = -1;   ///< that needs it
};

/// An entry of the compute stream.
struct Operation {
  enum class Kind {
    Compute, ///< `nanoseconds` of work
    Start,   ///< of a transfer; takes no time
    Wait,    ///< until a transfer has ended
  };
  Kind kind = Kind::Compute;
  int64_t nanoseconds = 0; ///< of a wait: until compute goes on, if it had to wait
  int transfer = -1;
  int command = -1;          ///< of the package
  bool isCollective = false; ///< between devices
};

/// What a machine's engines and links do to each other.
struct Links {
  struct Engine {
    double bandwidth = 0; ///< bytes per second; 0: no limit
    int link = -1;        ///< −1: its own
    double computeSlowdown = 0;
  };
  struct Link {
    double bandwidth = 0; ///< of one direction, 0: no limit
    double bothDirections = 0;
  };
  std::vector<Engine> engines;
  std::vector<Link> links;
};

struct Interval {
  int64_t begin = 0, end = 0;
  int64_t length() const { return end - begin; }
};

struct Stall {
  Interval time;
  int transfer = -1; ///< that was waited for
  int command = -1;  ///< that waited
};

struct Timeline {
  std::vector<Interval> operations; ///< of each operation; of a wait: how long it waited
  std::vector<Interval> transfers;  ///< of each transfer: while the engine worked on it
  std::vector<int64_t> exposed;     ///< of each transfer: nanoseconds in which compute waited
  std::vector<Stall> stalls;        ///< those that took time
  int64_t nanoseconds = 0;          ///< the end of the last operation

  int64_t transferNanoseconds() const;
  int64_t exposedNanoseconds() const;
};

/// Runs the operations in order. A transfer is exposed while compute waits for it, or for a later
/// one of its engine: so the parts of a stall are those of the transfers that made it. A transfer
/// that no wait names may end after the last operation.
Timeline runTimeline(const std::vector<Operation> &operations,
                     const std::vector<Transfer> &transfers, const Links &links);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_TIMELINE_H
