//===- PackagePrinter.cpp - A package as text -----------------------------===//
#include "strata/runtime/core/PackagePrinter.h"

#include "strata-rt/kernel-abi.h"
#include "strata/lib/Support/ElementType.h"
#include "strata/lib/Support/Text.h"

#include <cstdio>

namespace strata::rt {
namespace {

using package::Argument;
using package::ArgumentKind;
using package::ElementType;
using package::Size;
using package::View;

std::string text(int64_t value) { return std::to_string(value); }
std::string text(const flatbuffers::String *string) { return printable(string->string_view()); }
std::string text(ElementType type) {
  return std::string(elementTypeName(static_cast<strata::ElementType>(type)));
}

std::string realText(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.17g", value);
  return buffer;
}

/// "2 x tokens + 64"; "0" if it is nothing.
std::string text(const Size &size) {
  std::string result;
  auto add = [&](int64_t factor, const char *unit) {
    if (factor == 0)
      return;
    if (!result.empty())
      result += " + ";
    result += factor == 1 && *unit ? unit : text(factor) + (*unit ? " x " : "") + unit;
  };
  add(size.tokens(), "tokens");
  add(size.wanted(), "wanted");
  add(size.fixed(), "");
  return result.empty() ? "0" : result;
}

class Printer {
public:
  explicit Printer(const package::Manifest &manifest) : manifest_(manifest) {}

  std::string run() {
    printModel();
    printTiers();
    printCaches();
    printWeights();
    for (uint32_t i = 0; i < manifest_.slots()->size(); ++i)
      line("slot " + text(i) + ": " + text(*manifest_.slots()->Get(i)->bytes()) + " bytes");
    for (uint32_t i = 0; i < manifest_.commands()->size(); ++i)
      printCommand(i, *manifest_.commands()->Get(i));
    line("logits: " + view(*manifest_.logits()));
    return std::move(out_);
  }

private:
  void line(const std::string &content) { out_ += content + "\n"; }

  void printModel() {
    line("package version " + text(STRATA_RT_PACKAGE_VERSION) + " by " +
         text(manifest_.producer()));
    line("model " + text(manifest_.model_type()) + ": vocabulary " +
         text(manifest_.vocabulary_size()) + ", " + text(manifest_.max_positions()) +
         " positions, " + text(manifest_.indexer_count()) + " indexers, " +
         text(manifest_.mixture_count()) + " mixtures");
    std::string eos;
    for (int32_t id : *manifest_.eos_token_ids())
      eos += " " + text(id);
    line("end of sequence:" + (eos.empty() ? " none" : eos));
    line("products round to " + text(manifest_.compute()));
    for (const package::Variant *variant : *manifest_.variants())
      line("object for " + text(variant->cpu()) + ": " + text(variant->object()->size()) +
           " bytes");
    line("input module: " + text(manifest_.input_module()->size()) + " bytes");
    std::string kernels;
    for (const flatbuffers::String *kernel : *manifest_.kernels())
      kernels += " " + text(kernel);
    line("kernels:" + (kernels.empty() ? " none" : kernels));
  }

  void printCaches() {
    for (uint32_t i = 0; i < manifest_.caches()->size(); ++i) {
      const package::Cache &cache = *manifest_.caches()->Get(i);
      std::string fields;
      for (const package::CacheField *field : *cache.fields())
        fields += std::string(", ") + package::EnumNameFieldRole(field->role()) + " " +
                  text(field->heads()) + " x " + text(field->width()) + " " +
                  text(field->element_type());
      line("cache " + text(i) + ": " + text(cache.name()) + ", pages of " +
           text(cache.page_size()) + (cache.planar() ? ", planar" : ", interleaved") + ", rope " +
           package::EnumNameRopeLayout(cache.rope()) + (cache.hadamard() ? ", hadamard" : "") +
           fields + residence(cache));
    }
  }

  static std::string residence(const package::Cache &cache) {
    switch (cache.residence()) {
    case package::Residence::Whole:
      return "";
    case package::Residence::Rows:
      return ", far with rows near";
    case package::Residence::Reloaded:
      return ", far, reloaded to staging pool " + text(cache.staging());
    case package::Residence::Streamed:
      return ", far, streamed through block buffers " + text(cache.staging());
    }
    return "";
  }

  template <typename T, typename Describe>
  void printAll(const char *what, const flatbuffers::Vector<T> *entries, Describe describe) {
    for (uint32_t i = 0; entries && i < entries->size(); ++i)
      line(what + (" " + text(i)) + ": " + describe(entries->Get(i)));
  }

  void printTiers() {
    printAll("tier", manifest_.tiers(), [](const package::Tier *tier) {
      return text(tier->name()) + (tier->capacity() == 0
                                       ? ", no limit"
                                       : ", " + std::to_string(tier->capacity()) + " bytes");
    });
    printAll("engine", manifest_.engines(), [](const package::Engine *engine) {
      return text(engine->name()) + ", " + realText(engine->bandwidth()) + " bytes per second, " +
             realText(engine->operation_seconds()) + " s an operation";
    });
    printAll("slot table", manifest_.slot_tables(), [](const package::SlotTable *table) {
      return text(table->slots()) + " slots, k " + text(table->k());
    });
    printAll("hot set", manifest_.hot_sets(), [](const package::HotSet *hotSet) {
      return "of cache " + text(hotSet->cache()) + " by slot table " + text(hotSet->table());
    });
    printAll("staging pool", manifest_.staging_pools(), [](const package::StagingPool *pool) {
      return "pages of " + text(pool->page_size()) + " records of " + text(pool->record_bytes()) +
             " bytes";
    });
    printAll("block buffers", manifest_.block_buffers(), [](const package::BlockBuffers *buffers) {
      return "twice " + text(buffers->block_records()) + " records of " +
             text(buffers->record_bytes()) + " bytes";
    });
    printAll("weight slot", manifest_.weight_slots(),
             [](uint64_t bytes) { return std::to_string(bytes) + " bytes"; });
    if (const package::PlacementPlan *plan = manifest_.placement())
      line("placed for " + (plan->machine() ? text(plan->machine()) : "a machine") + ": " +
           text(plan->batch()) + " x " + text(plan->context()) + " positions, " +
           text(plan->tokens()) + " tokens a step");
  }

  void printWeights() {
    for (uint32_t i = 0; i < manifest_.weights()->size(); ++i) {
      const package::Weight &weight = *manifest_.weights()->Get(i);
      std::string result = "weight " + text(i) + ": " + text(weight.name()) + " " +
                           shapeText({weight.shape()->begin(), weight.shape()->end()}) + " " +
                           text(weight.stored());
      if (weight.part_groups() != 0)
        result += ", rows " + text(weight.part_offset()) + " to " +
                  text(weight.part_offset() + weight.shape()->Get(1)) + " of every " +
                  text(weight.part_stride());
      if (weight.scale_name() && weight.scale_name()->size() != 0)
        result += ", scales " + text(weight.scale_name()) + " by " + text(weight.block_rows()) +
                  " x " + text(weight.block_columns());
      line(result + (weight.widen() ? ", widened" : "") +
           (weight.slot() < 0 ? "" : ", far, in weight slot " + text(weight.slot())));
    }
  }

  std::string argument(const Argument &argument) {
    std::string result;
    switch (argument.kind()) {
    case ArgumentKind::Slot:
      result = "slot " + text(argument.index());
      break;
    case ArgumentKind::Weight:
      result = weight(argument.index());
      break;
    case ArgumentKind::Cache:
      result = "cache " + text(argument.index());
      break;
    case ArgumentKind::Step:
      result = package::EnumNameStepArray(package::StepArray(argument.index()));
      break;
    case ArgumentKind::Stage:
      result = "stage of cache " + text(argument.index());
      break;
    case ArgumentKind::HotSet:
      result = "hot set " + text(argument.index());
      break;
    }
    return argument.offset() == 0 ? result : result + " + " + text(argument.offset());
  }

  std::string view(const View &view) {
    return argument(view.base()) + " by " + text(view.row_stride()) +
           (view.batch_stride() == 0 ? "" : ", " + text(view.batch_stride()));
  }

  std::string weight(int32_t index) { return "weight " + text(index); }

  void printCommand(uint32_t number, const package::CommandEntry &entry) {
    std::string content;
    switch (entry.command_type()) {
    case package::Command::Launch:
      content = describe(*entry.command_as_Launch());
      break;
    case package::Command::RopeTable:
      content = describe(*entry.command_as_RopeTable());
      break;
    case package::Command::Product:
      content = describe(*entry.command_as_Product());
      break;
    case package::Command::GroupByExpert:
      content = describe(*entry.command_as_GroupByExpert());
      break;
    case package::Command::GroupedProduct:
      content = describe(*entry.command_as_GroupedProduct());
      break;
    case package::Command::Route:
      content = describe(*entry.command_as_Route());
      break;
    case package::Command::Select:
      content = describe(*entry.command_as_Select());
      break;
    case package::Command::ImportRows:
      content = describe(*entry.command_as_ImportRows());
      break;
    case package::Command::GatedProduct:
      content = describe(*entry.command_as_GatedProduct());
      break;
    case package::Command::HeadAttention:
      content = describe(*entry.command_as_HeadAttention());
      break;
    case package::Command::PartialScores:
      content = describe(*entry.command_as_PartialScores());
      break;
    case package::Command::Records:
      content = describe(*entry.command_as_Records());
      break;
    case package::Command::Resolve:
      content = describe(*entry.command_as_Resolve());
      break;
    case package::Command::Gather:
      content = describe(*entry.command_as_Gather());
      break;
    case package::Command::WriteBack:
      content = describe(*entry.command_as_WriteBack());
      break;
    case package::Command::Reload:
      content = describe(*entry.command_as_Reload());
      break;
    case package::Command::Wait:
      content = "for transfer " + text(entry.command_as_Wait()->transfer());
      break;
    case package::Command::NONE:
      break;
    }
    line("command " + text(number) + " (" + text(entry.label()) +
         "): " + package::EnumNameCommand(entry.command_type()) + " " + content);
  }

  std::string kernel(int32_t index) { return text(manifest_.kernels()->Get(index)); }

  std::string describe(const package::Launch &launch) {
    std::string arguments;
    for (const Argument *each : *launch.arguments())
      arguments += (arguments.empty() ? "" : ", ") + argument(*each);
    return kernel(launch.kernel()) + "(" + arguments + ") over " + text(*launch.items()) +
           ", grain " + text(launch.grain());
  }

  std::string describe(const package::RopeTable &rope) {
    std::string frequencies;
    for (double frequency : *rope.frequencies())
      frequencies += " " + realText(frequency);
    return "to (" + view(*rope.output()) + "), factor " + realText(rope.factor()) +
           ", frequencies" + frequencies;
  }

  std::string describe(const package::Product &product) {
    std::string parts, outputs;
    for (const package::ProductPart *part : *product.parts()) {
      parts += (parts.empty() ? " x " : ", x ") + weight(part->weight()) +
               (product.transposed() ? " transposed" : "") +
               (part->bias() < 0 ? "" : " + " + weight(part->bias())) +
               (product.residual() ? " + (" + view(*product.residual()) + ")" : "") + " to (" +
               view(*part->output()) + ")";
      outputs += (outputs.empty() ? "" : " and ") + text(part->outputs());
    }
    return "(" + view(*product.input()) + ")" + parts + ", rows " + text(*product.rows()) +
           ", batch " + text(product.batch()) + ", " + text(product.inputs()) + " to " + outputs +
           ", operands " + text(product.operands());
  }

  std::string describe(const package::GatedProduct &product) {
    return "(" + view(*product.input()) + ") x " + weight(product.gate()) + " gates " +
           weight(product.up()) + " by " + kernel(product.kernel()) + " to (" +
           view(*product.output()) + "), rows " + text(*product.rows()) + ", " +
           text(product.inputs()) + " to " + text(product.outputs()) + ", operands " +
           text(product.operands());
  }

  std::string describe(const package::HeadAttention &attention) {
    return text(attention.heads()) +
           " heads: " + (attention.absorb() ? describe(*attention.absorb()) + "; then " : "") +
           (attention.scores() ? describe(*attention.scores()) + "; then " : "") +
           describe(*attention.attention()) +
           (attention.expand() ? "; then " + describe(*attention.expand()) : "");
  }

  std::string describe(const package::PartialScores &partial) {
    return text(partial.heads()) +
           " heads: " + (partial.absorb() ? describe(*partial.absorb()) + "; then " : "") +
           describe(*partial.scores());
  }

  std::string describe(const package::GroupByExpert &group) {
    return argument(*group.experts()) + " to order " + argument(*group.order()) + ", rank " +
           argument(*group.rank()) + ", offsets " + argument(*group.offsets()) + ", " +
           text(group.experts_per_token()) + " of " + text(group.expert_count()) + " experts";
  }

  std::string describe(const package::GroupedProduct &product) {
    return "(" + view(*product.input()) + (product.gather() ? " gathered" : "") + ") x " +
           weight(product.weight()) +
           (product.up() < 0
                ? ""
                : " gates " + weight(product.up()) + " by " + kernel(product.kernel())) +
           " to (" + view(*product.output()) + "), order " + argument(*product.order()) +
           ", offsets " + argument(*product.offsets()) + ", " + text(product.experts_per_token()) +
           " of " + text(product.expert_count()) + " experts, " + text(product.inputs()) + " to " +
           text(product.outputs()) + ", operands " + text(product.operands());
  }

  std::string describe(const package::Route &route) {
    std::string groups = route.groups() == 1
                             ? ""
                             : ", " + text(route.top_groups()) + " of " + text(route.groups()) +
                                   " groups by " + package::EnumNameGroupScore(route.group_score());
    return text(route.ordinal()) + ": (" + view(*route.logits()) + ")" +
           (route.correction() < 0 ? "" : " + " + weight(route.correction())) + " to experts " +
           argument(*route.experts()) + ", weights " + argument(*route.weights()) + ", " +
           text(route.experts_per_token()) + " of " + text(route.expert_count()) + " experts by " +
           package::EnumNameScoring(route.scoring()) + groups +
           (route.normalise() ? ", normalised" : "") + ", scale " + realText(route.scale());
  }

  std::string describe(const package::Select &select) {
    return text(select.ordinal()) + ": " + kernel(select.kernel()) + " of query (" +
           view(*select.query()) + "), head weights (" + view(*select.head_weights()) +
           "), cache " + text(select.cache()) + " to " + argument(*select.output()) + ", k " +
           text(select.k()) + (select.exported() ? ", exported" : "") +
           (select.engine() < 0 ? "" : ", by engine " + text(select.engine()));
  }

  std::string describe(const package::Records &records) {
    return argument(*records.rows()) + " to " + argument(*records.output()) + ", k " +
           text(records.k()) + ", pages of " + text(records.page_size());
  }

  std::string describe(const package::Resolve &resolve) {
    std::string result = argument(*resolve.records()) + " in slot table " + text(resolve.table());
    if (resolve.limit() > 0)
      return result + ", speculation of at most " + text(resolve.limit());
    return result + " to slots " + argument(*resolve.slots()) + ", hits " +
           argument(*resolve.hits()) + ", misses " + argument(*resolve.misses());
  }

  std::string transfer(int32_t engine, int32_t number) {
    return " by engine " + text(engine) + " as transfer " + text(number);
  }

  std::string describe(const package::Gather &gather) {
    return "into hot set " + text(gather.hot_set()) + transfer(gather.engine(), gather.transfer());
  }

  std::string describe(const package::WriteBack &back) {
    return "of cache " + text(back.cache()) + transfer(back.engine(), back.transfer());
  }

  std::string describe(const package::Reload &reload) {
    return "of " +
           (reload.weight() < 0 ? "cache " + text(reload.cache()) : weight(reload.weight())) +
           transfer(reload.engine(), reload.transfer());
  }

  std::string describe(const package::ImportRows &import) {
    return text(import.ordinal()) + ": to " + argument(*import.output()) + ", k " +
           text(import.k());
  }

  const package::Manifest &manifest_;
  std::string out_;
};

} // namespace

std::string printPackage(const Package &package) { return Printer(package.manifest()).run(); }

} // namespace strata::rt
