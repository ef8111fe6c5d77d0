//===- LayerCutsTest.cpp --------------------------------------------------===//
#include "strata/lib/Analysis/LayerCuts.h"

#include "strata/lib/Import/ImportModel.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace strata;

namespace {

/// The module of a config without weights.
OwningOpRef<ModuleOp> import(MLIRContext &context, const std::string &name) {
  std::vector<importer::Note> notes;
  ImportOptions options;
  options.withWeights = false;
  ImportedModel module =
      importFolder(context, STRATA_TEST_CONFIGS "/" + name + "/config.json", options, notes);
  EXPECT_TRUE(module.ok()) << module.status().message();
  return std::move(*module);
}

/// Ops that a stage makes for itself.
bool isOwn(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         isa<WeightOp, TokenIdsOp, PositionsOp, tensor::DimOp>(op);
}

/// Makes functions of both sides of a cut. The upper one takes what the cut says that crosses; a
/// value that it lacks would be an operand outside of the function.
std::string divide(func::FuncOp step, const LayerCut &cut) {
  Block &block = step.getBody().front();
  IRMapping mapping;
  OpBuilder builder(step.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(step.getLoc());
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<Value> crossing(block.getArguments());
  llvm::append_range(crossing, cut.activations);
  llvm::append_range(crossing, cut.rows);
  auto type = builder.getFunctionType(ValueRange(crossing).getTypes(), {});
  auto upper = func::FuncOp::create(builder, step.getLoc(), "upper", type);
  Block *body = upper.addEntryBlock();
  mapping.map(ValueRange(crossing), body->getArguments());
  builder.setInsertionPointToEnd(body);
  bool isUpper = false;
  for (Operation &op : block.without_terminator()) {
    isUpper |= &op == cut.first;
    if (!isUpper && !isOwn(&op))
      continue;
    for (Value operand : op.getOperands())
      if (!mapping.contains(operand))
        return "layer " + std::to_string(cut.layer) + ": an op of the upper stage lacks an operand";
    builder.clone(op, mapping);
  }
  func::ReturnOp::create(builder, step.getLoc());
  return succeeded(verify(*module)) ? "" : "the upper stage is not valid";
}

class LayerCutsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(LayerCutsTest, upperStageHasAllThatItNeeds) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = import(context, GetParam());
  auto step = module->lookupSymbol<func::FuncOp>("step");
  AttentionLayers layers(step);
  SmallVector<LayerCut> cuts = findLayerCuts(step, layers);
  ASSERT_EQ(cuts.size() + 1, layers.getLayers().size());
  for (const LayerCut &cut : cuts) {
    EXPECT_EQ(divide(step, cut), "");
    // Nothing that crosses is idle: without one of the values the stage lacks it.
    for (size_t i = 0; i < cut.rows.size(); ++i) {
      LayerCut less = cut;
      less.rows.erase(less.rows.begin() + i);
      EXPECT_NE(divide(step, less), "");
    }
    EXPECT_EQ(cut.activations.size(), 1u) << "the residual stream alone";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LayerCutsTest,
                         ::testing::Values("tiny-glm-5.2", "tiny-glm-5", "tiny-deepseek-v3.2",
                                           "tiny-deepseek-v3", "tiny-llama", "tiny-mistral"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
                           return name;
                         });

/// Row 24 of the list of public bugs: a stage that starts with a shared layer gets one value of
/// rows, one that starts with a layer that leads gets none.
TEST(LayerCuts, row24CountOfSentRows) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = import(context, "tiny-glm-5.2");
  auto step = module->lookupSymbol<func::FuncOp>("step");
  AttentionLayers layers(step);
  SmallVector<LayerCut> cuts = findLayerCuts(step, layers);
  EXPECT_EQ(cuts[3].layer, 4u);
  EXPECT_EQ(cuts[3].rows.size(), 1u);
  EXPECT_EQ(5 * cuts[3].getRowBytesPerToken(), 160);
  EXPECT_EQ(cuts[5].layer, 6u);
  EXPECT_EQ(cuts[5].rows.size(), 0u);
}

} // namespace
