//===- Machine.h - What a machine's memory and links can do -----*- C++ -*-===//
#ifndef STRATA_LIB_MACHINE_MACHINE_H
#define STRATA_LIB_MACHINE_MACHINE_H

#include "strata/lib/Support/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace strata {

/// A tier of memory of one device. Tiers are listed from near to far; compute reads and writes the
/// first.
struct MachineTier {
  std::string name;      ///< "hbm", "ddr", …
  uint64_t capacity = 0; ///< bytes that one device may use
  double bandwidth = 0;  ///< bytes per second
  std::string source = {};    ///< where the figures are from; so below
};

/// What moves data between two tiers.
struct MachineEngine {
  enum class Kind {
    Copy,   ///< whole ranges; an operation for each range
    Gather, ///< a kernel that reads rows; one operation for all of them
  };
  std::string name; ///< "copy in", …
  Kind kind = Kind::Copy;
  int from = 0, to = 0;        ///< tiers, by number
  int link = 0;                ///< the link that it loads, by number
  double bandwidth = 0;        ///< bytes per second that it reaches alone
  double operationSeconds = 0; ///< what an operation costs apart from its bytes
  double unalignedFactor =
      1;                 ///< a row that isn't a multiple of `alignment` takes so many times as long
  int64_t alignment = 1; ///< bytes
  double computeSlowdown = 0; ///< share by which compute is slower while it runs
  std::string source = {};
};

/// A path that engines share. An uplink is a link that several devices share: each gets its part
/// while the others load theirs.
struct MachineLink {
  std::string name;
  double bandwidth = 0;      ///< bytes per second in one direction
  double bothDirections = 0; ///< bytes per second when both directions are busy, together
  int sharedBy = 1;          ///< devices
  std::string source = {};
};

/// How a model is divided among devices.
struct MachinePartition {
  int64_t tensor = 1, expert = 1, pipeline = 1;
};

/// A machine, from a JSON file (docs/machines.md describes the fields).
struct Machine {
  std::string name;
  int64_t devices = 1;
  MachinePartition partition;
  std::vector<MachineTier> tiers;
  std::vector<MachineLink> links;
  std::vector<MachineEngine> engines;
  double bf16Flops = 0, fp8Flops = 0, f32Flops = 0; ///< peak rates of a device, per second
  double efficiency = 1;    ///< share of peaks and bandwidth that kernels reach
  double launchSeconds = 0; ///< what a command costs apart from its work
  std::string computeSource;
  double collectiveBandwidth = 0; ///< bytes per second of a device in an all-reduce
  double collectiveSeconds = 0;   ///< latency of a collective
  std::string collectiveSource;

  /// The engine of a kind between two tiers; −1 if there is none.
  int findEngine(MachineEngine::Kind kind, int from, int to) const;
};

/// Reads and checks a description. Errors name the file, the field, what was expected and found.
Expected<Machine> readMachine(const std::string &path);
/// The same from a text; `name` stands for the file in errors.
Expected<Machine> parseMachine(const std::string &text, const std::string &name);
/// A machine that is shipped ("h200x8", …), or a file: whatever `nameOrPath` is.
Expected<Machine> findMachine(const std::string &nameOrPath);
/// Names of the shipped machines.
std::vector<std::string> shippedMachines();

} // namespace strata

#endif // STRATA_LIB_MACHINE_MACHINE_H
