//===- ModelTensors.h - Which tensors a model's config asks for -*- C++ -*-===//
#ifndef STRATA_TEST_TOOLS_MAKECHECKPOINT_MODELTENSORS_H
#define STRATA_TEST_TOOLS_MAKECHECKPOINT_MODELTENSORS_H

#include "strata/lib/Support/Json.h"

#include <cstdint>
#include <string>
#include <vector>

namespace strata::test {

/// A tensor of a test model, in the names of public checkpoints.
struct ModelTensor {
  std::string name;
  std::vector<int64_t> shape;
  double scale = 1;   ///< standard deviation of its random values
  double offset = 0;  ///< their mean
  int64_t layer = -1; ///< decoder layer, −1 outside of the layers

  int64_t elementCount() const;
};

/// The tensors of a model of type glm_moe_dsa, deepseek_v32, deepseek_v3, llama or mistral, sorted
/// by name. An error names the entry of the config that is missing or has the wrong type.
Expected<std::vector<ModelTensor>> modelTensors(const nlohmann::json &config);

} // namespace strata::test

#endif // STRATA_TEST_TOOLS_MAKECHECKPOINT_MODELTENSORS_H
