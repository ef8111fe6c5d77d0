//===- CheckpointWriter.h - Test models as folders --------------*- C++ -*-===//
#ifndef STRATA_TEST_TOOLS_MAKECHECKPOINT_CHECKPOINTWRITER_H
#define STRATA_TEST_TOOLS_MAKECHECKPOINT_CHECKPOINTWRITER_H

#include "ModelTensors.h"

#include "strata/lib/Support/ElementType.h"

namespace strata::test {

struct CheckpointOptions {
  uint64_t seed = 1;
  /// F32, BF16 or F16. Routers' correction biases are always F32.
  ElementType type = ElementType::F32;
  /// A new file begins before this many bytes of tensors are exceeded; 0: one file.
  uint64_t shardBytes = 0;
  /// See smallIntegerWeights.
  bool smallIntegers = false;
  /// Matrices of attention, indexers, MLPs and experts as e4m3 in blocks of 128 × 128, each with an
  /// f32 scale (largest magnitude / 448), in tensors NAME and NAME_scale_inv, as DeepSeek and GLM
  /// ship them. Stay as they are: embeddings, lm_head, routers, indexers' weights_proj, eh_proj,
  /// vectors.
  bool fp8Blocks = false;
  /// With fp8Blocks: the same values, but all tensors f32 (e4m3 × scale rounded to f32).
  bool dequantised = false;
};

/// What was written.
struct CheckpointSummary {
  size_t tensors = 0, files = 0;
  uint64_t bytes = 0;
};

/// Writes `folder`/model.safetensors, or shards and their index. Makes the folder if it is not
/// there.
Expected<CheckpointSummary> writeWeights(const nlohmann::json &config,
                                         const CheckpointOptions &options,
                                         const std::string &folder);

/// The config.json that fits the weights: `text`, the original, to the byte, except where fp8Blocks
/// asks for a quantization_config or dequantised for another dtype.
Expected<std::string> configText(const std::string &text, const CheckpointOptions &options);

/// Writes the whole checkpoint of a config: config.json and weights.
Expected<CheckpointSummary> writeCheckpoint(const std::string &config,
                                            const CheckpointOptions &options,
                                            const std::string &folder);

} // namespace strata::test

#endif // STRATA_TEST_TOOLS_MAKECHECKPOINT_CHECKPOINTWRITER_H
