//===- PlanJson.cpp - plan.json -------------------------------------------===//
#include "strata/lib/Plan/Plan.h"

#include "strata/lib/Support/Json.h"

#include <map>
#include <set>

using nlohmann::json;
using nlohmann::ordered_json;

namespace strata::plan {

static const char *getClassName(BufferClass bufferClass) {
  switch (bufferClass) {
  case BufferClass::Weights:
    return "weights";
  case BufferClass::Latents:
    return "latents";
  case BufferClass::IndexKeys:
    return "index keys";
  case BufferClass::Activations:
    return "activations";
  case BufferClass::Workspace:
    return "workspace";
  }
  return "";
}

std::string writePlan(const Problem &problem, const Plan &plan) {
  ordered_json file;
  file["machine"] = plan.machine;
  file["context"] = plan.context;
  file["batch"] = plan.batch;
  file["tokens"] = plan.tokens;
  file["capacity"] = plan.capacity;
  file["predicted"] = {{"step_seconds", plan.stepSeconds},
                       {"lower_bound_seconds", plan.lowerBound},
                       {"transfer_seconds", plan.transferSeconds},
                       {"scheduled_seconds", plan.scheduledSeconds},
                       {"exposed_seconds", plan.exposedSeconds},
                       {"near_bytes", plan.nearBytes},
                       {"least_capacity", plan.leastCapacity},
                       {"saved_by_a_gigabyte", plan.perGigabyte},
                       {"saved_by_ten_gigabytes_per_second", plan.perTenGigabytesPerSecond},
                       {"solver", plan.solver}};
  ordered_json groups = ordered_json::array();
  for (size_t i = 0; i < problem.groups.size(); ++i)
    groups.push_back({{"name", problem.groups[i].name}, {"slots", plan.slotsOfGroup[i]}});
  file["groups"] = groups;
  ordered_json buffers = ordered_json::array();
  for (const Decision &decision : plan.decisions) {
    const Buffer &buffer = problem.buffers[decision.buffer];
    ordered_json entry = {{"name", buffer.name},
                          {"class", getClassName(buffer.bufferClass)},
                          {"bytes", buffer.bytes},
                          {"near", decision.isNear}};
    if (!decision.isNear)
      entry["engine"] = decision.engineName;
    entry["offset"] = decision.offset;
    buffers.push_back(entry);
  }
  file["buffers"] = buffers;
  return file.dump(1) + "\n";
}

namespace {

/// Reads fields that must be there; the first error counts.
class Reader {
public:
  explicit Reader(const std::string &file) : file(file) {}

  Status fail(const std::string &text) const {
    return Status(StatusCode::InvalidArgument, file + ": " + text);
  }
  template <typename T, typename Check>
  Status get(const json &object, const char *name, const std::string &where, const char *expected,
             Check check, T &value) const {
    auto found = object.find(name);
    if (found == object.end() || !check(*found))
      return fail(where + "'" + name + "': expected " + expected +
                  (found == object.end() ? " but it is missing" : " but got " + found->dump()));
    value = found->get<T>();
    return Status::success();
  }
  Status getCount(const json &object, const char *name, const std::string &where,
                  int64_t &value) const {
    return get(
        object, name, where, "a whole number of at least 0",
        [](const json &v) { return v.is_number_unsigned() && v <= (uint64_t(1) << 40); }, value);
  }

  const std::string &file;
};

} // namespace

/// Calls `take(number, entry)` for each entry of a list whose names are those of `names`, each
/// once, and whose fields are among `fields`.
template <typename Take>
static Status readNamed(const Reader &reader, const json &file, const char *list,
                        const std::map<std::string, size_t> &names,
                        const std::set<std::string> &fields, Take take) {
  auto found = file.find(list);
  if (found == file.end() || !found->is_array())
    return reader.fail(std::string("'") + list + "': expected a list");
  std::vector<bool> seen(names.size(), false);
  for (const json &entry : *found) {
    std::string name;
    if (!entry.is_object())
      return reader.fail(std::string("'") + list + "': expected objects");
    if (Status status = reader.get(
            entry, "name", std::string(list) + ": ", "a name",
            [](const json &v) { return v.is_string(); }, name);
        !status.ok())
      return status;
    auto known = names.find(name);
    if (known == names.end())
      return reader.fail(std::string("'") + list + "': the program has no '" + name + "'");
    if (seen[known->second])
      return reader.fail(std::string("'") + list + "': '" + name + "' is listed twice");
    seen[known->second] = true;
    for (const auto &[field, value] : entry.items())
      if (!fields.count(field))
        return reader.fail("'" + name + "': the field '" + field + "' is unknown");
    if (Status status = take(known->second, entry, "'" + name + "': "); !status.ok())
      return status;
  }
  for (const auto &[name, number] : names)
    if (!seen[number])
      return reader.fail(std::string("'") + list + "': '" + name + "' is missing");
  return Status::success();
}

static const std::set<std::string> kFileFields = {"machine",  "context",   "batch",  "tokens",
                                                  "capacity", "predicted", "groups", "buffers"};

Expected<Plan> readPlan(const Problem &problem, const std::string &text, const std::string &name) {
  Reader reader(name);
  Expected<json> parsed = parseJson(text);
  if (!parsed.ok())
    return reader.fail(parsed.status().message());
  if (!parsed->is_object())
    return reader.fail("expected an object");
  for (const auto &[field, value] : parsed->items())
    if (!kFileFields.count(field))
      return reader.fail("the field '" + field + "' is unknown");
  Plan plan;
  plan.slotsOfGroup.resize(problem.groups.size());
  plan.decisions.resize(problem.buffers.size());
  std::map<std::string, size_t> groups, buffers;
  for (const RowGroup &group : problem.groups)
    groups.emplace(group.name, groups.size());
  for (const Buffer &buffer : problem.buffers)
    buffers.emplace(buffer.name, buffers.size());
  Status status =
      readNamed(reader, *parsed, "groups", groups, {"name", "slots"},
                [&](size_t number, const json &entry, const std::string &where) {
                  return reader.getCount(entry, "slots", where, plan.slotsOfGroup[number]);
                });
  if (!status.ok())
    return status;
  status = readNamed(reader, *parsed, "buffers", buffers,
                     {"name", "class", "bytes", "near", "engine", "offset"},
                     [&](size_t number, const json &entry, const std::string &where) {
                       Decision &decision = plan.decisions[number];
                       decision.buffer = int(number);
                       Status result = reader.get(
                           entry, "near", where, "true or false",
                           [](const json &v) { return v.is_boolean(); }, decision.isNear);
                       // Without an engine the quickest one is taken.
                       if (result.ok() && !decision.isNear && entry.contains("engine")) {
                         result = reader.get(
                             entry, "engine", where, "the name of an engine",
                             [](const json &v) { return v.is_string(); }, decision.engineName);
                       }
                       return result;
                     });
  if (!status.ok())
    return status;
  return plan;
}

} // namespace strata::plan
