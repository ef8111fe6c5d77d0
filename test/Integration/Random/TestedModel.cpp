//===- TestedModel.cpp - A random model, imported and compiled ------------===//
#include "TestedModel.h"

#include "strata/InitAll.h"
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Import/ImportModel.h"
#include "strata/lib/Target/EmitPackage.h"
#include "strata/runtime/cpu/CpuExecutor.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace strata::test {

static constexpr const char *kDeclared = "declared";

static func::FuncOp getStep(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>(kEntryPoint);
}

//===----------------------------------------------------------------------===//
// What no config asks for
//===----------------------------------------------------------------------===//

static void changeRouters(ModuleOp module, const ModuleChanges &changes) {
  module.walk([&](RouteOp route) {
    if (changes.softmaxScoring)
      route.setScoring(Scoring::Softmax);
    if (changes.maximumGroupScore)
      route.setGroupScore(GroupScore::Maximum);
  });
}

static void changeSources(ModuleOp module, const ModuleChanges &changes) {
  if (changes.lastTokens == 0)
    return;
  module.walk([&](AttentionOp attention) {
    Value cache = attention.getCaches().front();
    SmallVector<Value> caches;
    SmallVector<Attribute> selectors;
    auto add = [&](SelectorKind kind, int64_t count) {
      caches.push_back(cache);
      selectors.push_back(SelectorAttr::get(attention.getContext(), kind, count));
    };
    if (!attention.getRows().empty())
      add(SelectorKind::Rows, 0);
    add(SelectorKind::Window, changes.lastTokens);
    if (changes.firstTokens != 0)
      add(SelectorKind::First, changes.firstTokens);
    attention.getCachesMutable().assign(caches);
    attention.setSelectorsAttr(ArrayAttr::get(attention.getContext(), selectors));
  });
}

/// Queries and keys of each indexer are multiplied by the same orthogonal matrix.
static void insertHadamard(ModuleOp module) {
  module.walk([&](SelectOp select) {
    auto append = select.getCache().getDefiningOp<AppendOp>();
    OpBuilder builder(append);
    OpOperand &key = append.getValuesMutable()[0];
    key.set(HadamardOp::create(builder, append.getLoc(), key.get().getType(), key.get()));
    builder.setInsertionPoint(select);
    Value query = select.getQuery();
    select.getQueryMutable().assign(
        HadamardOp::create(builder, select.getLoc(), query.getType(), query));
  });
}

/// Layouts of caches, from the arguments of the entry point to its results.
static void changeCaches(ModuleOp module, const ModuleChanges &changes) {
  func::FuncOp step = getStep(module);
  for (BlockArgument argument : step.getArguments().drop_front()) {
    auto old = cast<CacheType>(argument.getType());
    SmallVector<Value> values{argument};
    bool isIndex = false;
    for (size_t i = 0; i < values.size(); ++i)
      for (Operation *user : values[i].getUsers()) {
        isIndex |= isa<SelectOp>(user);
        if (auto append = dyn_cast<AppendOp>(user))
          values.push_back(append.getResult());
      }
    for (Value value : values)
      value.setType(CacheType::get(old.getContext(), old.getFields(), old.getPageSize(),
                                   changes.planar, old.getRope(), changes.hadamard && isIndex));
  }
  auto results = step.front().getTerminator()->getOperandTypes();
  step.setType(FunctionType::get(step.getContext(), step.front().getArgumentTypes(), results));
}

//===----------------------------------------------------------------------===//
// From a description to a package
//===----------------------------------------------------------------------===//

static std::shared_ptr<MLIRContext> createContext() {
  static const DialectRegistry *registry = [] {
    auto *all = new DialectRegistry;
    registerAllDialects(*all);
    return all;
  }();
  return std::make_shared<MLIRContext>(*registry, MLIRContext::Threading::DISABLED);
}

Expected<std::unique_ptr<TestedModel>> TestedModel::create(const RandomModel &model,
                                                           const std::string &folder) {
  Expected<CheckpointSummary> written = writeCheckpoint(model.config.dump(), model.weights, folder);
  if (!written.ok())
    return written.status();
  Expected<Checkpoint> checkpoint = Checkpoint::open(folder);
  if (!checkpoint.ok())
    return checkpoint.status();
  std::unique_ptr<TestedModel> tested(
      new TestedModel(model, std::move(*checkpoint), createContext()));
  std::string errors;
  ScopedDiagnosticHandler handler(tested->context_.get(), [&](Diagnostic &diagnostic) {
    errors += (errors.empty() ? "" : "\n") + diagnostic.str();
  });
  std::vector<importer::Note> notes;
  ImportedModel imported = importFolder(*tested->context_, folder, ImportOptions(), notes);
  if (!imported.ok())
    return Status(imported.status().code(), "import: " + imported.status().message() + errors);
  tested->module_ = std::move(*imported);
  changeRouters(*tested->module_, model.changes);
  changeSources(*tested->module_, model.changes);
  if (model.changes.hadamard)
    insertHadamard(*tested->module_);
  changeCaches(*tested->module_, model.changes);
  if (failed(verify(*tested->module_)))
    return Status(StatusCode::InvalidArgument, "changes: " + errors);
  if (Status status = tested->compile(/*fuse=*/true, kDeclared); !status.ok())
    return Status(status.code(), "compilation: " + status.message() + errors);
  tested->findChoices();
  return tested;
}

Status TestedModel::compile(bool fuse, const std::string &schedule,
                            const PlacementOptions &placement) {
  PipelineOptions options;
  options.placement = placement;
  options.compute = model_.bf16Compute ? NumberFormat::BF16 : NumberFormat::F32;
  options.cache = model_.bf16Cache ? NumberFormat::BF16 : NumberFormat::F32;
  options.pageSize = model_.pageSize;
  options.fuse = fuse;
  if (schedule != kDeclared) {
    options.schedule = schedule;
    options.allowed = {Approximation::Sharing};
  }
  auto run = [&](Phase from, Phase to, ModuleOp module) {
    PassManager manager(context_.get(), ModuleOp::getOperationName());
    buildPipeline(manager, options, from, to);
    return manager.run(module);
  };
  OwningOpRef<ModuleOp> lowered = module_->clone();
  if (failed(run(Phase::Input, Phase::Share, *lowered)))
    return Status(StatusCode::Unsupported, "the phase share failed: ");
  if (schedule != kDeclared)
    module_ = lowered->clone();
  if (failed(run(Phase::Share, Phase::Emit, *lowered)))
    return Status(StatusCode::Unsupported, "the passes failed: ");
  bool newer = model_.newerProcessor && __builtin_cpu_supports("x86-64-v3");
  FailureOr<std::string> package =
      emitPackage(*lowered, {*getProcessorByName(newer ? "x86-64-v3" : "x86-64")}, "");
  if (failed(package))
    return Status(StatusCode::Unsupported, "no package: ");
  bytes_ = std::move(*package);
  Expected<std::unique_ptr<rt::Package>> read = rt::Package::fromBytes(bytes_);
  if (!read.ok())
    return read.status();
  package_ = std::move(*read);
  return Status::success();
}

Expected<std::unique_ptr<TestedModel>>
TestedModel::recompile(bool fuse, const std::string &schedule,
                       const PlacementOptions &placement) const {
  Expected<Checkpoint> checkpoint = Checkpoint::open(checkpoint_.path());
  if (!checkpoint.ok())
    return checkpoint.status();
  std::unique_ptr<TestedModel> other(new TestedModel(model_, std::move(*checkpoint), context_));
  std::string errors;
  ScopedDiagnosticHandler handler(context_.get(), [&](Diagnostic &diagnostic) {
    errors += (errors.empty() ? "" : "\n") + diagnostic.str();
  });
  other->module_ = module_->clone();
  if (Status status = other->compile(fuse, schedule, placement); !status.ok())
    return Status(status.code(), status.message() + errors);
  other->findChoices();
  return other;
}

Expected<std::unique_ptr<TestedModel>> TestedModel::withoutFusion() const {
  return recompile(/*fuse=*/false, kDeclared);
}

Expected<std::unique_ptr<TestedModel>>
TestedModel::withSchedule(const std::string &schedule) const {
  return recompile(/*fuse=*/true, schedule);
}

Expected<std::unique_ptr<TestedModel>> TestedModel::withPlacement(const PlacementOptions &placement,
                                                                  bool fuse) const {
  return recompile(fuse, kDeclared, placement);
}

void TestedModel::findChoices() {
  size_t indexers = 0;
  for (Operation &op : getStep(*module_).front()) {
    auto layerOf = [&] { return op.getAttrOfType<IntegerAttr>(kLayerAttr).getInt(); };
    if (isa<SelectOp>(op))
      choices_.push_back({true, indexers++, layerOf()});
    if (auto route = dyn_cast<RouteOp>(op)) {
      choices_.push_back({false, routers_.size(), layerOf()});
      routers_.push_back({int64_t(route.getGroups()), int64_t(route.getTopGroups()),
                          route.getGroupScore() == GroupScore::Maximum});
    }
  }
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

std::optional<std::string> TestedModel::drawSchedule(RandomNumbers &random) const {
  int64_t layers = model_.config["num_hidden_layers"];
  std::vector<bool> owns(static_cast<size_t>(layers));
  for (const Choice &choice : choices_)
    if (choice.isIndexer)
      owns[size_t(choice.layer)] = true;

  // Layers that lead in the schedules every:N,offset:M which are legal here.
  std::vector<std::string> frequencies;
  for (int64_t every = 2; every <= layers; ++every)
    for (int64_t offset = 1; offset <= layers; ++offset) {
      bool legal = true, declared = true;
      for (int64_t layer = 0; layer < layers; ++layer) {
        bool leads = std::max<int64_t>(layer + 1 - offset, 0) % every == 0;
        legal &= !leads || owns[size_t(layer)];
        declared &= leads == owns[size_t(layer)];
      }
      if (legal && !declared)
        frequencies.push_back("every:" + std::to_string(every) +
                              ",offset:" + std::to_string(offset));
    }
  if (!frequencies.empty() && random.chance(33))
    return frequencies[size_t(random.between(0, int64_t(frequencies.size()) - 1))];

  // Some of the indexers, but not all. The first layer has one if any has.
  std::vector<size_t> others;
  for (size_t layer = 1; layer < owns.size(); ++layer)
    if (owns[layer])
      others.push_back(layer);
  if (others.empty())
    return std::nullopt;
  std::vector<bool> leads = owns;
  for (size_t layer : others)
    leads[layer] = random.chance(50);
  leads[others[size_t(random.between(0, int64_t(others.size()) - 1))]] = false;

  std::string pattern = "pattern:", groups = "groups:";
  for (size_t first = 0, end; first < leads.size(); first = end) {
    for (end = first + 1; end < leads.size() && !leads[end];)
      ++end;
    pattern += "F" + std::string(end - first - 1, 'S');
    groups += (first == 0 ? "" : ";") + std::to_string(first) +
              (end - first == 1 ? "" : "-" + std::to_string(end - 1));
  }
  return random.chance(50) ? pattern : groups;
}

//===----------------------------------------------------------------------===//
// Executors
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<reference::ReferenceExecutor>>
TestedModel::createReference(const rt::ExecutorOptions &options) const {
  return reference::ReferenceExecutor::create(*module_, &checkpoint_, options);
}

Expected<std::unique_ptr<rt::Executor>>
TestedModel::createCpu(const rt::ExecutorOptions &options) const {
  return rt::createCpuExecutor(*package_, checkpoint_, options);
}

} // namespace strata::test
