//===- Device.h - What a command costs one device ---------------*- C++ -*-===//
//
// How a model is divided among devices, as formulas; docs/simulator.md states them.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_LIB_SIM_DEVICE_H
#define STRATA_LIB_SIM_DEVICE_H

#include "strata/lib/Machine/Machine.h"
#include "strata/lib/Sim/StepFacts.h"
#include "strata/lib/Sim/Storage.h"

namespace strata::sim {

/// How weights and caches are stored in a question.
struct Formats {
  Format weights = Format::AsWritten, caches = Format::AsWritten;
};

/// The work of a command or of a step. As a whole, or the share of one device.
struct Work {
  double linearFlops = 0; ///< products with weights
  double scanFlops = 0;   ///< index queries with index keys
  double attentionFlops = 0;
  double elementwiseFlops = 0;
  double weightBytes = 0;
  double latentBytes = 0, keyBytes = 0; ///< records read
  double cacheBytesWritten = 0;
  double activationBytes = 0;

  double flops() const { return linearFlops + scanFlops + attentionFlops; }
  double bytes() const {
    return weightBytes + latentBytes + keyBytes + cacheBytesWritten + activationBytes;
  }
  Work &operator+=(const Work &other);
};

/// How many devices divide a weight: the degree of the experts for a stack, of `tensor` for another
/// matrix; vectors are whole on each.
double weightDegree(const package::Weight &weight, const MachinePartition &partition);

/// The weights that a command reads, and how many bytes of each: whole ones, the chosen experts of
/// a stack (as many as are expected to be distinct), the rows that a Launch looks up.
struct WeightUse {
  int weight = 0;
  double bytes = 0;
};
std::vector<WeightUse> findWeightUses(const package::Manifest &manifest,
                                      const package::CommandEntry &entry, const StepFacts &facts,
                                      Format format);

/// The work of a command, all devices together.
Work computeWork(const package::Manifest &manifest, const package::CommandEntry &entry,
                 const StepFacts &facts, const Formats &formats);

/// The time that a command takes on one device, without its transfers.
class Device {
public:
  Device(const package::Manifest &manifest, const Machine &machine, const Formats &formats)
      : manifest_(manifest), machine_(machine), formats_(formats) {}

  /// A device's share of the work.
  Work share(const package::CommandEntry &entry, const StepFacts &facts) const;
  /// The greater of operations over rates and bytes over the near tier's bandwidth, by the share
  /// of both that kernels reach, and the cost of a launch.
  double seconds(const package::CommandEntry &entry, const StepFacts &facts) const;

private:
  double rate(bool isFp8) const;

  const package::Manifest &manifest_;
  const Machine &machine_;
  Formats formats_;
};

} // namespace strata::sim

#endif // STRATA_LIB_SIM_DEVICE_H
