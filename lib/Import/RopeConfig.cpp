//===- RopeConfig.cpp - The rotary embedding of a config ------------------===//
#include "strata/lib/Import/ConfigParts.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace strata::importer {

/// The magnitude correction of YaRN for keys (or queries) that are `factor` times as far apart.
static double yarnMagnitude(double factor, double weight) {
  return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
}

/// A number at or above 0, as `mscale` may be.
static double magnitudeWeight(ConfigReader &section, llvm::StringRef key) {
  const llvm::json::Value *value = section.get(key);
  if (!value || value->kind() == llvm::json::Value::Null)
    return 0;
  std::optional<double> number = value->getAsNumber();
  if (number && *number >= 0 && std::isfinite(*number))
    return *number;
  section.fail(key, "a number not below 0");
  return 0;
}

static double scalingFactor(ConfigReader &section) {
  double factor = section.positive("factor");
  if (factor < 1)
    section.fail("factor", "a number of at least 1");
  return factor;
}

/// As transformers does it (_compute_yarn_parameters), and the softmax scale as its DeepSeek models
/// do.
static void readYarn(ConfigReader &section, int64_t maxPositions, RopeReading &reading) {
  RopeConfig &rope = reading.rope;
  rope.scaling = RopeConfig::Scaling::Yarn;
  rope.factor = scalingFactor(section);
  rope.originalPositions = section.size("original_max_position_embeddings");
  rope.betaFast = section.positiveOr("beta_fast", 32);
  rope.betaSlow = section.positiveOr("beta_slow", 1);
  if (rope.betaFast <= rope.betaSlow)
    section.fail("beta_fast", "a number above beta_slow = " + ConfigReader::show(rope.betaSlow));
  rope.truncate = section.flagOr("truncate", true);

  double weight = magnitudeWeight(section, "mscale");
  double weightOfAll = magnitudeWeight(section, "mscale_all_dim");
  if (section.has("attention_factor"))
    rope.attentionFactor = section.positive("attention_factor");
  else if (weight > 0 && weightOfAll > 0)
    rope.attentionFactor =
        yarnMagnitude(rope.factor, weight) / yarnMagnitude(rope.factor, weightOfAll);
  else
    rope.attentionFactor = yarnMagnitude(rope.factor, 1);

  if (weightOfAll > 0) {
    double magnitude = yarnMagnitude(rope.factor, weightOfAll);
    reading.scaleMultiplier = magnitude * magnitude;
    if (magnitude != 1 && maxPositions <= rope.originalPositions)
      section.warn(llvm::formatv("max_position_embeddings = {0} is not above "
                                 "original_max_position_embeddings = {1}: the softmax scale is "
                                 "corrected for mscale_all_dim, as transformers does; DeepSeek's "
                                 "own code would not",
                                 maxPositions, rope.originalPositions)
                       .str());
  }
}

static void readLlama3(ConfigReader &section, RopeConfig &rope) {
  rope.scaling = RopeConfig::Scaling::Llama3;
  rope.factor = scalingFactor(section);
  rope.originalPositions = section.size("original_max_position_embeddings");
  rope.lowFrequencyFactor = section.positive("low_freq_factor");
  rope.highFrequencyFactor = section.positive("high_freq_factor");
  if (rope.highFrequencyFactor <= rope.lowFrequencyFactor)
    section.fail("high_freq_factor",
                 "a number above low_freq_factor = " + ConfigReader::show(rope.lowFrequencyFactor));
}

/// The word under `rope_type`, or under `type` as older configs have it; "default" if a section
/// says nothing but theta.
static std::string ropeType(ConfigReader &section, const llvm::json::Object &object) {
  llvm::StringRef key = section.has("rope_type") ? "rope_type" : "type";
  section.mentions("type");
  if (!section.has(key)) {
    for (const auto &entry : object)
      if (llvm::StringRef name(entry.first);
          name != "rope_theta" && name != "rope_type" && name != "type")
        section.fail("rope_type", "\"default\", \"yarn\" or \"llama3\"");
    return "default";
  }
  std::optional<llvm::StringRef> word = section.get(key)->getAsString();
  if (word == "default" || word == "yarn" || word == "llama3")
    return word->str();
  section.refuse(key, "expected \"default\", \"yarn\" or \"llama3\" but got " +
                          ConfigReader::show(section.get(key)) + ", which is not supported");
  return "default";
}

static void readTheta(ConfigReader &reader, ConfigReader *section, llvm::StringRef sectionKey,
                      bool required, RopeConfig &rope) {
  ConfigReader &nested = section ? *section : reader;
  ConfigReader &source = section && section->has("rope_theta") ? nested : reader;
  if (&source != &reader && reader.has("rope_theta")) {
    // transformers takes the nested one and says nothing.
    double outer = reader.positive("rope_theta"), inner = source.positive("rope_theta");
    if (outer != inner)
      reader.warn(
          llvm::formatv("rope_theta = {0} and {1}.rope_theta = {2} disagree; {1}.rope_theta counts",
                        ConfigReader::show(outer), sectionKey, ConfigReader::show(inner))
              .str());
  }
  rope.theta = required ? source.positive("rope_theta") : source.positiveOr("rope_theta", 10000);
  if (rope.theta <= 1)
    source.fail("rope_theta", "a number above 1");
}

RopeReading readRope(ConfigReader &reader, ConfigReport &report, int64_t maxPositions,
                     bool thetaRequired) {
  RopeReading reading;
  const llvm::json::Object *scaling = reader.section("rope_scaling");
  const llvm::json::Object *parameters = reader.section("rope_parameters");
  if (scaling && parameters && *scaling != *parameters)
    reader.warn("rope_scaling and rope_parameters disagree; rope_scaling counts");
  const llvm::json::Object *object = scaling ? scaling : parameters;
  llvm::StringRef key = scaling ? "rope_scaling" : "rope_parameters";
  if (!object) {
    readTheta(reader, nullptr, key, thetaRequired, reading.rope);
    return reading;
  }

  ConfigReader section(*object, report, key.str() + ".");
  readTheta(reader, &section, key, thetaRequired, reading.rope);
  std::string type = ropeType(section, *object);
  if (type == "yarn")
    readYarn(section, maxPositions, reading);
  else if (type == "llama3")
    readLlama3(section, reading.rope);
  if (section.positiveOr("partial_rotary_factor", 1) != 1)
    section.refuse("partial_rotary_factor", "only 1 is supported");
  for (const std::string &unused : section.unusedKeys())
    section.warn(key + "." + unused + " has no effect on a rotary embedding of type " + type);
  return reading;
}

} // namespace strata::importer
