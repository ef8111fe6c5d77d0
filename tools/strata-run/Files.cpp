//===- Files.cpp - Arrays that go in and out of strata-run ----------------===//
#include "Files.h"

#include "strata/lib/Support/File.h"
#include "strata/lib/Support/Npy.h"
#include "strata/lib/Support/Text.h"

#include <algorithm>

namespace strata::run {

static Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}

std::string numberedPath(const std::string &path, size_t prompt, size_t count) {
  if (count == 1)
    return path;
  size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot <= name)
    dot = path.size();
  return path.substr(0, dot) + "-" + std::to_string(prompt) + path.substr(dot);
}

/// The width that all layers share: a file has one shape.
static Status commonWidth(const char *option, const char *what, const std::vector<int64_t> &widths,
                          int64_t &width) {
  if (widths.empty())
    return invalid(std::string(option) + ": the model has no " + what);
  width = widths.front();
  if (std::any_of(widths.begin(), widths.end(), [&](int64_t other) { return other != width; }))
    return Status(StatusCode::Unsupported, std::string(option) + ": the model's " + what +
                                               " differ in what they choose: " + shapeText(widths));
  return Status::success();
}

Status checkOutputs(const Options &options, const rt::ModelDescription &model) {
  int64_t width = 0;
  if (!options.rows.empty())
    if (Status status = commonWidth("--rows", "indexers", model.rowWidths, width); !status.ok())
      return status;
  if (!options.experts.empty())
    if (Status status = commonWidth("--experts", "mixtures", model.expertWidths, width);
        !status.ok())
      return status;
  std::vector<std::string> paths;
  for (const std::string *path :
       {&options.logits, &options.rows, &options.experts, &options.saveSequence})
    for (size_t i = 0; i < options.prompts.size() && !path->empty(); ++i)
      paths.push_back(numberedPath(*path, i, options.prompts.size()));
  for (const std::string *path : {&options.trace, &options.counters})
    if (!path->empty())
      paths.push_back(*path);
  // Making the temporary file and dropping it again is the one test that can be trusted.
  for (const std::string &path : paths)
    if (Expected<AtomicFile> file = AtomicFile::create(path); !file.ok())
      return file.status();
  std::sort(paths.begin(), paths.end());
  auto twice = std::adjacent_find(paths.begin(), paths.end());
  if (twice != paths.end() && twice->rfind("/dev/", 0) != 0)
    return invalid("two outputs would be written to " + *twice);
  return Status::success();
}

static Status readImport(const char *option, const char *what, const std::string &path,
                         const std::vector<int64_t> &widths, int64_t tokens,
                         std::vector<int32_t> &values) {
  int64_t width = 0;
  if (Status status = commonWidth(option, what, widths, width); !status.ok())
    return status;
  Expected<NpyArray<int32_t>> array = readNpyIntegers(path);
  if (!array.ok())
    return array.status();
  std::vector<int64_t> expected{int64_t(widths.size()), tokens, width};
  if (array->shape != expected)
    return invalid(path + ": expected shape " + shapeText(expected) + " (" + what +
                   ", prompt + new - 1 tokens, choices) but got " + shapeText(array->shape));
  values = std::move(array->values);
  return Status::success();
}

Status readImports(const Options &options, const rt::ModelDescription &model, size_t number,
                   int64_t promptTokens, rt::Prompt &prompt) {
  size_t count = options.prompts.size();
  int64_t tokens = contextTokens(model, options.session, promptTokens);
  if (!options.importRows.empty())
    if (Status status =
            readImport("--import-rows", "indexers", numberedPath(options.importRows, number, count),
                       model.rowWidths, tokens, prompt.importedRows);
        !status.ok())
      return status;
  if (!options.importExperts.empty())
    return readImport("--import-experts", "mixtures",
                      numberedPath(options.importExperts, number, count), model.expertWidths,
                      tokens, prompt.importedExperts);
  return Status::success();
}

/// Layers follow each other: [layers, T, width].
static Status writeLayers(const std::string &path, const std::vector<std::vector<int32_t>> &layers,
                          int64_t tokens, int64_t width) {
  std::vector<int32_t> values;
  for (const std::vector<int32_t> &layer : layers)
    values.insert(values.end(), layer.begin(), layer.end());
  return writeNpy(path, {int64_t(layers.size()), tokens, width}, values.data());
}

Status writeOutputs(const Options &options, const rt::ModelDescription &model, size_t number,
                    const rt::Generation &generation) {
  size_t count = options.prompts.size();
  if (!options.logits.empty())
    if (Status status =
            writeNpy(numberedPath(options.logits, number, count),
                     {generation.computed(), model.vocabularySize}, generation.logits.data());
        !status.ok())
      return status;
  if (!options.rows.empty())
    if (Status status = writeLayers(numberedPath(options.rows, number, count), generation.rows,
                                    generation.computed(), model.rowWidths.front());
        !status.ok())
      return status;
  if (!options.experts.empty())
    return writeLayers(numberedPath(options.experts, number, count), generation.experts,
                       generation.computed(), model.expertWidths.front());
  return Status::success();
}

} // namespace strata::run
