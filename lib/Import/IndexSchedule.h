//===- IndexSchedule.h - Which layers own an indexer ------------*- C++ -*-===//
#ifndef STRATA_LIB_IMPORT_INDEXSCHEDULE_H
#define STRATA_LIB_IMPORT_INDEXSCHEDULE_H

#include "strata/lib/Import/ConfigReader.h"

namespace strata::importer {

/// For each layer: true if it owns an indexer, false if it uses the rows of the nearest layer below
/// that does. Layers count from 0; layer i owns one iff max(i − offset + 1, 0) is a multiple of
/// `frequency` (transformers, GlmMoeDsaConfig).
std::vector<bool> scheduleByFrequency(int64_t layers, int64_t frequency, int64_t offset);

/// The schedule of a config. `indexer_types` (a list) goes before `index_topk_pattern` (a string of
/// F and S, or a list), which goes before `index_topk_freq` with `index_skip_topk_offset`. Lists
/// may go on for the prediction layers. Encodings that disagree give one warning. Errors: an
/// unknown word, a wrong length, a first layer without an indexer.
std::vector<bool> readIndexSchedule(ConfigReader &reader, int64_t layers, int64_t predictionLayers);

} // namespace strata::importer

#endif // STRATA_LIB_IMPORT_INDEXSCHEDULE_H
