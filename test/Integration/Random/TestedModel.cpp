//===- TestedModel.cpp - A random model, imported and compiled ------------===//
#include "TestedModel.h"

#include "strata/InitAll.h"
#include "strata/Pipeline.h"
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Import/ImportModel.h"
#include "strata/lib/Target/EmitPackage.h"
#include "strata/runtime/cpu/CpuExecutor.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace strata::test {

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

static MLIRContext *createContext() {
  static const DialectRegistry *registry = [] {
    auto *all = new DialectRegistry;
    registerAllDialects(*all);
    return all;
  }();
  return new MLIRContext(*registry, MLIRContext::Threading::DISABLED);
}

Expected<std::unique_ptr<TestedModel>> TestedModel::create(const RandomModel &model,
                                                           const std::string &folder) {
  Expected<CheckpointSummary> written = writeCheckpoint(model.config.dump(), model.weights, folder);
  if (!written.ok())
    return written.status();
  Expected<Checkpoint> checkpoint = Checkpoint::open(folder);
  if (!checkpoint.ok())
    return checkpoint.status();
  std::unique_ptr<TestedModel> tested(new TestedModel(std::move(*checkpoint)));
  tested->context_.reset(createContext());
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
  tested->findChoices();
  if (Status status = tested->compile(model); !status.ok())
    return Status(status.code(), "compilation: " + status.message() + errors);
  return tested;
}

Status TestedModel::compile(const RandomModel &model) {
  PipelineOptions options;
  options.compute = model.bf16Compute ? NumberFormat::BF16 : NumberFormat::F32;
  options.cache = model.bf16Cache ? NumberFormat::BF16 : NumberFormat::F32;
  options.pageSize = model.pageSize;
  PassManager manager(context_.get(), ModuleOp::getOperationName());
  buildPipeline(manager, options, Phase::Input, Phase::Emit);
  OwningOpRef<ModuleOp> lowered = module_->clone();
  if (failed(manager.run(*lowered)))
    return Status(StatusCode::Unsupported, "the passes failed: ");
  bool newer = model.newerProcessor && __builtin_cpu_supports("x86-64-v3");
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

Expected<std::unique_ptr<reference::ReferenceExecutor>>
TestedModel::createReference(const rt::ExecutorOptions &options) const {
  return reference::ReferenceExecutor::create(*module_, &checkpoint_, options);
}

Expected<std::unique_ptr<rt::Executor>>
TestedModel::createCpu(const rt::ExecutorOptions &options) const {
  return rt::createCpuExecutor(*package_, checkpoint_, options);
}

} // namespace strata::test
