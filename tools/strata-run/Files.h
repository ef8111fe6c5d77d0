//===- Files.h - Arrays that go in and out of strata-run --------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATA_RUN_FILES_H
#define STRATA_TOOLS_STRATA_RUN_FILES_H

#include "Options.h"

#include "strata/runtime/core/Session.h"

namespace strata::run {

/// `path` for one of `count` prompts: "F.npy" for a single one, otherwise "F-0.npy", "F-1.npy", …
std::string numberedPath(const std::string &path, size_t prompt, size_t count);

/// Can all files be written that the run will end with? Asked before it begins.
Status checkOutputs(const Options &options, const rt::ModelDescription &model);

/// Reads the imported arrays of a prompt and checks their shapes: [indexers, T, k] and
/// [mixtures, T, experts per token]. What is in them, the session checks. `promptTokens` includes
/// those of a saved sequence.
Status readImports(const Options &options, const rt::ModelDescription &model, size_t number,
                   int64_t promptTokens, rt::Prompt &prompt);

/// Writes what the options ask for of a prompt.
Status writeOutputs(const Options &options, const rt::ModelDescription &model, size_t number,
                    const rt::Generation &generation);

} // namespace strata::run

#endif // STRATA_TOOLS_STRATA_RUN_FILES_H
