//===- ModelConfig.h - What a config.json says, checked ---------*- C++ -*-===//
//
// The configuration of a checkpoint in the format of Hugging Face's transformers. Values are
// checked for themselves and against each other. A key whose absence could be guessed wrong without
// anybody noticing is required, even where transformers has a default.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_LIB_IMPORT_MODELCONFIG_H
#define STRATA_LIB_IMPORT_MODELCONFIG_H

#include "strata/lib/Support/ElementType.h"
#include "strata/lib/Support/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::importer {

/// Something that the user should know and that is no error.
struct Note {
  enum class Kind {
    Warning, ///< the model may not be what its author meant
    Remark,  ///< something was left out on purpose
  };
  Kind kind;
  std::string text;
};

/// The rotary embedding of queries and keys. The indexer has the same, but for the layout.
struct RopeConfig {
  enum class Scaling { None, Yarn, Llama3 };
  double theta = 0;
  bool interleaved = false; ///< pairs (2i, 2i + 1); otherwise (i, i + width / 2)
  Scaling scaling = Scaling::None;
  double factor = 1;                                       ///< both scalings
  int64_t originalPositions = 0;                           ///< both scalings
  double betaFast = 32, betaSlow = 1, attentionFactor = 1; ///< YaRN
  bool truncate = true; ///< YaRN: borders of the ramp are whole indices
  double lowFrequencyFactor = 1, highFrequencyFactor = 4; ///< Llama 3
};

/// Multi-head latent attention. Keys are [latent | rotated part], queries [unrotated | rotated
/// part].
struct LatentAttentionConfig {
  std::optional<int64_t> queryRank; ///< nothing: queries come from the hidden state by one product
  int64_t latentWidth = 0;          ///< kv_lora_rank
  int64_t unrotatedWidth = 0;       ///< qk_nope_head_dim
  int64_t rotatedWidth = 0;         ///< qk_rope_head_dim
  int64_t valueWidth = 0;           ///< v_head_dim
  /// transformers builds both norms with its class default, whatever rms_norm_eps says.
  double queryNormEpsilon = 1e-6, latentNormEpsilon = 1e-6;
};

/// Grouped-query attention: each key head serves heads / keyHeads query heads.
struct GroupedAttentionConfig {
  int64_t keyHeads = 0;
  int64_t headWidth = 0;
  std::optional<int64_t> window; ///< tokens that a token sees, itself included
};

/// The lightning indexer of sparse attention. The rotated part comes first in its heads.
struct IndexerConfig {
  int64_t heads = 0;
  int64_t headWidth = 0;
  int64_t rows = 0; ///< k: positions selected for each token
  bool interleaved = false;
  double keyNormEpsilon = 1e-6;
};

/// A mixture of experts with sigmoid scores, a correction bias and groups scored by their two best
/// experts.
struct MixtureConfig {
  int64_t experts = 0;
  int64_t expertsPerToken = 0;
  int64_t expertWidth = 0;
  int64_t sharedWidth = 0; ///< of the expert that every token uses; 0: none
  int64_t groups = 1;
  int64_t topGroups = 1;
  bool normalise = true;
  double scale = 1;
};

/// Where a layer's selected rows come from.
enum class IndexSource {
  None,   ///< the layer attends to everything that it sees
  Own,    ///< its own indexer
  Shared, ///< the nearest layer below that has an indexer
};

struct LayerConfig {
  bool sparse = false; ///< a mixture of experts instead of a gated MLP
  IndexSource index = IndexSource::None;
};

/// e4m3 weights with one f32 scale for each block.
struct BlockQuantisation {
  int64_t rows = 128, columns = 128;
  std::vector<std::string> excluded; ///< weights whose name contains one of these are not quantised
};

struct ModelConfig {
  std::string modelType;
  int64_t hiddenWidth = 0;
  int64_t vocabulary = 0;
  int64_t heads = 0;
  int64_t maxPositions = 0;
  int64_t mlpWidth = 0; ///< of layers without a mixture; 0 if there are none
  double normEpsilon = 0;
  double attentionScale = 0; ///< what scores are multiplied by before the softmax
  bool tiedEmbeddings = false;
  bool attentionBias = false;
  RopeConfig rope;
  std::optional<LatentAttentionConfig> latent; ///< this or `grouped`
  std::optional<GroupedAttentionConfig> grouped;
  std::optional<IndexerConfig> indexer;
  std::optional<MixtureConfig> mixture; ///< present if a layer is sparse
  std::vector<LayerConfig> layers;
  int64_t predictionLayers = 0; ///< for multi-token prediction, after the model's own; not imported
  std::vector<int32_t> eosTokenIds;
  std::optional<ElementType> storedType; ///< what config.json says of the weights
  std::optional<BlockQuantisation> quantisation;
};

/// Reads the text of a config.json. An error is one line: the key, what was expected and what was
/// found. Notes are appended.
Expected<ModelConfig> parseModelConfig(std::string_view text, std::vector<Note> &notes);

} // namespace strata::importer

#endif // STRATA_LIB_IMPORT_MODELCONFIG_H
