//===- IndexerOracle.cpp - The first layer's indexer, by its formulas -----===//
#include "IndexerOracle.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

using nlohmann::json;

namespace strata::rows {

std::vector<int32_t> bestPositions(const std::vector<double> &scores, int64_t k) {
  std::vector<int32_t> row(scores.size());
  std::iota(row.begin(), row.end(), 0);
  std::sort(row.begin(), row.end(), [&](int32_t a, int32_t b) {
    double first = scores[size_t(a)], second = scores[size_t(b)];
    return first != second ? first > second : a < b;
  });
  row.resize(std::min(row.size(), size_t(k)));
  std::sort(row.begin(), row.end());
  row.resize(size_t(k), -1);
  return row;
}

namespace {

class Oracle {
public:
  Oracle(const json &config, const Checkpoint &checkpoint, bool interleaved)
      : config_(config), checkpoint_(checkpoint), interleaved_(interleaved) {}

  IndexerStages run(const std::vector<int32_t> &tokens) const;

private:
  int64_t size(const char *key) const { return config_.at(key).get<int64_t>(); }
  std::vector<double> tensor(const std::string &name) const;
  std::vector<double> multiply(const std::string &name, const std::vector<double> &input) const;
  std::vector<double> rmsNorm(std::vector<double> x, const std::string &name, double epsilon) const;
  std::vector<double> layerNorm(std::vector<double> x, const std::string &name) const;
  std::vector<double> frequencies() const;
  void rotate(double *head, int64_t position) const;

  const json &config_;
  const Checkpoint &checkpoint_;
  bool interleaved_;
};

std::vector<double> Oracle::tensor(const std::string &name) const {
  const TensorView *view = checkpoint_.find(name);
  if (!view || !view->type) {
    std::fprintf(stderr, "the oracle needs %s\n", name.c_str());
    std::abort();
  }
  std::vector<float> values(view->bytes / elementSize(*view->type));
  widen(*view->type, view->data, values.data(), values.size());
  return {values.begin(), values.end()};
}

std::vector<double> Oracle::multiply(const std::string &name,
                                     const std::vector<double> &input) const {
  std::vector<double> weight = tensor(name), result(weight.size() / input.size());
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = std::inner_product(input.begin(), input.end(), &weight[i * input.size()], 0.0);
  return result;
}

std::vector<double> Oracle::rmsNorm(std::vector<double> x, const std::string &name,
                                    double epsilon) const {
  std::vector<double> weight = tensor(name);
  double square = std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / double(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] *= weight[i] / std::sqrt(square + epsilon);
  return x;
}

/// Weight and bias, epsilon 1e-6.
std::vector<double> Oracle::layerNorm(std::vector<double> x, const std::string &name) const {
  std::vector<double> weight = tensor(name + ".weight"), bias = tensor(name + ".bias");
  double mean = std::accumulate(x.begin(), x.end(), 0.0) / double(x.size()), variance = 0;
  for (double value : x)
    variance += (value - mean) * (value - mean) / double(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = (x[i] - mean) / std::sqrt(variance + 1e-6) * weight[i] + bias[i];
  return x;
}

/// θ^(−2i/width); with YaRN those of long waves divided by the factor, with a ramp between.
std::vector<double> Oracle::frequencies() const {
  int64_t width = size("qk_rope_head_dim");
  bool nested = config_.contains("rope_parameters");
  double theta = (nested ? config_["rope_parameters"] : config_)["rope_theta"].get<double>();
  std::vector<double> result;
  for (int64_t i = 0; i < width / 2; ++i)
    result.push_back(std::pow(theta, -2.0 * double(i) / double(width)));
  if (!config_.contains("rope_scaling"))
    return result;
  const json &yarn = config_["rope_scaling"];
  auto border = [&](const char *turns) {
    double positions = yarn["original_max_position_embeddings"].get<double>();
    return double(width) * std::log(positions / (yarn[turns].get<double>() * 2 * M_PI)) /
           (2 * std::log(theta));
  };
  double low = std::max(std::floor(border("beta_fast")), 0.0);
  double high = std::min(std::ceil(border("beta_slow")), double(width - 1));
  for (size_t i = 0; i < result.size(); ++i) {
    double ramp = std::clamp((double(i) - low) / std::max(high - low, 0.001), 0.0, 1.0);
    result[i] *= 1 - ramp + ramp / yarn["factor"].get<double>();
  }
  return result;
}

/// The rotated part comes first in the indexer's heads.
void Oracle::rotate(double *head, int64_t position) const {
  std::vector<double> angles = frequencies();
  size_t half = angles.size();
  for (size_t i = 0; i < half; ++i) {
    double &a = head[interleaved_ ? 2 * i : i], &b = head[interleaved_ ? 2 * i + 1 : i + half];
    double cosine = std::cos(double(position) * angles[i]),
           sine = std::sin(double(position) * angles[i]);
    double turned = a * cosine - b * sine;
    b = b * cosine + a * sine;
    a = turned;
  }
}

IndexerStages Oracle::run(const std::vector<int32_t> &tokens) const {
  const std::string layer = "model.layers.0.", attention = layer + "self_attn.",
                    indexer = attention + "indexer.";
  int64_t hidden = size("hidden_size"), heads = size("index_n_heads"),
          width = size("index_head_dim"), k = size("index_topk");
  double scale = 1 / std::sqrt(double(heads)) / std::sqrt(double(width));
  std::vector<double> table = tensor("model.embed_tokens.weight");
  IndexerStages stages;
  for (int64_t position = 0; position < int64_t(tokens.size()); ++position) {
    const double *embedding = &table[size_t(tokens[size_t(position)]) * size_t(hidden)];
    std::vector<double> x =
        rmsNorm({embedding, embedding + hidden}, layer + "input_layernorm.weight",
                config_["rms_norm_eps"].get<double>());
    std::vector<double> latent = rmsNorm(multiply(attention + "q_a_proj.weight", x),
                                         attention + "q_a_layernorm.weight", 1e-6);
    std::vector<double> query = multiply(indexer + "wq_b.weight", latent);
    for (int64_t head = 0; head < heads; ++head)
      rotate(&query[size_t(head * width)], position);
    std::vector<double> key = layerNorm(multiply(indexer + "wk.weight", x), indexer + "k_norm");
    rotate(key.data(), position);
    stages.queries.push_back(query);
    stages.keys.push_back(key);
    stages.headWeights.push_back(multiply(indexer + "weights_proj.weight", x));

    std::vector<double> scores;
    for (const std::vector<double> &seen : stages.keys) {
      double score = 0;
      for (int64_t head = 0; head < heads; ++head) {
        double product =
            std::inner_product(seen.begin(), seen.end(), &query[size_t(head * width)], 0.0);
        score += stages.headWeights.back()[size_t(head)] * std::max(product, 0.0);
      }
      scores.push_back(score * scale);
    }
    stages.rows.push_back(bestPositions(scores, k));
    stages.scores.push_back(scores);
  }
  return stages;
}

} // namespace

IndexerStages computeIndexer(const json &config, const Checkpoint &checkpoint,
                             const std::vector<int32_t> &tokens, bool interleaved) {
  return Oracle(config, checkpoint, interleaved).run(tokens);
}

} // namespace strata::rows
