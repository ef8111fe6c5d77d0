//===- TunedModel.cpp - One checkpoint under many schedules ---------------===//
#include "TunedModel.h"

#include "strata/InitAll.h"
#include "strata/dialects/Interfaces/CostInterface.h"
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Analysis/AttentionLayers.h"
#include "strata/runtime/core/Package.h"
#include "strata/runtime/cpu/CpuExecutor.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

#include <numeric>

using namespace mlir;
using namespace strata;
using namespace strata::tune;

template <typename T> using Result = strata::Expected<T>;

/// Windows that the recall matrix is measured on.
constexpr int64_t kRecallWindows = 4;

static Status invalid(const Twine &message) {
  return Status(StatusCode::InvalidArgument, message.str());
}

static Status prefixed(const std::string &name, const Status &status) {
  return Status(status.code(), name + ": " + status.message());
}

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

TunedModel::TunedModel(CommandLine commandLine)
    : commandLine_(std::move(commandLine)),
      mlirContext_(makeRegistry(), MLIRContext::Threading::DISABLED) {
  mlirContext_.printOpOnDiagnostic(false); // an op may be a whole model
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

/// The config may declare that layers share although the checkpoint has their indexers; they count.
Status TunedModel::importAll() {
  std::string path = commandLine_.checkpoint + "/config.json";
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.status();
  std::vector<importer::Note> notes;
  Result<importer::ModelConfig> config = importer::parseModelConfig(file->text(), notes);
  if (!config.ok())
    return prefixed(path, config.status());
  Result<Checkpoint> checkpoint = Checkpoint::open(commandLine_.checkpoint);
  if (!checkpoint.ok())
    return checkpoint.status();
  checkpoint_ = std::move(*checkpoint);

  importer::ModelConfig all = *config;
  for (importer::LayerConfig &layer : all.layers)
    if (layer.index == importer::IndexSource::Shared)
      layer.index = importer::IndexSource::Own;
  std::vector<importer::Note> ignored;
  ImportedModel module = importModel(mlirContext_, all, &*checkpoint_, {}, ignored);
  if (!module.ok())
    module = importModel(mlirContext_, *config, &*checkpoint_, {}, notes);
  if (!module.ok())
    return module.status();
  module_ = std::move(*module);
  context_ = commandLine_.context ? commandLine_.context : config->maxPositions;

  rt::ModelDescription description;
  description.vocabularySize = config->vocabulary;
  description.maxPositions = config->maxPositions;
  if (context_ > config->maxPositions)
    return invalid("--context: expected at most " + Twine(config->maxPositions) +
                   ", the model's positions, but got " + Twine(context_));
  Status status = rt::checkScore(description, text_->text(), {commandLine_.window});
  return status.ok() ? status : prefixed(commandLine_.text, status);
}

Status TunedModel::findIndexers() {
  AttentionLayers layers(module_->lookupSymbol<func::FuncOp>(kEntryPoint));
  if (layers.getSparseLayers().empty())
    return invalid(commandLine_.checkpoint +
                   ": the model has no indexers, so there is nothing to share");
  for (unsigned number : layers.getSparseLayers())
    declared_ += layers[number].owner == number ? 'F' : 'S';
  return Status::success();
}

Result<std::unique_ptr<TunedModel>> TunedModel::open(const CommandLine &commandLine) {
  std::unique_ptr<TunedModel> model(new TunedModel(commandLine));
  Result<MappedFile> text = MappedFile::open(commandLine.text);
  if (!text.ok())
    return text.status();
  model->text_ = std::move(*text);
  if (Status status = model->importAll(); !status.ok())
    return status;
  if (Status status = model->findIndexers(); !status.ok())
    return status;
  return model;
}

int64_t TunedModel::windows() const {
  return rt::windowCount(int64_t(text_->size()), commandLine_.window);
}

//===----------------------------------------------------------------------===//
// One schedule
//===----------------------------------------------------------------------===//

namespace {
/// Collects errors, as one line each; remarks and warnings are for the user of strata-compile.
class ErrorCollector {
public:
  explicit ErrorCollector(MLIRContext &context)
      : handler_(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            text_ += (text_.empty() ? "" : "; ") + diagnostic.str();
          return success();
        }) {}

  Status status(const std::string &pattern) const {
    return Status(StatusCode::Unsupported, "schedule " + pattern + ": " + text_);
  }

private:
  std::string text_;
  ScopedDiagnosticHandler handler_;
};
} // namespace

Result<OwningOpRef<ModuleOp>> TunedModel::derive(const std::string &pattern, Phase to) {
  PipelineOptions options;
  options.compute = commandLine_.compute;
  options.cache = commandLine_.cache;
  options.schedule = "pattern:" + pattern;
  options.allowed = {Approximation::Sharing};
  OwningOpRef<ModuleOp> module = module_->clone();
  ErrorCollector errors(mlirContext_);
  PassManager manager(&mlirContext_, ModuleOp::getOperationName());
  buildPipeline(manager, options, Phase::Input, to);
  if (failed(manager.run(*module)))
    return errors.status(pattern);
  // The pass keeps a layer's own rows where sharing would be wrong; then it is another schedule.
  if (to == Phase::Share) {
    AttentionLayers layers(module->lookupSymbol<func::FuncOp>(kEntryPoint));
    for (auto [index, number] : llvm::enumerate(layers.getSparseLayers()))
      if ((layers[number].owner == number) != (pattern[index] == 'F'))
        return Status(StatusCode::Unsupported, "schedule " + pattern + ": layer " +
                                                   std::to_string(index) +
                                                   " can't use the rows of a layer below");
  }
  return module;
}

Result<std::string> TunedModel::compile(const std::string &pattern) {
  Result<OwningOpRef<ModuleOp>> module = derive(pattern, Phase::Lower);
  if (!module.ok())
    return module.status();
  ErrorCollector errors(mlirContext_);
  FailureOr<std::string> package =
      emitPackage(**module, {*getProcessorByName("native")}, /*inputModule=*/"", &kernels_);
  if (failed(package))
    return errors.status(pattern);
  return std::move(*package);
}

/// A compiled schedule with all that it needs to run.
struct TunedModel::Loaded {
  std::string bytes;
  std::unique_ptr<rt::Package> package;
  rt::ScoreOptions options;
  rt::ExecutorOptions limits;
  std::unique_ptr<rt::Executor> executor;
};

Result<std::unique_ptr<TunedModel::Loaded>> TunedModel::load(const std::string &pattern,
                                                             int64_t windows) {
  Result<std::string> bytes = compile(pattern);
  if (!bytes.ok())
    return bytes.status();
  auto loaded = std::make_unique<Loaded>();
  loaded->bytes = std::move(*bytes);
  Result<std::unique_ptr<rt::Package>> package = rt::Package::fromBytes(loaded->bytes);
  if (!package.ok())
    return package.status();
  loaded->package = std::move(*package);
  loaded->options = {commandLine_.window, commandLine_.chunk};
  rt::planScore(loaded->package->model(), loaded->options, windows, loaded->limits);
  Result<std::unique_ptr<rt::Executor>> executor =
      rt::createCpuExecutor(*loaded->package, *checkpoint_, loaded->limits);
  if (!executor.ok())
    return executor.status();
  loaded->executor = std::move(*executor);
  return loaded;
}

Result<std::vector<double>> TunedModel::run(Loaded &loaded, const std::vector<int64_t> &windows,
                                            rt::RecallSums *recall) {
  rt::ScoreStatistics statistics;
  Result<std::vector<double>> scores = rt::scoreWindows(
      *loaded.executor, loaded.limits, text_->text(), windows, loaded.options, statistics, recall);
  return scores.ok() ? scores : prefixed(commandLine_.text, scores.status());
}

Result<std::vector<double>> TunedModel::score(const std::string &pattern,
                                              const std::vector<int64_t> &windows) {
  Result<std::unique_ptr<Loaded>> loaded = load(pattern, int64_t(windows.size()));
  if (!loaded.ok())
    return loaded.status();
  return run(**loaded, windows, nullptr);
}

Result<std::vector<double>> TunedModel::scoreDeclared(Matrix &recall) {
  Result<std::unique_ptr<Loaded>> loaded = load(declared_, windows());
  if (!loaded.ok())
    return loaded.status();
  Result<rt::RecallSums> sums = rt::RecallSums::create((*loaded)->package->model());
  if (!sums.ok())
    return sums.status();
  if (commandLine_.window <= sums->width())
    return invalid("--window: expected more than " + Twine(sums->width()) +
                   " bytes, the rows that an indexer chooses, but got " +
                   Twine(commandLine_.window) + ": all layers would choose all rows");
  std::vector<int64_t> first(size_t(std::min(kRecallWindows, windows())));
  std::iota(first.begin(), first.end(), 0);
  std::vector<int64_t> rest(size_t(windows()) - first.size());
  std::iota(rest.begin(), rest.end(), int64_t(first.size()));
  Result<std::vector<double>> scores = run(**loaded, first, &*sums);
  if (!scores.ok())
    return scores.status();
  Result<std::vector<double>> others = run(**loaded, rest, nullptr);
  if (!others.ok())
    return others.status();
  scores->insert(scores->end(), others->begin(), others->end());
  recall = sums->matrix();
  return scores;
}

Result<double> TunedModel::flops(const std::string &pattern) {
  Result<OwningOpRef<ModuleOp>> module = derive(pattern, Phase::Share);
  if (!module.ok())
    return module.status();
  StepSizes sizes;
  sizes.visible = double(context_);
  double flops = 0;
  (*module)->walk([&](CostOpInterface op) { flops += op.getCost(sizes).flops; });
  return flops;
}
