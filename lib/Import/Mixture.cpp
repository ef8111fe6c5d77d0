//===- Mixture.cpp - Mixture of experts -----------------------------------===//
#include "strata/lib/Import/ModelBuilder.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace strata::importer {

Value buildMixture(ModelBuilder &model, Value x, const std::string &name) {
  const MixtureConfig &mixture = *model.config.mixture;
  OpBuilder &builder = model.builder;
  int64_t features = ModelBuilder::widthOf(x), width = mixture.expertWidth;

  Value router =
      model.weight(name + ".gate.weight", {mixture.experts, features}, WeightKind::Plain);
  Value correction = model.weight(name + ".gate.e_score_correction_bias", {mixture.experts},
                                  WeightKind::Correction);
  int64_t chosenShape[] = {ShapedType::kDynamic, mixture.expertsPerToken};
  auto route =
      RouteOp::create(builder, model.loc, RankedTensorType::get(chosenShape, builder.getI32Type()),
                      model.tensorType(chosenShape), x, router, correction, Scoring::Sigmoid,
                      uint64_t(mixture.groups), uint64_t(mixture.topGroups), GroupScore::TopTwoSum,
                      mixture.normalise, llvm::APFloat(mixture.scale));

  std::string experts = name + llvm::formatv(".experts.{{0..{0}}.", mixture.experts - 1).str();
  auto stack = [&](const char *which, int64_t outputs, int64_t inputs) {
    return model.weight(experts + which, {mixture.experts, outputs, inputs}, WeightKind::Product);
  };
  Value gate = stack("gate_proj.weight", width, features);
  Value up = stack("up_proj.weight", width, features);
  Value down = stack("down_proj.weight", features, width);
  Value output = MixtureOfExpertsOp::create(builder, model.loc, x.getType(), x, route.getExperts(),
                                            route.getWeights(), gate, up, down, Activation::Silu);
  if (mixture.sharedWidth)
    output = model.add(output, model.gatedMlp(x, name + ".shared_experts", mixture.sharedWidth));
  return output;
}

} // namespace strata::importer
