//===- ConfigParts.h - The parts of a config, read one by one ---*- C++ -*-===//
#ifndef STRATA_LIB_IMPORT_CONFIGPARTS_H
#define STRATA_LIB_IMPORT_CONFIGPARTS_H

#include "strata/lib/Import/ConfigReader.h"

namespace strata::importer {

/// `rope_scaling`, `rope_parameters` and `rope_theta`. Does not set the layout. `thetaRequired`: no
/// default of 10000. Also gives what the softmax scale is multiplied by (1 without YaRN's
/// mscale_all_dim).
struct RopeReading {
  RopeConfig rope;
  double scaleMultiplier = 1;
};
RopeReading readRope(ConfigReader &reader, ConfigReport &report, int64_t maxPositions,
                     bool thetaRequired);

/// Sets `latent`, `rope.interleaved` and, where the model type has one, `indexer` and the layers'
/// index sources.
void readLatentAttention(ConfigReader &reader, ModelConfig &config);
/// Sets `grouped`.
void readGroupedAttention(ConfigReader &reader, ModelConfig &config);
/// Sets `mixture`, `mlpWidth` and the layers' `sparse`; `mayBeSparse`: the model type has mixtures
/// of experts.
void readFeedForward(ConfigReader &reader, ModelConfig &config, bool mayBeSparse);
/// `quantization_config`: e4m3 with one scale for 128 × 128 weights, or nothing.
std::optional<BlockQuantisation> readQuantisation(ConfigReader &reader, ConfigReport &report);

} // namespace strata::importer

#endif // STRATA_LIB_IMPORT_CONFIGPARTS_H
