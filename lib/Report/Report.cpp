//===- Report.cpp - What a model costs ------------------------------------===//
#include "strata/lib/Report/Report.h"

#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/dialects/Strata/StoredBytes.h"
#include "strata/runtime/core/Executor.h"

using namespace mlir;
using namespace strata;

/// Lengths of the overview: those of published tables.
static constexpr int64_t kContexts[] = {1 << 10, 4 << 10, 32 << 10, 128 << 10, 200 << 10, 1 << 20};

static StepSizes getSizes(const ReportOptions &options, int64_t context) {
  StepSizes sizes;
  sizes.tokens = double(options.batch);
  sizes.wanted = double(options.batch);
  sizes.visible = double(context);
  if (options.step == StepKind::Prefill) {
    sizes.tokens *= double(context);
    sizes.visible = double(context + 1) / 2;
    sizes.spread = double(context - 1) / 2;
  }
  sizes.weights = options.weights;
  sizes.caches = options.caches;
  return sizes;
}

/// Costs of one token of the step.
static StepCosts computeTokenCosts(func::FuncOp step, const ReportOptions &options,
                                   int64_t context) {
  StepSizes sizes = getSizes(options, context);
  StepCosts costs = computeStepCosts(step, sizes);
  costs.outside = costs.outside.dividedBy(sizes.tokens);
  for (LayerCosts &layer : costs.layers)
    layer.costs = layer.costs.dividedBy(sizes.tokens);
  return costs;
}

static void fillRecordBytes(func::FuncOp step, Report &report) {
  for (Type type : step.getArgumentTypes())
    if (auto cache = dyn_cast<CacheType>(type)) {
      double &bytes = holdsIndexKeys(cache) ? report.indexRecordBytes : report.recordBytes;
      bytes = std::max(bytes, getRecordBytes(cache, report.options.caches));
    }
}

/// Lowers a module that is not further than `from` and reads what it launches.
static FailureOr<Workspace> lowerAndMeasure(ModuleOp module, const ReportOptions &options,
                                            const PipelineOptions &pipeline, Phase from) {
  PassManager lower(module.getContext(), ModuleOp::getOperationName());
  buildPipeline(lower, pipeline, from, Phase::Lower);
  if (failed(lower.run(module)))
    return failure();
  int64_t pages = (options.context + pipeline.pageSize - 1) / pipeline.pageSize * options.batch;
  return computeWorkspace(module, options.getTokens(), options.batch, pages * pipeline.pageSize);
}

FailureOr<Report> strata::makeReport(ModuleOp module, const ReportOptions &options,
                                     const PipelineOptions &pipeline, Phase from) {
  Report report;
  report.options = options;
  auto positions = module->getAttrOfType<IntegerAttr>(kMaxPositionsAttr);
  if (!positions || positions.getInt() < 1)
    return module.emitError() << "expected the module to have " << kMaxPositionsAttr;
  report.maxPositions = positions.getInt();
  if (report.options.context == 0)
    report.options.context = report.maxPositions;
  if (auto type = module->getAttrOfType<StringAttr>(kModelTypeAttr))
    report.modelType = type.str();
  if (report.options.getTokens() > rt::kMaxStepTokens)
    return module.emitError() << "expected a step of at most " << rt::kMaxStepTokens
                              << " tokens but got " << options.batch << " prompts of "
                              << report.options.context;

  if (from < Phase::Fuse) {
    PipelineOptions oneByOne = pipeline;
    oneByOne.fuse = false;
    OwningOpRef<ModuleOp> copy = module.clone();
    FailureOr<Workspace> unfused = lowerAndMeasure(*copy, report.options, oneByOne, from);
    if (failed(unfused))
      return failure();
    report.unfused = *unfused;
  }

  // Everything that is decided about the model comes before lower; there ops become commands.
  Phase decided = *std::prev(llvm::find(getPhases(), Phase::Lower));
  PassManager decide(module.getContext(), ModuleOp::getOperationName());
  buildPipeline(decide, pipeline, from, decided);
  buildFormats(decide, pipeline);
  if (failed(decide.run(module)))
    return failure();
  auto step = module.lookupSymbol<func::FuncOp>(kEntryPoint);
  if (!step || step.isExternal())
    return module.emitError() << "expected an entry point @" << kEntryPoint;
  report.costs = computeTokenCosts(step, report.options, report.options.context);
  fillRecordBytes(step, report);
  for (int64_t context : kContexts)
    if (options.batch * (options.step == StepKind::Prefill ? context : 1) <= rt::kMaxStepTokens)
      report.contexts.push_back(
          {context, computeTokenCosts(step, report.options, context).getTotal()});

  FailureOr<Workspace> workspace = lowerAndMeasure(module, report.options, pipeline, decided);
  if (failed(workspace))
    return failure();
  report.workspace = *workspace;
  return report;
}

std::string strata::writeReport(const Report &report, ReportFormat format) {
  switch (format) {
  case ReportFormat::Text:
    return writeText(report);
  case ReportFormat::Json:
    return writeJson(report);
  case ReportFormat::Html:
    return writeHtml(report);
  }
  llvm_unreachable("a format without a writer");
}
