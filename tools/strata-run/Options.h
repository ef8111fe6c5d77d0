//===- Options.h - The command line of strata-run ---------------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATA_RUN_OPTIONS_H
#define STRATA_TOOLS_STRATA_RUN_OPTIONS_H

#include "strata/lib/Support/Status.h"
#include "strata/runtime/core/SessionPlan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace strata::run {

enum class Device { Cpu, Reference };

/// A prompt as it was given.
struct PromptOption {
  std::vector<int32_t> tokens;
  bool isText = false; ///< the tokens are the text's bytes
};

struct Options {
  bool help = false, version = false, print = false;
  std::string input;   ///< a package or a module
  std::string weights; ///< a checkpoint's folder or file
  Device device = Device::Cpu;
  std::vector<PromptOption> prompts;
  std::string score;     ///< a text to score instead of prompts; empty: none
  int64_t window = 1024; ///< bytes of its windows
  bool recall = false;
  rt::SessionOptions session;
  uint64_t memoryLimit = 0; ///< bytes; 0: what the machine has
  int threads = 0;
  bool poison = false;
  int64_t lateTransfers = 0; ///< microseconds by which transfers are late at most
  /// Files; empty: none.
  std::string logits, rows, experts, importRows, importExperts, trace, counters, saveSequence,
      loadSequence;
};

/// Understands the arguments after the program's name. An error if one is unknown, lacks its value,
/// or contradicts another; what depends on the model is not checked here.
Expected<Options> parseOptions(const std::vector<std::string> &arguments);

/// What --help prints.
extern const char kHelp[];

} // namespace strata::run

#endif // STRATA_TOOLS_STRATA_RUN_OPTIONS_H
