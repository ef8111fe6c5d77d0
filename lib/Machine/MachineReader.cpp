//===- MachineReader.cpp - A machine's description from JSON --------------===//
#include "strata/lib/Machine/Machine.h"
#include "strata/lib/Support/Json.h"
#include "strata/lib/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

using nlohmann::json;

namespace strata {

namespace {

/// Reads the fields of one object; the first error stays.
class Reader {
public:
  Reader(const json &object, std::string place, Status &error)
      : object_(object), place_(std::move(place)), error_(error) {
    if (!object.is_object())
      fail("an object", object);
  }

  /// A field that is missing where it is needed, or of another kind, is an error.
  const json *find(const char *name, bool isNeeded) {
    known_.insert(name);
    if (!error_.ok())
      return nullptr;
    auto found = object_.find(name);
    if (found != object_.end())
      return &*found;
    if (isNeeded)
      error_ = Status(StatusCode::InvalidArgument, place_ + ": field \"" + name + "\" is missing");
    return nullptr;
  }

  void text(const char *name, std::string &value, bool isNeeded = true) {
    const json *field = find(name, isNeeded);
    if (field && (!field->is_string() || field->get_ref<const std::string &>().empty()))
      failIn(name, "a text", *field);
    else if (field)
      value = field->get<std::string>();
  }

  /// A number in [least, most].
  void number(const char *name, double &value, double least, double most, bool isNeeded) {
    const json *field = find(name, isNeeded);
    if (!field)
      return;
    double given = field->is_number() ? field->get<double>() : std::nan("");
    if (!(given >= least && given <= most))
      failIn(name, "a number from " + write(least) + " to " + write(most), *field);
    else
      value = given;
  }

  template <typename Integer>
  void integer(const char *name, Integer &value, int64_t least, int64_t most, bool isNeeded) {
    const json *field = find(name, isNeeded);
    if (!field)
      return;
    // Sizes are written like 141e9 as well.
    double given = field->is_number() ? field->get<double>() : std::nan("");
    if (!(given >= double(least) && given <= double(most)) || given != std::floor(given))
      failIn(name, "a whole number from " + write(double(least)) + " to " + write(double(most)),
             *field);
    else
      value = Integer(given);
  }

  /// The number of what another list calls by this name.
  template <typename List> void reference(const char *name, const List &list, int &value) {
    std::string wanted;
    text(name, wanted);
    if (!error_.ok())
      return;
    std::vector<std::string> names;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].name == wanted) {
        value = int(i);
        return;
      }
      names.push_back(list[i].name);
    }
    error_ = Status(StatusCode::InvalidArgument, place_ + "." + name + ": expected one of " +
                                                     listText(names) + " but got \"" +
                                                     printable(wanted) + "\"");
  }

  /// Calls read(element, place) for each element of an array.
  template <typename Read> void list(const char *name, bool isNeeded, Read read) {
    const json *field = find(name, isNeeded);
    if (!field)
      return;
    if (!field->is_array() || field->empty())
      return failIn(name, "a list that is not empty", *field);
    for (size_t i = 0; i < field->size() && error_.ok(); ++i)
      read((*field)[i], place_ + "." + name + "[" + std::to_string(i) + "]");
  }

  /// After all fields were asked for: are there others?
  void end() {
    if (error_.ok() && object_.is_object())
      for (const auto &[name, value] : object_.items())
        if (!known_.count(name)) {
          error_ = Status(StatusCode::InvalidArgument,
                          place_ + ": unknown field \"" + printable(name) + "\"");
          return;
        }
  }

  void failIn(const std::string &name, const std::string &expected, const json &got) {
    Reader(*this, name).fail(expected, got);
  }

private:
  Reader(const Reader &other, const std::string &name)
      : object_(other.object_), place_(other.place_ + "." + name), error_(other.error_) {}

  static std::string write(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.16g", value);
    return text;
  }

  void fail(const std::string &expected, const json &got) {
    if (error_.ok())
      error_ = Status(StatusCode::InvalidArgument,
                      place_ + ": expected " + expected + " but got " +
                          printable(got.dump(-1, ' ', true, json::error_handler_t::replace)));
  }

  const json &object_;
  std::string place_;
  Status &error_;
  std::set<std::string> known_;
};

constexpr double kMostRate = 1e18, kMostSeconds = 1;
constexpr int64_t kMostBytes = int64_t(1) << 53, kMostDevices = 1 << 20;

template <typename List>
void checkNames(const List &list, const char *what, const std::string &place, Status &error) {
  std::set<std::string> names;
  for (const auto &each : list)
    if (error.ok() && !names.insert(each.name).second)
      error = Status(StatusCode::InvalidArgument,
                     place + ": two " + what + " are called \"" + printable(each.name) + "\"");
}

void readTier(const json &value, const std::string &place, Machine &machine, Status &error) {
  Reader reader(value, place, error);
  MachineTier tier;
  reader.text("name", tier.name);
  reader.integer("capacity", tier.capacity, 1, kMostBytes, true);
  reader.number("bandwidth", tier.bandwidth, 1, kMostRate, true);
  reader.text("source", tier.source, false);
  reader.end();
  machine.tiers.push_back(tier);
}

void readLink(const json &value, const std::string &place, Machine &machine, Status &error) {
  Reader reader(value, place, error);
  MachineLink link;
  reader.text("name", link.name);
  reader.number("bandwidth", link.bandwidth, 1, kMostRate, true);
  link.bothDirections = 2 * link.bandwidth;
  // One direction alone is at least as slow as both together.
  reader.number("both_directions", link.bothDirections, link.bandwidth, kMostRate, false);
  reader.integer("shared_by", link.sharedBy, 1, kMostDevices, false);
  reader.text("source", link.source, false);
  reader.end();
  machine.links.push_back(link);
}

void readEngine(const json &value, const std::string &place, Machine &machine, Status &error) {
  Reader reader(value, place, error);
  MachineEngine engine;
  reader.text("name", engine.name);
  std::string kind;
  reader.text("kind", kind);
  if (error.ok() && kind != "copy" && kind != "gather")
    error = Status(StatusCode::InvalidArgument,
                   place + ".kind: expected copy or gather but got \"" + printable(kind) + "\"");
  engine.kind = kind == "gather" ? MachineEngine::Kind::Gather : MachineEngine::Kind::Copy;
  reader.reference("from", machine.tiers, engine.from);
  reader.reference("to", machine.tiers, engine.to);
  reader.reference("link", machine.links, engine.link);
  reader.number("bandwidth", engine.bandwidth, 1, kMostRate, true);
  reader.number("operation_seconds", engine.operationSeconds, 0, kMostSeconds, true);
  reader.integer("alignment", engine.alignment, 1, 1 << 20, false);
  reader.number("unaligned_factor", engine.unalignedFactor, 1, 1000, false);
  reader.number("compute_slowdown", engine.computeSlowdown, 0, 0.99, false);
  reader.text("source", engine.source, false);
  reader.end();
  if (error.ok() && engine.from == engine.to)
    error = Status(StatusCode::InvalidArgument,
                   place + ": expected two tiers but from and to are both \"" +
                       machine.tiers[size_t(engine.from)].name + "\"");
  machine.engines.push_back(engine);
}

void readCompute(const json &value, const std::string &place, Machine &machine, Status &error) {
  Reader reader(value, place, error);
  reader.number("bf16_flops", machine.bf16Flops, 1, kMostRate, true);
  reader.number("f32_flops", machine.f32Flops, 1, kMostRate, true);
  reader.number("fp8_flops", machine.fp8Flops, 0, kMostRate, false);
  reader.number("efficiency", machine.efficiency, 0.001, 1, false);
  reader.number("launch_seconds", machine.launchSeconds, 0, kMostSeconds, false);
  reader.text("source", machine.computeSource, false);
  reader.end();
}

void readPartition(const json &value, const std::string &place, Machine &machine, Status &error) {
  Reader reader(value, place, error);
  MachinePartition &partition = machine.partition;
  reader.integer("tensor", partition.tensor, 1, kMostDevices, false);
  reader.integer("expert", partition.expert, 1, kMostDevices, false);
  reader.integer("pipeline", partition.pipeline, 1, kMostDevices, false);
  reader.end();
  // Experts are divided among the devices that divide the rest, or among more of them.
  int64_t devices = std::max(partition.tensor, partition.expert) * partition.pipeline;
  if (error.ok() && devices != machine.devices)
    error =
        Status(StatusCode::InvalidArgument,
               place + ": expected max(tensor, expert) × pipeline to be the " +
                   std::to_string(machine.devices) + " devices but got " + std::to_string(devices));
}

void readCollectives(const json &value, const std::string &place, Machine &machine, Status &error) {
  Reader reader(value, place, error);
  reader.number("bandwidth", machine.collectiveBandwidth, 1, kMostRate, true);
  reader.number("seconds", machine.collectiveSeconds, 0, kMostSeconds, true);
  reader.text("source", machine.collectiveSource, false);
  reader.end();
}

} // namespace

Expected<Machine> parseMachine(const std::string &text, const std::string &name) {
  Expected<json> value = parseJson(text);
  if (!value.ok())
    return Status(StatusCode::InvalidArgument, name + ": " + value.status().message());
  Machine machine;
  Status error;
  Reader reader(*value, name, error);
  reader.text("name", machine.name);
  reader.integer("devices", machine.devices, 1, kMostDevices, false);
  reader.list("tiers", true, [&](const json &each, const std::string &place) {
    readTier(each, place, machine, error);
  });
  bool hasFarTier = machine.tiers.size() > 1;
  reader.list("links", hasFarTier, [&](const json &each, const std::string &place) {
    readLink(each, place, machine, error);
  });
  checkNames(machine.tiers, "tiers", name, error);
  checkNames(machine.links, "links", name, error);
  reader.list("engines", hasFarTier, [&](const json &each, const std::string &place) {
    readEngine(each, place, machine, error);
  });
  checkNames(machine.engines, "engines", name, error);
  if (const json *compute = reader.find("compute", true))
    readCompute(*compute, name + ".compute", machine, error);
  if (const json *partition = reader.find("partition", machine.devices > 1))
    readPartition(*partition, name + ".partition", machine, error);
  if (const json *collectives = reader.find("collectives", machine.devices > 1))
    readCollectives(*collectives, name + ".collectives", machine, error);
  reader.end();
  if (!error.ok())
    return error;
  return machine;
}

} // namespace strata
