//===- CommandCosts.cpp - What a command costs, in a manifest -------------===//
#include "strata/lib/Target/CommandCosts.h"

#include "strata/dialects/Strata/ModelAttributes.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <cmath>
#include <optional>

using namespace mlir;
using namespace strata;

/// The variable that an attribute names; none for another name.
static std::optional<package::CostTerm> makeTerm(StringRef variable, double factor) {
  using Variable = package::CostVariable;
  if (!std::isfinite(factor))
    return std::nullopt;
  if (variable == "fixed")
    return package::CostTerm(factor, 0, Variable::One);
  if (variable == "tokens")
    return package::CostTerm(factor, 0, Variable::Tokens);
  if (variable == "wanted")
    return package::CostTerm(factor, 0, Variable::Wanted);
  if (variable == "visible")
    return package::CostTerm(factor, 0, Variable::Visible);
  int64_t limit = 0;
  if (variable.consume_front("visible up to ") && !variable.getAsInteger(10, limit) && limit > 0)
    return package::CostTerm(factor, limit, Variable::Visible);
  return std::nullopt;
}

static flatbuffers::Offset<flatbuffers::Vector<const package::CostTerm *>>
writeTerms(flatbuffers::FlatBufferBuilder &buffer, DictionaryAttr cost, StringRef number) {
  std::vector<package::CostTerm> terms;
  if (auto formula = cost.getAs<DictionaryAttr>(number))
    for (NamedAttribute each : formula)
      if (auto factor = dyn_cast<FloatAttr>(each.getValue()))
        if (auto term = makeTerm(each.getName(), factor.getValueAsDouble()))
          terms.push_back(*term);
  return buffer.CreateVectorOfStructs(terms);
}

flatbuffers::Offset<package::CommandCost>
strata::writeCommandCost(flatbuffers::FlatBufferBuilder &buffer, Operation *command) {
  auto cost = command->getAttrOfType<DictionaryAttr>(kCostAttr);
  if (!cost)
    return {};
  auto flops = writeTerms(buffer, cost, "flops"),
       elementwise = writeTerms(buffer, cost, "elementwise_flops"),
       read = writeTerms(buffer, cost, "cache_bytes_read"),
       written = writeTerms(buffer, cost, "cache_bytes_written"),
       activations = writeTerms(buffer, cost, "activation_bytes");
  return package::CreateCommandCost(buffer, flops, elementwise, read, written, activations);
}
