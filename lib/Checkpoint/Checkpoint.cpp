//===- Checkpoint.cpp - A model's tensors, in one file or in shards -------===//
#include "strata/lib/Checkpoint/Checkpoint.h"

#include "strata/lib/Support/Json.h"
#include "strata/lib/Support/Text.h"

#include <algorithm>
#include <filesystem>
#include <set>

using nlohmann::json;
namespace fs = std::filesystem;

namespace strata {

static constexpr std::string_view extension = ".safetensors";

static bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

Status Checkpoint::add(const std::string &file) {
  Expected<SafetensorsFile> opened = SafetensorsFile::open(file);
  if (!opened.ok())
    return opened.status();
  for (const auto &[name, tensor] : opened->tensors())
    if (!tensors_.try_emplace(name, &tensor).second)
      return Status(StatusCode::Corrupt, file + ": tensor " + printable(name) +
                                             " is in another file of the checkpoint too");
  // The map's nodes, to which tensors_ points, stay where they are when the file is moved.
  files_.push_back(std::move(*opened));
  return Status::success();
}

Status Checkpoint::openIndex(const std::string &folder, const std::string &index) {
  auto error = [&](const std::string &message) {
    return Status(StatusCode::Corrupt, index + ": " + message);
  };
  Expected<MappedFile> file = MappedFile::open(index);
  if (!file.ok())
    return file.status();
  Expected<json> parsed = parseJson(file->text());
  if (!parsed.ok())
    return error(parsed.status().message());
  if (!parsed->is_object() || !parsed->contains("weight_map") ||
      !(*parsed)["weight_map"].is_object())
    return error("expected an object with a weight_map, which is an object too");
  const json &weightMap = (*parsed)["weight_map"];

  std::set<std::string> shards;
  for (const auto &[name, shard] : weightMap.items()) {
    if (!shard.is_string())
      return error("tensor " + printable(name) + ": expected a file name");
    const std::string &fileName = shard.get_ref<const std::string &>();
    // A checkpoint may come from anyone; it must not make us read outside its folder.
    if (fileName.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos ||
        !endsWith(fileName, extension))
      return error("tensor " + printable(name) +
                   ": expected the name of a .safetensors file in the same folder but got '" +
                   printable(fileName) + "'");
    shards.insert(fileName);
  }
  if (shards.empty())
    return error("the weight_map is empty");

  for (const std::string &shard : shards) {
    if (Status status = add(folder + "/" + shard); !status.ok())
      return status.code() == StatusCode::NotFound
                 ? Status(StatusCode::NotFound, status.message() + " (named in " + index + ")")
                 : status;
    for (const auto &[name, tensor] : files_.back().tensors()) {
      auto entry = weightMap.find(name);
      if (entry != weightMap.end() && *entry != shard)
        return error("tensor " + printable(name) + " is in " + shard + ", but the index says " +
                     printable(entry->get_ref<const std::string &>()));
    }
  }
  std::vector<std::string> absent;
  for (const auto &[name, shard] : weightMap.items())
    if (!find(name))
      absent.push_back(printable(name) + " in " + shard.get_ref<const std::string &>());
  if (!absent.empty())
    return error("tensors that are not in the file that the index says: " + listText(absent));
  return Status::success();
}

Expected<Checkpoint> Checkpoint::open(const std::string &path) {
  Checkpoint checkpoint;
  checkpoint.path_ = path;
  std::error_code code;
  fs::file_status status = fs::status(path, code);
  if (status.type() == fs::file_type::not_found)
    return Status(StatusCode::NotFound, path + ": no such file or folder");
  auto finish = [&](Status status) -> Expected<Checkpoint> {
    if (!status.ok())
      return status;
    return std::move(checkpoint);
  };
  if (!fs::is_directory(status))
    return finish(checkpoint.add(path));

  std::string single = path + "/model.safetensors", index = single + ".index.json";
  if (fs::exists(single, code))
    return finish(checkpoint.add(single));
  if (fs::exists(index, code))
    return finish(checkpoint.openIndex(path, index));

  std::vector<std::string> files;
  for (fs::directory_iterator entry(path, code), end; !code && entry != end; entry.increment(code))
    if (endsWith(entry->path().native(), extension))
      files.push_back(entry->path());
  if (code)
    return Status(StatusCode::Io, path + ": can't be listed: " + code.message());
  if (files.empty())
    return Status(StatusCode::NotFound, path + ": no .safetensors file in this folder");
  std::sort(files.begin(), files.end());
  for (const std::string &file : files)
    if (Status added = checkpoint.add(file); !added.ok())
      return added;
  return finish(Status::success());
}

const TensorView *Checkpoint::find(std::string_view name) const {
  auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

std::vector<std::string_view> Checkpoint::names() const {
  std::vector<std::string_view> result;
  result.reserve(tensors_.size());
  for (const auto &entry : tensors_)
    result.push_back(entry.first);
  return result;
}

} // namespace strata
