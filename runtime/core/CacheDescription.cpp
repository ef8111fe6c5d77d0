//===- CacheDescription.cpp - What the pages of a model's caches hold -----===//
#include "strata/runtime/core/CacheDescription.h"

#include "strata/lib/Checkpoint/Checkpoint.h"
#include "strata/lib/Checkpoint/WeightPattern.h"
#include "strata/lib/Support/Json.h"
#include "strata/lib/Support/Text.h"
#include "strata/runtime/core/Checksum.h"
#include "strata/runtime/core/Package.h"

#include <algorithm>
#include <cinttypes>
#include <set>

using nlohmann::json;
using nlohmann::ordered_json;

namespace strata::rt {

//===----------------------------------------------------------------------===//
// Making one
//===----------------------------------------------------------------------===//

static std::string hexadecimal(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, value);
  return text;
}

/// Of the angles that keys are rotated by. Packages may make a table once or several times.
static uint64_t checksumOfRotations(const package::Manifest &manifest) {
  std::set<std::string> tables;
  for (const package::CommandEntry *entry : *manifest.commands())
    if (const package::RopeTable *table = entry->command_as_RopeTable()) {
      std::string bytes(reinterpret_cast<const char *>(table->frequencies()->data()),
                        table->frequencies()->size() * sizeof(double));
      double factor = table->factor();
      bytes.append(reinterpret_cast<const char *>(&factor), sizeof factor);
      tables.insert(std::move(bytes));
    }
  std::string all;
  for (const std::string &table : tables)
    all += table;
  return checksum(all.data(), all.size());
}

static uint64_t checksumOfWeights(const package::Manifest &manifest, const Checkpoint &checkpoint) {
  constexpr size_t kSample = 4096;
  // By name: packages list weights in the order of their commands.
  std::set<std::string> names;
  for (const package::Weight *weight : *manifest.weights())
    if (Expected<std::vector<std::string>> expanded = expandWeightPattern(weight->name()->str());
        expanded.ok())
      names.insert(expanded->front());
  std::vector<uint64_t> sums;
  for (const std::string &name : names)
    if (const TensorView *tensor = checkpoint.find(name)) {
      sums.push_back(checksum(name.data(), name.size()));
      sums.push_back(checksum(tensor->data, std::min(tensor->bytes, kSample)));
    }
  return checksum(sums.data(), sums.size() * sizeof(uint64_t));
}

static ordered_json describeCache(const package::Cache &cache) {
  ordered_json fields = ordered_json::array();
  for (const package::CacheField *field : *cache.fields())
    fields.push_back({{"role", package::EnumNameFieldRole(field->role())},
                      {"heads", field->heads()},
                      {"width", field->width()},
                      {"type", elementTypeName(static_cast<ElementType>(field->element_type()))}});
  return {{"name", cache.name()->str()},
          {"fields", fields},
          {"page_size", cache.page_size()},
          {"planar", cache.planar()},
          {"rope", package::EnumNameRopeLayout(cache.rope())},
          {"hadamard", cache.hadamard()}};
}

CacheDescription describeCaches(const package::Manifest &manifest, const Checkpoint &checkpoint) {
  CacheDescription description;
  ordered_json caches = ordered_json::array();
  for (const package::Cache *cache : *manifest.caches()) {
    description.caches.push_back({cache->name()->str(), recordBytes(*cache) * cache->page_size()});
    caches.push_back(describeCache(*cache));
  }
  // Weights last: where layouts differ too, that is what a user can do something about.
  ordered_json identity{{"model", manifest.model_type()->str()},
                        {"vocabulary", manifest.vocabulary_size()},
                        {"caches", caches},
                        {"rotations_checksum", hexadecimal(checksumOfRotations(manifest))},
                        {"weights_checksum", hexadecimal(checksumOfWeights(manifest, checkpoint))}};
  description.identity = identity.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return description;
}

//===----------------------------------------------------------------------===//
// Comparing two
//===----------------------------------------------------------------------===//

static Status differs(const std::string &field, const std::string &expected,
                      const std::string &found) {
  return Status(StatusCode::InvalidArgument,
                field + ": expected " + expected + " but got " + found);
}

/// A value for a message.
static std::string shown(const json &value) {
  constexpr size_t kMost = 80;
  std::string text = printable(value.dump(-1, ' ', true, json::error_handler_t::replace));
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

/// How a member of an array is called: by its name if it has one.
static std::string labelOf(const std::string &array, const ordered_json &member, size_t number) {
  bool hasName = member.is_object() && member.contains("name");
  return array + "[" + (hasName ? shown(json(member["name"])) : std::to_string(number)) + "]";
}

static Status compare(const std::string &field, const ordered_json &expected, const json &found) {
  if (expected.is_object() && found.is_object()) {
    for (const auto &[key, value] : expected.items()) {
      std::string path = field.empty() ? key : field + "." + key;
      auto other = found.find(key);
      if (other == found.end())
        return differs(path, shown(json(value)), "nothing");
      if (Status status = compare(path, value, *other); !status.ok())
        return status;
    }
    for (const auto &[key, value] : found.items())
      if (!expected.contains(key))
        return differs(field.empty() ? key : field + "." + key, "nothing", shown(value));
    return Status::success();
  }
  if (expected.is_array() && found.is_array()) {
    // A cache that is there must not be compared with another one's layout.
    auto hasName = [&](const ordered_json &name) {
      return std::any_of(found.begin(), found.end(), [&](const json &member) {
        return member.is_object() && member.contains("name") && member["name"] == json(name);
      });
    };
    for (size_t i = 0; i < expected.size(); ++i) {
      std::string path = labelOf(field, expected[i], i);
      bool isNamed = expected[i].is_object() && expected[i].contains("name");
      if (i >= found.size() || (isNamed && !hasName(expected[i]["name"])))
        return differs(path, "it to be there", "nothing");
      if (Status status = compare(path, expected[i], found[i]); !status.ok())
        return status;
    }
    if (found.size() > expected.size())
      return differs(field, std::to_string(expected.size()) + " entries",
                     std::to_string(found.size()));
    return Status::success();
  }
  return json(expected) == found ? Status::success()
                                 : differs(field, shown(json(expected)), shown(found));
}

Status compareIdentities(const std::string &expected, std::string_view found) {
  Expected<json> other = parseJson(found);
  if (!other.ok())
    return other.status();
  if (!other->is_object())
    return differs("identity", "a JSON object", shown(*other));
  return compare("", ordered_json::parse(expected, nullptr, /*allow_exceptions=*/false), *other);
}

} // namespace strata::rt
