//===- Counters.cpp - What placement cost a run ---------------------------===//
#include "Counters.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace strata::run {

static std::string inMebibytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f MiB", double(bytes) / (1 << 20));
  return text;
}

std::string describeCounters(const rt::TierCounters &counters) {
  std::string text = "records: " + std::to_string(counters.hits) + " in hot sets, " +
                     std::to_string(counters.misses) + " missing, " +
                     std::to_string(counters.ownRecords) + " of the steps' own\n";
  for (const rt::TierCounters::Engine &engine : counters.engines)
    if (engine.transfers > 0)
      text += "engine " + engine.name + ": " + std::to_string(engine.transfers) + " transfers, " +
              inMebibytes(engine.bytesToNear) + " to near memory, " +
              inMebibytes(engine.bytesToFar) + " to far memory\n";
  for (const rt::TierCounters::Tier &tier : counters.tiers)
    text += "tier " + tier.name + ": " + inMebibytes(tier.peakBytes) + " at the peak" +
            (tier.capacity > 0 ? " of " + inMebibytes(tier.capacity) : "") + "\n";
  for (int cause = 0; cause < rt::kStallCauses; ++cause)
    if (uint64_t time = counters.stalls[size_t(cause)]) {
      char milliseconds[32];
      std::snprintf(milliseconds, sizeof milliseconds, "%.3f ms", double(time) / 1e6);
      text += "stalls: " + std::string(milliseconds) + " for " +
              std::string(rt::getStallName(rt::StallCause(cause))) + "\n";
    }
  return text;
}

std::string writeCounters(const rt::TierCounters &counters) {
  using Json = nlohmann::ordered_json;
  Json json = {{"hits", counters.hits},
               {"misses", counters.misses},
               {"own_records", counters.ownRecords},
               {"speculated", counters.speculated}};
  json["engines"] = Json::array();
  for (const rt::TierCounters::Engine &engine : counters.engines)
    json["engines"].push_back({{"name", engine.name},
                               {"transfers", engine.transfers},
                               {"bytes_to_near", engine.bytesToNear},
                               {"bytes_to_far", engine.bytesToFar}});
  json["stalls_ns"] = Json::object();
  for (int cause = 0; cause < rt::kStallCauses; ++cause)
    json["stalls_ns"][std::string(rt::getStallName(rt::StallCause(cause)))] =
        counters.stalls[size_t(cause)];
  json["memory"] = Json::array();
  for (const rt::TierCounters::Tier &tier : counters.tiers)
    json["memory"].push_back(
        {{"name", tier.name}, {"capacity", tier.capacity}, {"peak_bytes", tier.peakBytes}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace strata::run
