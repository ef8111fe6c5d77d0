//===- WeightGenerator.h - Weights as functions of seed, name and index -*- C++ -*-===//
#ifndef STRATA_TEST_TOOLS_MAKECHECKPOINT_WEIGHTGENERATOR_H
#define STRATA_TEST_TOOLS_MAKECHECKPOINT_WEIGHTGENERATOR_H

#include "ModelTensors.h"

namespace strata::test {

/// Every element of a test model's weights is a pure function of the seed, the tensor's name and
/// the element's index, by integer arithmetic, so that the same bytes come out on every machine:
///
///     x = splitmix64(fnv1a64(name) ^ splitmix64(seed) + index)        all modulo 2^64
///     g = (sum of the four 16-bit fields of x / 65535 - 2) * sqrt(3)  mean 0, variance 1, |g|
///     <= 3.47 value = offset + scale * g, rounded to f32
///
/// splitmix64 is by Steele, Lea and Flood (2014), FNV-1a by Fowler, Noll and Vo.
uint64_t splitmix64(uint64_t state);
uint64_t fnv1a64(std::string_view text);

/// All values of a tensor.
std::vector<float> randomWeights(const ModelTensor &tensor, uint64_t seed);

/// All values of a tensor of a model in which every index score and every router's logit is a small
/// integer, the same in any order of summation and in any of the project's precisions: for tests of
/// exact ties. It works like this, in each layer:
///
/// - Embeddings are ±1024 and the last projections (o_proj, down_proj) are 0 except in the last
///   layer. So what a layer gets is ±1024 in every place, and RMS norms (weight 1, any eps up to
///   0.03) make it ±1 exactly.
/// - Each row of q_a_proj, kv_a_proj and the indexer's wk has one element ±1024. Rows 2i and
///   2i + 1 of wk are each other's negatives, so that LayerNorm (weight 1, bias 0) subtracts a
///   mean of 0. Latents and index keys are ±1.
/// - Rows of the indexer's wq_b that RoPE will turn are 0, and so are biases. All else is −1, 0
///   or 1.
///
/// Scores are exact where index_n_heads × index_head_dim is a power of 4, so that the scale of the
/// scores is a power of 2.
std::vector<float> smallIntegerWeights(const ModelTensor &tensor, const nlohmann::json &config,
                                       uint64_t seed);

} // namespace strata::test

#endif // STRATA_TEST_TOOLS_MAKECHECKPOINT_WEIGHTGENERATOR_H
