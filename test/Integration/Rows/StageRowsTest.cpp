//===- StageRowsTest.cpp - Rows 24 to 27: models in stages -----------===//
#include "Harness.h"

#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Analysis/LayerCuts.h"
#include "strata/lib/Reference/Interpreter.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace strata;
using namespace strata::rows;
using reference::Interpreter;
using reference::Tensor;

namespace {

//===----------------------------------------------------------------------===//
// Modules of stages
//===----------------------------------------------------------------------===//

/// Ops that each stage has for itself.
bool isOwn(Operation &op) {
  return op.hasTrait<OpTrait::ConstantLike>() ||
         isa<WeightOp, TokenIdsOp, PositionsOp, tensor::DimOp>(op);
}

/// A module whose @step is the ops of one side of a cut: it takes `taken` besides the batch and the
/// caches that its ops use, and returns `given` and these caches.
OwningOpRef<ModuleOp> makeStage(func::FuncOp step, ArrayRef<Operation *> ops, ArrayRef<Value> taken,
                                ArrayRef<Value> given) {
  Block &block = step.front();
  llvm::DenseSet<Operation *> inside(ops.begin(), ops.end());
  SmallVector<Value> arguments{block.getArgument(0)};
  SmallVector<Value> results(given);
  for (BlockArgument cache : block.getArguments().drop_front(1))
    if (llvm::any_of(cache.getUsers(), [&](Operation *user) { return inside.contains(user); })) {
      arguments.push_back(cache);
      // A whole model returns the logits and then each cache in order.
      results.push_back(block.getTerminator()->getOperand(cache.getArgNumber()));
    }
  llvm::append_range(arguments, taken);

  OwningOpRef<ModuleOp> module = ModuleOp::create(step.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto type =
      builder.getFunctionType(ValueRange(arguments).getTypes(), ValueRange(results).getTypes());
  auto stage = func::FuncOp::create(builder, step.getLoc(), kEntryPoint, type);
  Block *body = stage.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  IRMapping mapping;
  mapping.map(ValueRange(arguments), body->getArguments());
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  for (Value &result : results)
    result = mapping.lookup(result);
  func::ReturnOp::create(builder, step.getLoc(), results);
  // The other stage's weights.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  EXPECT_TRUE(succeeded(verify(*module)));
  return module;
}

struct Stages {
  OwningOpRef<ModuleOp> lower, upper;
};

Stages divide(func::FuncOp step, const LayerCut &cut) {
  SmallVector<Operation *> below, above;
  bool isAbove = false;
  for (Operation &op : step.front().without_terminator()) {
    isAbove |= &op == cut.first;
    if (!isAbove)
      below.push_back(&op);
    if (isAbove || isOwn(op))
      above.push_back(&op);
  }
  SmallVector<Value> crossing(cut.rows);
  llvm::append_range(crossing, cut.activations);
  Value logits = step.front().getTerminator()->getOperand(0);
  return {makeStage(step, below, {}, crossing), makeStage(step, above, crossing, logits)};
}

func::FuncOp getStep(ModuleOp module) { return module.lookupSymbol<func::FuncOp>(kEntryPoint); }

template <typename Type> size_t countArguments(ModuleOp module) {
  return llvm::count_if(getStep(module).getArgumentTypes(), llvm::IsaPred<Type>);
}

template <typename Op> size_t countOps(ModuleOp module) {
  return llvm::range_size(getStep(module).front().getOps<Op>());
}

//===----------------------------------------------------------------------===//
// Runs of stages
//===----------------------------------------------------------------------===//

std::unique_ptr<Interpreter> interpret(const Model &model, ModuleOp module) {
  rt::ExecutorOptions options;
  options.maxSequences = 1;
  options.threads = 2;
  Expected<std::unique_ptr<Interpreter>> interpreter =
      Interpreter::create(module, &model.checkpoint(), options);
  EXPECT_TRUE(interpreter.ok()) << interpreter.status().message();
  return interpreter.ok() ? std::move(*interpreter) : nullptr;
}

/// The tensors that a step gives; none if it failed.
std::vector<Tensor> step(Interpreter &interpreter, const rt::StepInput &input,
                         std::vector<Tensor> activations = {}) {
  rt::StepOutput output;
  Expected<std::vector<Tensor>> results = interpreter.run(input, output, std::move(activations));
  EXPECT_TRUE(results.ok()) << results.status().message();
  return results.ok() ? std::move(*results) : std::vector<Tensor>();
}

/// A piece of one sequence, all of whose logits are wanted.
rt::StepInput inputOf(const std::vector<int32_t> &prompt, int32_t begin, int32_t end) {
  rt::StepInput input;
  for (int32_t position = begin; position < end; ++position) {
    input.wanted.push_back(position - begin);
    input.tokenIds.push_back(prompt[size_t(position)]);
    input.positions.push_back(position);
    input.sequences.push_back(0);
  }
  return input;
}

/// What one step of both stages sent and gave.
struct StagedStep {
  std::vector<Tensor> rows, activations;
  Tensor logits;
};

class StagedModel {
public:
  StagedModel(Model &model, const LayerCut &cut)
      : stages(divide(getStep(model.module()), cut)), lower(interpret(model, *stages.lower)),
        upper(interpret(model, *stages.upper)) {}

  /// Runs both stages, one after the other. `change` sees the rows on their way.
  StagedStep
  run(const rt::StepInput &input, llvm::function_ref<void(Tensor &)> change = [](Tensor &) {}) {
    StagedStep result;
    for (Tensor &sent : step(*lower, input))
      (sent.integers.empty() ? result.activations : result.rows).push_back(std::move(sent));
    rt::StepInput above = input;
    for (Tensor &rows : result.rows) {
      change(rows);
      above.importedRows.push_back(rows.integers.data());
    }
    if (!result.rows.empty()) // the stage's own indexers get none
      above.importedRows.resize(result.rows.size() + countOps<SelectOp>(*stages.upper));
    std::vector<Tensor> results = step(*upper, above, result.activations);
    if (!results.empty())
      result.logits = std::move(results.front());
    return result;
  }

  Stages stages;

private:
  std::unique_ptr<Interpreter> lower, upper;
};

Model &model() {
  static std::unique_ptr<Model> model = Model::create(glmConfig());
  return *model;
}

/// The cut below each layer but the first.
SmallVector<LayerCut> findCuts() {
  func::FuncOp step = getStep(model().module());
  return findLayerCuts(step, AttentionLayers(step));
}

// A stage that starts with a shared layer (4, say) needs the rows of the stage below; one that
// starts with a layer that leads (6, say) doesn't.
TEST(DomainRows, Row24StagesGiveTheOutputOfTheWhole) {
  const std::string schedule = "FFFSSSFSSS";
  std::vector<int32_t> prompt = makePrompt(20, 24);
  SmallVector<LayerCut> cuts = findCuts();
  ASSERT_EQ(cuts.size(), 9u);
  for (const LayerCut &cut : cuts) {
    SCOPED_TRACE("cut below layer " + std::to_string(cut.layer));
    std::unique_ptr<Interpreter> whole = interpret(model(), model().module());
    StagedModel staged(model(), cut);
    size_t sent = schedule[cut.layer] == 'S' ? 1 : 0;
    ModuleOp lower = *staged.stages.lower, upper = *staged.stages.upper;
    // Each weight and cache is in one stage.
    EXPECT_EQ(countOps<WeightOp>(lower) + countOps<WeightOp>(upper),
              countOps<WeightOp>(model().module()));
    EXPECT_EQ(countArguments<CacheType>(lower) + countArguments<CacheType>(upper),
              countArguments<CacheType>(model().module()));
    EXPECT_EQ(countOps<AttentionOp>(lower), cut.layer);
    for (auto [begin, end] : {std::pair(0, 5), std::pair(5, 19), std::pair(19, 20)}) {
      rt::StepInput input = inputOf(prompt, begin, end);
      StagedStep found = staged.run(input);
      EXPECT_EQ(found.rows.size(), sent);
      EXPECT_EQ(found.activations.size(), 1u) << "the residual stream alone";
      std::vector<Tensor> expected = step(*whole, input);
      ASSERT_EQ(expected.size(), 1u);
      EXPECT_EQ(found.logits.shape, expected.front().shape);
      EXPECT_EQ(found.logits.floats, expected.front().floats); // a NaN equals nothing
    }
  }
}

// The rows that cross are those that the stage above attends to.
TEST(DomainRows, Row24OtherRowsGiveAnotherOutput) {
  LayerCut cut = findCuts()[3];
  ASSERT_EQ(cut.layer, 4u);
  rt::StepInput input = inputOf(makePrompt(20, 24), 0, 20);
  StagedStep found = StagedModel(model(), cut).run(input);
  StagedStep changed = StagedModel(model(), cut).run(input, [](Tensor &rows) {
    for (int32_t i = 0; i < 8; ++i) // the last token sees the first positions instead
      rows.integers[size_t(19 * 8 + i)] = i;
  });
  size_t last = found.logits.floats.size() - size_t(model().description().vocabularySize);
  auto isSame = [&](size_t begin, size_t end) {
    return std::equal(found.logits.floats.begin() + begin, found.logits.floats.begin() + end,
                      changed.logits.floats.begin() + begin);
  };
  EXPECT_TRUE(isSame(0, last));
  EXPECT_FALSE(isSame(last, found.logits.floats.size()));
}

TEST(DomainRows, Row25RowsCrossAsFourBytesEach) {
  SmallVector<LayerCut> cuts = findCuts();
  std::vector<int32_t> prompt = makePrompt(20, 25);
  for (auto [layer, bytes] : {std::pair(4, 160), std::pair(6, 0)}) { // 5 tokens × k = 8 × 4 bytes
    const LayerCut &cut = cuts[size_t(layer - 1)];
    StagedModel staged(model(), cut);
    staged.run(inputOf(prompt, 0, 15));
    StagedStep found = staged.run(inputOf(prompt, 15, 20));
    uint64_t sent = 0;
    for (const Tensor &rows : found.rows)
      sent += rows.bytes();
    EXPECT_EQ(sent, uint64_t(bytes));
    EXPECT_EQ(5 * cut.getRowBytesPerToken(), bytes); // as reported
    EXPECT_EQ(found.activations.front().bytes(), uint64_t(5 * cut.getActivationBytesPerToken()));
  }
}

// A stage's module says what it must be given.
TEST(DomainRows, Row24AStageWithoutWhatItNeedsIsRefused) {
  Stages stages = divide(getStep(model().module()), findCuts()[3]);
  std::unique_ptr<Interpreter> upper = interpret(model(), *stages.upper);
  rt::StepInput input = inputOf(makePrompt(20, 24), 0, 20);
  std::vector<int32_t> rows(20 * 8, -1);
  auto errorOf = [&](std::vector<Tensor> activations) {
    rt::StepOutput output;
    Expected<std::vector<Tensor>> results = upper->run(input, output, std::move(activations));
    return results.ok() ? "" : results.status().message();
  };
  auto expectError = [&](const std::string &found, const std::string &expected) {
    EXPECT_NE(found.find(expected), std::string::npos) << found;
  };
  expectError(errorOf({}), "expected 2 arrays of imported rows but got 0");
  input.importedRows = {rows.data(), nullptr};
  expectError(errorOf({}), "expected 1 activations but got 0");
  expectError(errorOf({Tensor::ofIntegers({20, 64})}),
              "expected activation 0 to be a tensor of f32");
  expectError(errorOf({Tensor::ofFloats({20, 63})}),
              "expected activation 0 of shape [20, 64] but got [20, 63]");
  Expected<std::unique_ptr<reference::ReferenceExecutor>> executor =
      reference::ReferenceExecutor::create(*stages.upper, &model().checkpoint(), {});
  ASSERT_FALSE(executor.ok());
  expectError(executor.status().message(),
              "expected a whole model but got a stage that takes 1 activations");
}

TEST(DomainRows, Row26WithoutSharingNoRowsCross) {
  std::unique_ptr<Model> own = Model::create(glmConfigWithoutSharing());
  func::FuncOp wholeStep = getStep(own->module());
  std::vector<int32_t> prompt = makePrompt(20, 26);
  SmallVector<LayerCut> cuts = findLayerCuts(wholeStep, AttentionLayers(wholeStep));
  ASSERT_EQ(cuts.size(), 3u);
  for (const LayerCut &cut : cuts) {
    EXPECT_EQ(cut.getRowBytesPerToken(), 0);
    EXPECT_TRUE(cut.isSafe());
    StagedStep found = StagedModel(*own, cut).run(inputOf(prompt, 0, 20));
    EXPECT_TRUE(found.rows.empty());
    std::unique_ptr<Interpreter> whole = interpret(*own, own->module());
    EXPECT_EQ(found.logits.floats, step(*whole, inputOf(prompt, 0, 20)).front().floats);
  }
}

TEST(DomainRows, Row27StagesBeginWhereNoRowsCross) {
  MLIRContext context;
  std::vector<importer::Note> notes;
  ImportOptions options;
  options.withWeights = false;
  ImportedModel module = importFolder(context, STRATA_TEST_CONFIGS "/glm-5.2.json", options, notes);
  ASSERT_TRUE(module.ok()) << module.status().message();
  func::FuncOp step = getStep(**module);
  AttentionLayers layers(step);
  ASSERT_EQ(layers.getLayers().size(), 78u);
  SmallVector<LayerCut> cuts = findLayerCuts(step, layers);
  EXPECT_EQ(cuts[38].layer, 39u); // an even division, in the middle of a group
  EXPECT_FALSE(cuts[38].isSafe());
  EXPECT_EQ(proposeStages(cuts, 78, 2), SmallVector<unsigned>{38});
}

} // namespace
