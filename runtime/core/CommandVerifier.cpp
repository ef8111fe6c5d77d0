//===- CommandVerifier.cpp - Do a manifest's commands stay in bounds? -----===//
//
// A command's arrays must lie within their slots for every step, and steps differ in two numbers.
// All sizes are linear in them, so it is enough to look at the corners of the cone
//   { tokens ≥ 1, 0 ≤ wanted ≤ tokens }:
// a linear function is at least 0 on it if it is at (1, 0) and at (1, 1), and if it does not fall
// along the directions (1, 0) and (1, 1).
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Support/ElementType.h"
#include "strata/lib/Support/Text.h"
#include "strata/runtime/core/ManifestVerifier.h"

#include <cmath>
#include <limits>

namespace strata::rt {

using package::Argument;
using package::ArgumentKind;
using package::ElementType;
using package::Size;
using package::View;

namespace {
__extension__ typedef __int128 Wide;
} // namespace

struct CommandChecker::Linear {
  Wide tokens, wanted, fixed;

  Linear(Wide tokens, Wide wanted, Wide fixed) : tokens(tokens), wanted(wanted), fixed(fixed) {}
  explicit Linear(const Size &size)
      : tokens(size.tokens()), wanted(size.wanted()), fixed(size.fixed()) {}

  /// Of this size in elements, each of `factor`.
  Linear times(Wide factor) const { return {tokens * factor, wanted * factor, fixed * factor}; }
  Linear plus(Wide constant) const { return {tokens, wanted, fixed + constant}; }

  /// Is this at most `bound` for every step?
  bool atMost(const Linear &bound) const {
    Wide t = bound.tokens - tokens, w = bound.wanted - wanted, f = bound.fixed - fixed;
    return t + f >= 0 && t + w + f >= 0 && t >= 0 && t + w >= 0;
  }
};

bool CommandChecker::run() {
  for (uint32_t i = 0; i < manifest_.commands()->size(); ++i) {
    const package::CommandEntry &entry = *manifest_.commands()->Get(i);
    enter("command " + std::to_string(i));
    if (!check(entry.label(), "label is missing"))
      return false;
    enter("command " + std::to_string(i) + " (" + printable(entry.label()->string_view()) + ")");
    if (!check(entry.command(), "it is empty") || !checkCommand(entry) ||
        !checkRange(entry.layer(), -1, std::numeric_limits<int32_t>::max(), "layer") ||
        !(entry.cost() == nullptr || checkCost(*entry.cost())))
      return false;
  }
  enter("");
  auto failCount = [&](const char *what, int32_t expected, int32_t got) {
    return fail("expected " + std::to_string(expected) + " " + what + " commands but got " +
                std::to_string(got));
  };
  return (indexers_ == manifest_.indexer_count() ||
          failCount("Select and ImportRows", manifest_.indexer_count(), indexers_)) &&
         (mixtures_ == manifest_.mixture_count() ||
          failCount("Route", manifest_.mixture_count(), mixtures_)) &&
         checkView(manifest_.logits(), Size(0, 1, 0), 1, manifest_.vocabulary_size(), "logits");
}

/// Numbers that no step makes infinite.
bool CommandChecker::checkCost(const package::CommandCost &cost) {
  constexpr double kMaxFactor = 1e24;
  for (auto *terms : {cost.flops(), cost.elementwise_flops(), cost.cache_bytes_read(),
                      cost.cache_bytes_written(), cost.activation_bytes()}) {
    if (!checkAligned(terms, "terms of the cost"))
      return false;
    for (const package::CostTerm *term : *terms)
      if (!check(std::abs(term->factor()) <= kMaxFactor, "a factor of the cost is out of range") ||
          !checkRange(term->limit(), 0, kMaxExtent, "a limit of the cost") ||
          !checkEnum(term->variable(), package::CostVariable::MAX, "a variable of the cost"))
        return false;
  }
  return true;
}

bool CommandChecker::checkCommand(const package::CommandEntry &entry) {
  switch (entry.command_type()) {
  case package::Command::Launch:
    return check(*entry.command_as_Launch());
  case package::Command::RopeTable:
    return check(*entry.command_as_RopeTable());
  case package::Command::Product:
    return check(*entry.command_as_Product());
  case package::Command::GroupByExpert:
    return check(*entry.command_as_GroupByExpert());
  case package::Command::GroupedProduct:
    return check(*entry.command_as_GroupedProduct());
  case package::Command::Route:
    return check(*entry.command_as_Route());
  case package::Command::Select:
    return check(*entry.command_as_Select());
  case package::Command::ImportRows:
    return check(*entry.command_as_ImportRows());
  case package::Command::GatedProduct:
    return check(*entry.command_as_GatedProduct());
  case package::Command::HeadAttention:
    return check(*entry.command_as_HeadAttention());
  case package::Command::PartialScores:
    return check(*entry.command_as_PartialScores());
  case package::Command::Records:
    return check(*entry.command_as_Records());
  case package::Command::Resolve:
    return check(*entry.command_as_Resolve());
  case package::Command::Gather:
    return check(*entry.command_as_Gather());
  case package::Command::WriteBack:
    return check(*entry.command_as_WriteBack());
  case package::Command::Reload:
    return check(*entry.command_as_Reload());
  case package::Command::Wait:
    return check(*entry.command_as_Wait());
  case package::Command::NONE:
    break;
  }
  return fail("unknown kind of command " + std::to_string(int(entry.command_type())));
}

//===----------------------------------------------------------------------===//
// Pieces of commands
//===----------------------------------------------------------------------===//

bool CommandChecker::checkSize(const Size *size, const char *what) {
  return check(size, what, "missing") && checkRange(size->tokens(), 0, kMaxExtent, what) &&
         checkRange(size->wanted(), 0, kMaxExtent, what) &&
         checkRange(size->fixed(), 0, kMaxExtent, what);
}

bool CommandChecker::checkKernel(int32_t kernel) {
  return checkRange(kernel, 0, int64_t(manifest_.kernels()->size()) - 1, "kernel");
}

bool CommandChecker::checkWeight(int32_t weight, const char *what) {
  return checkRange(weight, 0, int64_t(manifest_.weights()->size()) - 1, what);
}

static int64_t elementCount(const package::Weight &weight) {
  int64_t count = 1;
  for (int64_t extent : *weight.shape())
    count *= extent;
  return count;
}

/// A pointer that a generated kernel gets: it must point to where it says, or just behind. How far
/// the kernel reads from there can't be known.
bool CommandChecker::checkArgument(const Argument &argument, const char *what) {
  int64_t index = argument.index();
  switch (argument.kind()) {
  case ArgumentKind::Slot:
    return checkWithinSlot(argument, Linear(0, 0, 0), what);
  case ArgumentKind::Weight: {
    if (!checkWeight(argument.index(), what))
      return false;
    const package::Weight &weight = *manifest_.weights()->Get(argument.index());
    ElementType type = weight.widen() ? ElementType::F32 : weight.stored();
    int64_t bytes =
        elementCount(weight) * int64_t(elementSize(static_cast<strata::ElementType>(type)));
    return checkRange(argument.offset(), 0, bytes - 1, what);
  }
  case ArgumentKind::Cache:
    return checkNearCache(argument.index(), what) &&
           check(argument.offset() == 0, what, "a cache has no offset");
  case ArgumentKind::Step: {
    bool hasTiers = manifest_.tiers() && manifest_.tiers()->size() != 0;
    return checkRange(index, 0,
                      int64_t(hasTiers ? package::StepArray::MAX : package::StepArray::Wanted),
                      what) &&
           check(argument.offset() == 0, what, "a step array has no offset");
  }
  case ArgumentKind::Stage:
  case ArgumentKind::HotSet:
    return checkTierArgument(argument, what);
  }
  return fail(std::string(what) + ": unknown kind of argument");
}

/// `extent`: bytes from the base that are used.
bool CommandChecker::checkWithinSlot(const Argument &base, const Linear &extent, const char *what) {
  if (!check(base.kind() == ArgumentKind::Slot, what, "expected a slot") ||
      !checkRange(base.index(), 0, int64_t(manifest_.slots()->size()) - 1, what) ||
      !checkRange(base.offset(), 0, kMaxTotalBytes, what))
    return false;
  Linear slot(*manifest_.slots()->Get(base.index())->bytes());
  return (extent.plus(base.offset()).atMost(slot) ||
          fail(std::string(what) + " reaches beyond slot " + std::to_string(base.index())));
}

/// An array of i32 or f32.
bool CommandChecker::checkArray(const Argument *argument, const Size &entries, const char *what) {
  return check(argument, what, "missing") &&
         checkWithinSlot(*argument, Linear(entries).times(4), what) &&
         check(argument->offset() % 4 == 0, what, "expected an offset of whole elements");
}

bool CommandChecker::checkView(const View *view, const Size &rows, int64_t batch, int64_t width,
                               const char *what) {
  if (!check(view, what, "missing") || !checkRange(view->row_stride(), 0, kMaxExtent, what) ||
      !checkRange(view->batch_stride(), 0, kMaxExtent, what))
    return false;
  Linear elements = Linear(rows)
                        .times(view->row_stride())
                        .plus(Wide(batch - 1) * view->batch_stride() + width - view->row_stride());
  return checkWithinSlot(view->base(), elements.times(4), what) &&
         check(view->base().offset() % 4 == 0, what, "expected an offset of whole elements");
}

bool CommandChecker::checkVector(int32_t weight, int64_t elements, const char *what) {
  return checkWeight(weight, what) &&
         check(manifest_.weights()->Get(weight)->widen(), what, "expected f32") &&
         (elementCount(*manifest_.weights()->Get(weight)) == elements ||
          fail(std::string(what) + ": expected " + std::to_string(elements) + " elements but got " +
               std::to_string(elementCount(*manifest_.weights()->Get(weight)))));
}

bool CommandChecker::checkMatrices(int32_t weight, int64_t members, int64_t rows, int64_t columns,
                                   const char *what) {
  if (!checkWeight(weight, what))
    return false;
  const package::Weight &table = *manifest_.weights()->Get(weight);
  std::vector<int64_t> shape(table.shape()->begin(), table.shape()->end());
  if (shape.size() == 2)
    shape.insert(shape.begin(), 1);
  std::vector<int64_t> expected{members, rows, columns};
  return (shape == expected || fail(std::string(what) + ": expected shape " + shapeText(expected) +
                                    " but got " + shapeText(shape)));
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

bool CommandChecker::check(const package::Launch &launch) {
  if (!checkKernel(launch.kernel()) || !checkSize(launch.items(), "items") ||
      !checkRange(launch.grain(), 1, kMaxTotalBytes, "grain") ||
      !checkAligned(launch.arguments(), "arguments"))
    return false;
  for (const Argument *argument : *launch.arguments())
    if (!checkArgument(*argument, "argument"))
      return false;
  return checkBlocks(launch, /*itemsOfToken=*/0);
}

bool CommandChecker::check(const package::RopeTable &rope) {
  if (!checkAligned(rope.frequencies(), "frequencies") ||
      !checkRange(rope.frequencies()->size(), 1, kMaxExtent, "the number of frequencies") ||
      !check(std::isfinite(rope.factor()), "expected a finite factor"))
    return false;
  for (double frequency : *rope.frequencies())
    if (!check(std::isfinite(frequency), "expected finite frequencies"))
      return false;
  return checkView(rope.output(), Size(1, 0, 0), 1, 2 * int64_t(rope.frequencies()->size()),
                   "output");
}

bool CommandChecker::check(const package::Product &product) {
  if (!checkSize(product.rows(), "rows") || !checkRange(product.batch(), 1, kMaxExtent, "batch") ||
      !checkRange(product.inputs(), 1, kMaxExtent, "inputs") ||
      !checkEnum(product.operands(), ElementType::BF16, "operands") ||
      !checkView(product.input(), *product.rows(), product.batch(), product.inputs(), "input") ||
      !check(product.parts(), "parts are missing") ||
      !checkRange(product.parts()->size(), 1, kMaxProductParts, "the number of parts"))
    return false;
  for (uint32_t i = 0; i < product.parts()->size(); ++i)
    if (!inPiece("part " + std::to_string(i),
                 [&] { return checkPart(product, *product.parts()->Get(i)); }))
      return false;
  // The residual may be the output itself: an element is read before it is written.
  return !product.residual() ||
         (check(product.parts()->size() == 1, "expected one part, since there is a residual") &&
          checkView(product.residual(), *product.rows(), product.batch(),
                    product.parts()->Get(0)->outputs(), "residual"));
}

bool CommandChecker::checkPart(const package::Product &product, const package::ProductPart &part) {
  int64_t batch = product.batch(), inputs = product.inputs(), outputs = part.outputs();
  return checkRange(outputs, 1, kMaxExtent, "outputs") &&
         checkView(part.output(), *product.rows(), batch, outputs, "output") &&
         checkMatrices(part.weight(), batch, product.transposed() ? inputs : outputs,
                       product.transposed() ? outputs : inputs, "weight") &&
         (part.bias() == -1 || checkVector(part.bias(), batch * outputs, "bias"));
}

bool CommandChecker::check(const package::GatedProduct &product) {
  int64_t inputs = product.inputs(), outputs = product.outputs();
  return checkSize(product.rows(), "rows") && checkRange(inputs, 1, kMaxExtent, "inputs") &&
         checkRange(outputs, 1, kMaxExtent, "outputs") &&
         checkEnum(product.operands(), ElementType::BF16, "operands") &&
         checkKernel(product.kernel()) &&
         checkView(product.input(), *product.rows(), 1, inputs, "input") &&
         checkView(product.output(), *product.rows(), 1, outputs, "output") &&
         checkMatrices(product.gate(), 1, outputs, inputs, "gate") &&
         checkMatrices(product.up(), 1, outputs, inputs, "up");
}

bool CommandChecker::check(const package::HeadAttention &attention) {
  int64_t heads = attention.heads();
  if (!checkHeadLaunch(attention.attention(), heads, "attention") ||
      !checkHotSet(attention.hot_set(), *attention.attention()))
    return false;
  const package::Launch *scores = attention.scores();
  const Size &items = *attention.attention()->items();
  return (!scores ||
          (checkHeadLaunch(scores, heads, "scores") && checkHotSet(attention.hot_set(), *scores) &&
           check(scores->items()->tokens() == items.tokens() &&
                     scores->items()->wanted() == items.wanted() &&
                     scores->items()->fixed() == items.fixed(),
                 "expected scores and attention of the same items"))) &&
         checkHeadProduct(attention.absorb(), *attention.attention(), heads, "absorb") &&
         checkHeadProduct(attention.expand(), *attention.attention(), heads, "expand");
}

bool CommandChecker::check(const package::PartialScores &partial) {
  return checkHeadLaunch(partial.scores(), partial.heads(), "scores") &&
         checkHotSet(partial.hot_set(), *partial.scores()) &&
         checkHeadProduct(partial.absorb(), *partial.scores(), partial.heads(), "absorb");
}

/// A kernel whose items are token × heads + head.
bool CommandChecker::checkHeadLaunch(const package::Launch *launch, int64_t heads,
                                     const char *what) {
  if (!checkRange(heads, 1, kMaxExtent, "heads") ||
      !check(launch, (std::string(what) + " is missing").c_str()) ||
      !inPiece(what, [&] { return check(*launch); }))
    return false;
  const Size &items = *launch->items();
  return checkBlocks(*launch, heads) &&
         check(items.tokens() % heads == 0 && items.wanted() % heads == 0 &&
                   items.fixed() % heads == 0,
               "expected as many items of each head");
}

/// A product around such a kernel, if it is there.
bool CommandChecker::checkHeadProduct(const package::Product *product,
                                      const package::Launch &launch, int64_t heads,
                                      const char *what) {
  if (!product)
    return true;
  return inPiece(what, [&] {
    if (!check(*product))
      return false;
    const Size &rows = *product->rows(), &items = *launch.items();
    return check(product->parts()->size() == 1, "expected one part") &&
           check(product->parts()->Get(0)->bias() == -1, "expected no bias") &&
           check(!product->residual(), "expected no residual") &&
           check(product->batch() == heads, "expected a matrix for each head") &&
           check(rows.tokens() * heads == items.tokens() &&
                     rows.wanted() * heads == items.wanted() &&
                     rows.fixed() * heads == items.fixed(),
                 "expected a row for each item of a head");
  });
}

bool CommandChecker::check(const package::GroupByExpert &group) {
  int64_t perToken = group.experts_per_token(), experts = group.expert_count();
  return checkRange(experts, 1, kMaxExperts, "expert_count") &&
         checkRange(perToken, 1, kMaxExpertsPerToken, "experts_per_token") &&
         checkArray(group.experts(), Size(perToken, 0, 0), "experts") &&
         checkArray(group.order(), Size(perToken, 0, 0), "order") &&
         checkArray(group.rank(), Size(perToken, 0, 0), "rank") &&
         checkArray(group.offsets(), Size(0, 0, experts + 1), "offsets");
}

bool CommandChecker::check(const package::GroupedProduct &product) {
  int64_t perToken = product.experts_per_token(), experts = product.expert_count();
  return checkRange(experts, 1, kMaxExperts, "expert_count") &&
         checkRange(perToken, 1, kMaxExpertsPerToken, "experts_per_token") &&
         checkRange(product.inputs(), 1, kMaxExtent, "inputs") &&
         checkRange(product.outputs(), 1, kMaxExtent, "outputs") &&
         checkEnum(product.operands(), ElementType::BF16, "operands") &&
         checkArray(product.order(), Size(perToken, 0, 0), "order") &&
         checkArray(product.offsets(), Size(0, 0, experts + 1), "offsets") &&
         checkView(product.input(), Size(product.gather() ? 1 : perToken, 0, 0), 1,
                   product.inputs(), "input") &&
         checkView(product.output(), Size(perToken, 0, 0), 1, product.outputs(), "output") &&
         checkMatrices(product.weight(), experts, product.outputs(), product.inputs(), "weight") &&
         check((product.up() == -1) == (product.kernel() == -1),
               "expected up and a kernel together") &&
         (product.up() == -1 ||
          (checkKernel(product.kernel()) &&
           checkMatrices(product.up(), experts, product.outputs(), product.inputs(), "up")));
}

bool CommandChecker::check(const package::Route &route) {
  int64_t experts = route.expert_count(), perToken = route.experts_per_token();
  if (!checkRange(experts, 1, kMaxExperts, "expert_count") ||
      !checkRange(route.groups(), 1, experts, "groups") ||
      !check(experts % route.groups() == 0, "expected groups of the same size") ||
      !checkRange(route.top_groups(), 1, route.groups(), "top_groups") ||
      !checkRange(perToken, 1, kMaxExpertsPerToken, "experts_per_token") ||
      !checkRange(perToken, 1, experts / route.groups() * route.top_groups(),
                  "experts_per_token") ||
      !checkEnum(route.scoring(), package::Scoring::MAX, "scoring") ||
      !checkEnum(route.group_score(), package::GroupScore::MAX, "group_score"))
    return false;
  bool twoNeeded = route.groups() > 1 && route.group_score() == package::GroupScore::TopTwoSum;
  return check(!twoNeeded || experts / route.groups() >= 2,
               "expected at least two experts in a group") &&
         check(std::isfinite(route.scale()), "expected a finite scale") &&
         check(route.ordinal() == mixtures_++, "expected ordinals in program order") &&
         checkView(route.logits(), Size(1, 0, 0), 1, experts, "logits") &&
         (route.correction() == -1 || checkVector(route.correction(), experts, "correction")) &&
         checkArray(route.experts(), Size(perToken, 0, 0), "experts") &&
         checkArray(route.weights(), Size(perToken, 0, 0), "weights");
}

bool CommandChecker::check(const package::Select &select) {
  // The kernel alone knows the number of heads, so the views are checked for their rows'
  // beginnings.
  return checkKernel(select.kernel()) && checkRange(select.k(), 1, kMaxRowWidth, "k") &&
         checkRange(select.cache(), 0, int64_t(manifest_.caches()->size()) - 1, "cache") &&
         (manifest_.caches()->Get(uint32_t(select.cache()))->residence() ==
                  package::Residence::Streamed
              ? checkTransfer(select.engine(), 0)
              : checkNearCache(select.cache(), "cache")) &&
         check(select.ordinal() == indexers_++, "expected ordinals in program order") &&
         checkView(select.query(), Size(1, 0, 0), 1, 1, "query") &&
         checkView(select.head_weights(), Size(1, 0, 0), 1, 1, "head_weights") &&
         checkArray(select.output(), Size(select.k(), 0, 0), "output");
}

bool CommandChecker::check(const package::ImportRows &import) {
  return checkRange(import.k(), 1, kMaxRowWidth, "k") &&
         check(import.ordinal() == indexers_++, "expected ordinals in program order") &&
         checkArray(import.output(), Size(import.k(), 0, 0), "output");
}

} // namespace strata::rt
