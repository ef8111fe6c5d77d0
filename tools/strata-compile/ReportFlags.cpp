//===- ReportFlags.cpp - The options of strata-compile --report -----------===//
#include "ReportFlags.h"

#include "strata/runtime/core/Executor.h"

#include "llvm/Support/WithColor.h"

#include <limits>

using namespace llvm;
using namespace strata;

ReportFlags::ReportFlags(cl::OptionCategory &category)
    : format("report", cl::cat(category),
             cl::desc("instead of compiling, say what a step costs, as"),
             cl::values(clEnumValN(ReportFormat::Text, "text", "tables"),
                        clEnumValN(ReportFormat::Json, "json", "one object"),
                        clEnumValN(ReportFormat::Html, "html", "one page with pictures"))),
      context("context", cl::cat(category), cl::value_desc("n"),
              cl::desc("with --report or --machine: positions that a token sees, or tokens of a "
                       "prompt (default: the model's positions)")),
      batch("batch", cl::init(1), cl::cat(category), cl::value_desc("n"),
            cl::desc("with --report or --machine: sequences of the step (default: 1)")),
      step(
          "step", cl::init(StepKind::Decode), cl::cat(category), cl::desc("with --report:"),
          cl::values(clEnumValN(StepKind::Decode, "decode", "one token of each sequence (default)"),
                     clEnumValN(StepKind::Prefill, "prefill", "whole prompts"))),
      weights("weights", cl::init(StorageFormat::AsWritten), cl::cat(category),
              cl::desc("with --report: what matrices are stored as (default: as the checkpoint "
                       "does)"),
              cl::values(
                  clEnumValN(StorageFormat::BF16, "bf16", "bfloat16"),
                  clEnumValN(StorageFormat::FP8, "fp8", "e4m3 with a scale for each 128 x 128"))) {}

static bool isInRange(const cl::opt<int64_t> &option, int64_t most) {
  if (option >= 1 && option <= most)
    return true;
  WithColor::error() << "--" << option.ArgStr << ": expected 1 to " << most << " but got "
                     << option.getValue() << "\n";
  return false;
}

mlir::FailureOr<std::pair<int64_t, int64_t>> ReportFlags::getStepSizes() const {
  // Positions are 32-bit numbers.
  if ((context.getNumOccurrences() && !isInRange(context, std::numeric_limits<int32_t>::max())) ||
      !isInRange(batch, rt::kMaxStepTokens))
    return mlir::failure();
  return std::pair<int64_t, int64_t>(context.getNumOccurrences() ? context : 0, batch);
}

mlir::FailureOr<std::optional<ReportRequest>> ReportFlags::get(std::optional<CacheChoice> cache,
                                                               bool hasMachine) const {
  if (!format.getNumOccurrences()) {
    for (const cl::Option *option :
         std::initializer_list<const cl::Option *>{&context, &batch, &step, &weights}) {
      bool isSize = option == &context || option == &batch;
      if (option->getNumOccurrences() && !(isSize && hasMachine)) {
        WithColor::error() << "--" << option->ArgStr << " belongs to --report"
                           << (isSize ? " or --machine" : "") << "\n";
        return mlir::failure();
      }
    }
    if (cache == CacheChoice::FP8) {
      WithColor::error() << "--cache=fp8 belongs to --report: expected f32 or bf16 to compile\n";
      return mlir::failure();
    }
    return std::optional<ReportRequest>();
  }
  mlir::FailureOr<std::pair<int64_t, int64_t>> sizes = getStepSizes();
  if (failed(sizes))
    return mlir::failure();
  ReportRequest request{format, {}};
  request.options.step = step;
  request.options.context = sizes->first;
  request.options.batch = sizes->second;
  request.options.weights = weights;
  if (cache == CacheChoice::BF16)
    request.options.caches = StorageFormat::BF16;
  if (cache == CacheChoice::FP8)
    request.options.caches = StorageFormat::FP8;
  return std::optional<ReportRequest>(request);
}
