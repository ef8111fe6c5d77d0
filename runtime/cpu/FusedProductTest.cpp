//===- FusedProductTest.cpp - One command has the bits of several ---------===//
#include "strata/runtime/cpu/TestModel.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace strata;
using namespace strata::rt;
using flatbuffers::Offset;
using package::Argument;
using package::Command;
using package::Size;
using package::View;

namespace {

constexpr int64_t kHidden = 32, kInputs = 200;
constexpr int32_t kMostTokens = 37;
const Size kTokens(1, 0, 0);

struct Part {
  int32_t weight, bias;
  View output;
  int64_t outputs;
};

/// A model whose logits are rows that its last commands write, one for each token.
struct FusedModel {
  TestModel model;
  int64_t width;
  package::ElementType operands;
  int32_t result; ///< slot of [tokens, width]
  int32_t hidden; ///< slot of [tokens, kHidden]

  FusedModel(int64_t width, package::ElementType operands)
      : model(width), width(width), operands(operands) {
    hidden = model.gatherTable(randomValues(size_t(width * kHidden), 1));
    result = rows(width);
    model.useAsLogits(result);
  }

  int32_t rows(int64_t columns) { return model.slot(4 * columns); }

  /// A weight of its own values; a stack if `members` is not 0.
  int32_t matrix(const std::string &name, int64_t outputs, int64_t inputs, int64_t members = 0) {
    size_t count = size_t(outputs * inputs * std::max<int64_t>(members, 1));
    std::vector<float> values = randomValues(count, uint32_t(std::hash<std::string>()(name)));
    if (members == 0)
      return model.weight(name, {outputs, inputs}, values);
    return model.weight(name + "{0.." + std::to_string(members - 1) + "}",
                        {members, outputs, inputs}, values);
  }
  int32_t vector(const std::string &name, int64_t count) {
    return model.weight(name, {count}, randomValues(size_t(count), uint32_t(name.size())),
                        /*widen=*/true);
  }

  Offset<package::Product> makeProduct(const View &input, const std::vector<Part> &parts,
                                       int64_t inputs, const View *residual = nullptr,
                                       int64_t batch = 1, bool transposed = false) {
    std::vector<Offset<package::ProductPart>> tables;
    for (const Part &part : parts)
      tables.push_back(package::CreateProductPart(model.builder, part.weight, part.bias,
                                                  &part.output, part.outputs));
    return package::CreateProductDirect(model.builder, &input, &tables, residual, &kTokens, batch,
                                        inputs, transposed, operands);
  }
  void product(const View &input, const std::vector<Part> &parts, int64_t inputs,
               const View *residual = nullptr) {
    model.add(Command::Product, makeProduct(input, parts, inputs, residual), "product");
  }
  /// A slot of [tokens, kInputs].
  int32_t wideRows() {
    int32_t wide = rows(kInputs);
    product(TestModel::view(hidden, kHidden),
            {{matrix("widen", kInputs, kHidden), -1, TestModel::view(wide, kInputs), kInputs}},
            kHidden);
    return wide;
  }

  std::vector<float> run(int32_t tokens, int threads) {
    ExecutorOptions options;
    options.maxTokens = options.maxWanted = kMostTokens;
    options.maxPages = 16;
    options.threads = threads;
    options.poison = true;
    Expected<std::unique_ptr<Executor>> executor = model.finish(options);
    EXPECT_TRUE(executor.ok()) << executor.status().message();
    if (!executor.ok())
      return {};
    std::vector<int32_t> ids;
    for (int32_t n = 0; n < tokens; ++n)
      ids.push_back(n * 7 % 32);
    std::vector<float> logits(size_t(tokens * width));
    StepOutput output;
    output.logits = logits.data();
    Status status = (*executor)->step(oneSequence(ids), output);
    EXPECT_TRUE(status.ok()) << status.message();
    return logits;
  }
};

/// Runs both with several numbers of tokens and threads.
void expectSameBits(FusedModel &fused, FusedModel &separate) {
  for (int32_t tokens : {1, 2, 7, 8, 9, kMostTokens}) {
    std::vector<float> expected = separate.run(tokens, 1);
    for (float value : expected)
      ASSERT_FALSE(std::isnan(value)) << "something was not computed";
    for (int threads : {1, 2, 3, 7}) {
      std::vector<float> got = fused.run(tokens, threads);
      ASSERT_EQ(got.size(), expected.size());
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0)
          << tokens << " tokens, " << threads << " threads";
    }
  }
}

const std::vector<package::ElementType> kOperands = {package::ElementType::F32,
                                                     package::ElementType::BF16};

/// A view of the columns of `slot` from `column` on.
View columns(int32_t slot, int64_t column, int64_t rowStride) {
  return View(TestModel::slotArgument(slot, 4 * column), rowStride, 0);
}

TEST(FusedProduct, PartsShareTheirInput) {
  const std::vector<int64_t> widths = {70, 3, 64, 129};
  for (package::ElementType operands : kOperands) {
    auto build = [&](FusedModel &fused, bool isFused) {
      View input = TestModel::view(fused.wideRows(), kInputs);
      std::vector<Part> parts;
      int64_t column = 0;
      for (int64_t width : widths) {
        std::string name = "part" + std::to_string(width);
        parts.push_back({fused.matrix(name, width, kInputs),
                         width == 64 ? -1 : fused.vector(name + "bias", width),
                         columns(fused.result, column, fused.width), width});
        column += width;
      }
      if (isFused)
        return fused.product(input, parts, kInputs);
      for (const Part &part : parts)
        fused.product(input, {part}, kInputs);
    };
    FusedModel fused(70 + 3 + 64 + 129, operands), separate(70 + 3 + 64 + 129, operands);
    build(fused, true);
    build(separate, false);
    expectSameBits(fused, separate);
  }
}

TEST(FusedProduct, HeadsInParts) {
  auto build = [&](FusedModel &fused, bool isFused) {
    View input = TestModel::view(fused.hidden, kHidden, 8);
    std::vector<Part> parts;
    for (int64_t i : {0, 1})
      parts.push_back({fused.matrix("heads" + std::to_string(i), 8, 24 + i, 4), -1,
                       View(TestModel::slotArgument(fused.result, i * 4 * 96), 96 + 100, 24 + i),
                       24 + i});
    std::vector<std::vector<Part>> commands = {parts};
    if (!isFused)
      commands = {{parts[0]}, {parts[1]}};
    for (const std::vector<Part> &command : commands)
      fused.model.add(Command::Product, fused.makeProduct(input, command, 8, nullptr, 4, true),
                      "heads");
  };
  FusedModel fused(196, package::ElementType::F32), separate(196, package::ElementType::F32);
  build(fused, true);
  build(separate, false);
  expectSameBits(fused, separate);
}

TEST(FusedProduct, ResidualIsAddedToTheSum) {
  constexpr int64_t kWidth = 150;
  for (package::ElementType operands : kOperands)
    for (bool inPlace : {false, true}) {
      auto build = [&](FusedModel &fused, bool isFused) {
        int32_t wide = fused.wideRows();
        int32_t before = inPlace ? fused.result : fused.rows(kWidth);
        View input = TestModel::view(wide, kInputs), residual = TestModel::view(before, kWidth);
        fused.product(TestModel::view(fused.hidden, kHidden),
                      {{fused.matrix("before", kWidth, kHidden), -1, residual, kWidth}}, kHidden);
        int32_t weight = fused.matrix("w", kWidth, kInputs), bias = fused.vector("bias", kWidth);
        View result = TestModel::view(fused.result, kWidth);
        if (isFused)
          return fused.product(input, {{weight, bias, result, kWidth}}, kInputs, &residual);
        int32_t alone = fused.rows(kWidth);
        fused.product(input, {{weight, bias, TestModel::view(alone, kWidth), kWidth}}, kInputs);
        fused.model.launch("add",
                           {TestModel::slotArgument(before), TestModel::slotArgument(alone),
                            TestModel::slotArgument(fused.result)},
                           Size(kWidth, 0, 0));
      };
      FusedModel fused(kWidth, operands), separate(kWidth, operands);
      build(fused, true);
      build(separate, false);
      expectSameBits(fused, separate);
    }
}

TEST(FusedProduct, Gated) {
  for (package::ElementType operands : kOperands)
    for (int64_t width : {33, 64, 150}) {
      auto build = [&](FusedModel &fused, bool isFused) {
        View input = TestModel::view(fused.wideRows(), kInputs);
        int32_t gate = fused.matrix("gate", width, kInputs);
        int32_t up = fused.matrix("up", width, kInputs);
        View result = TestModel::view(fused.result, width);
        if (isFused) {
          auto table = package::CreateGatedProduct(fused.model.builder, &input, gate, up,
                                                   fused.model.kernelNumber("gate"), &result,
                                                   &kTokens, kInputs, width, operands);
          return fused.model.add(Command::GatedProduct, table, "gated");
        }
        int32_t gates = fused.rows(width), ups = fused.rows(width);
        fused.product(input, {{gate, -1, TestModel::view(gates, width), width}}, kInputs);
        fused.product(input, {{up, -1, TestModel::view(ups, width), width}}, kInputs);
        fused.model.launch("gate",
                           {TestModel::slotArgument(gates), TestModel::slotArgument(ups),
                            TestModel::slotArgument(fused.result)},
                           Size(width, 0, 0));
      };
      FusedModel fused(width, operands), separate(width, operands);
      build(fused, true);
      build(separate, false);
      expectSameBits(fused, separate);
    }
}

TEST(FusedProduct, GatedExperts) {
  constexpr int64_t kExperts = 5, kPerToken = 2, kWidth = 75;
  for (package::ElementType operands : kOperands)
    for (bool gather : {true, false}) {
      auto build = [&](FusedModel &fused, bool isFused) {
        flatbuffers::FlatBufferBuilder &builder = fused.model.builder;
        View rows = TestModel::view(fused.hidden, kHidden);
        Argument experts = TestModel::slotArgument(fused.rows(kPerToken));
        Argument shares = TestModel::slotArgument(fused.rows(kPerToken));
        Argument order = TestModel::slotArgument(fused.rows(kPerToken));
        Argument rank = TestModel::slotArgument(fused.rows(kPerToken));
        Argument offsets = TestModel::slotArgument(fused.model.slot(0, 0, 4 * (kExperts + 1)));
        fused.model.add(Command::Route,
                        package::CreateRoute(builder, &rows, -1, &experts, &shares, kExperts,
                                             kPerToken, package::Scoring::Sigmoid, 1, 1,
                                             package::GroupScore::TopTwoSum, true, 1, 0),
                        "route");
        fused.model.add(Command::GroupByExpert,
                        package::CreateGroupByExpert(builder, &experts, &order, &rank, &offsets,
                                                     kPerToken, kExperts),
                        "group");
        // Sorted rows, if not gathered: those of a product.
        int32_t sorted = fused.rows(kPerToken * kHidden);
        View sortedRows = TestModel::view(sorted, kHidden);
        auto add = [&](int32_t weight, int32_t up, const View &input, bool gathers,
                       const View &output, int64_t outputs) {
          int32_t kernel = up < 0 ? -1 : fused.model.kernelNumber("gate");
          auto table = package::CreateGroupedProduct(builder, &input, &order, &offsets, gathers,
                                                     weight, up, kernel, &output, kPerToken,
                                                     kExperts, kHidden, outputs, operands);
          fused.model.add(Command::GroupedProduct, table, "experts");
        };
        add(fused.matrix("sorted", kHidden, kHidden, kExperts), -1, rows, true, sortedRows,
            kHidden);
        const View &input = gather ? rows : sortedRows;
        int32_t gate = fused.matrix("gate", kWidth, kHidden, kExperts);
        int32_t up = fused.matrix("up", kWidth, kHidden, kExperts);
        if (isFused)
          return add(gate, up, input, gather, TestModel::view(fused.result, kWidth), kWidth);
        int32_t gates = fused.rows(kPerToken * kWidth), ups = fused.rows(kPerToken * kWidth);
        add(gate, -1, input, gather, TestModel::view(gates, kWidth), kWidth);
        add(up, -1, input, gather, TestModel::view(ups, kWidth), kWidth);
        fused.model.launch("gate",
                           {TestModel::slotArgument(gates), TestModel::slotArgument(ups),
                            TestModel::slotArgument(fused.result)},
                           Size(kPerToken * kWidth, 0, 0));
      };
      // A token's logits are the results of two ranks.
      FusedModel fused(kPerToken * kWidth, operands), separate(kPerToken * kWidth, operands);
      build(fused, true);
      build(separate, false);
      expectSameBits(fused, separate);
    }
}

// Four heads of 8, of 24 around the attention and of `outputs` afterwards.
TEST(FusedProduct, HeadAttention) {
  constexpr int64_t kHeads = 4, kLatent = 24;
  for (package::ElementType operands : kOperands)
    for (int64_t outputs : {8, 100}) {
      auto build = [&](FusedModel &fused, bool fusesAbsorb, bool fusesExpand) {
        int32_t query = fused.rows(kHeads * kLatent), latent = fused.rows(kHeads * kLatent);
        View input = TestModel::view(fused.hidden, kHidden, 8);
        View queryRows = TestModel::view(query, kHeads * kLatent, kLatent);
        View latentRows = TestModel::view(latent, kHeads * kLatent, kLatent);
        auto absorb = fused.makeProduct(
            input, {{fused.matrix("absorb", 8, kLatent, kHeads), -1, queryRows, kLatent}}, 8,
            nullptr, kHeads, true);
        auto expand =
            fused.makeProduct(latentRows,
                              {{fused.matrix("expand", outputs, kLatent, kHeads), -1,
                                TestModel::view(fused.result, fused.width, outputs), outputs}},
                              kLatent, nullptr, kHeads);
        int32_t sinks = fused.model.weight("sinks", {kHeads}, {1, -2, 3, 0.5});
        std::vector<Argument> arguments = {
            TestModel::slotArgument(query), TestModel::stepArgument(package::StepArray::Positions),
            Argument(package::ArgumentKind::Weight, sinks, 0), TestModel::slotArgument(latent)};
        Size items(kHeads, 0, 0);
        if (!fusesAbsorb)
          fused.model.add(Command::Product, absorb, "absorb");
        if (fusesAbsorb || fusesExpand) {
          auto launch = package::CreateLaunchDirect(
              fused.model.builder, fused.model.kernelNumber("attend"), &arguments, &items, 1);
          auto table = package::CreateHeadAttention(fused.model.builder, fusesAbsorb ? absorb : 0,
                                                    launch, fusesExpand ? expand : 0, kHeads);
          fused.model.add(Command::HeadAttention, table, "attention");
        } else {
          fused.model.launch("attend", arguments, items);
        }
        if (!fusesExpand)
          fused.model.add(Command::Product, expand, "expand");
      };
      FusedModel separate(kHeads * outputs, operands);
      build(separate, false, false);
      for (auto [fusesAbsorb, fusesExpand] :
           {std::pair<bool, bool>{true, true}, {true, false}, {false, true}}) {
        FusedModel fused(kHeads * outputs, operands);
        build(fused, fusesAbsorb, fusesExpand);
        expectSameBits(fused, separate);
      }
    }
}

// Scores of some rows with the absorption, those of the others before the attention.
TEST(FusedProduct, PartialScores) {
  constexpr int64_t kHeads = 4, kLatent = 24, kOutputs = 30;
  auto build = [&](FusedModel &fused, bool isFused) {
    flatbuffers::FlatBufferBuilder &builder = fused.model.builder;
    int32_t query = fused.rows(kHeads * kLatent), latent = fused.rows(kHeads * kLatent),
            hits = fused.rows(1), misses = fused.rows(1), scores = fused.rows(kHeads);
    for (auto [kernel, slot] : {std::pair("even", hits), std::pair("odd", misses)})
      fused.model.launch(kernel, {TestModel::stepArgument(package::StepArray::Positions),
                                  TestModel::slotArgument(slot)});
    View input = TestModel::view(fused.hidden, kHidden, 8);
    View queryRows = TestModel::view(query, kHeads * kLatent, kLatent);
    View latentRows = TestModel::view(latent, kHeads * kLatent, kLatent);
    auto absorb = fused.makeProduct(
        input, {{fused.matrix("absorb", 8, kLatent, kHeads), -1, queryRows, kLatent}}, 8, nullptr,
        kHeads, true);
    auto expand =
        fused.makeProduct(latentRows,
                          {{fused.matrix("expand", kOutputs, kLatent, kHeads), -1,
                            TestModel::view(fused.result, fused.width, kOutputs), kOutputs}},
                          kLatent, nullptr, kHeads);
    Size items(kHeads, 0, 0);
    auto launch = [&](const char *kernel, std::vector<int32_t> slots) {
      std::vector<Argument> arguments;
      for (int32_t slot : slots)
        arguments.push_back(TestModel::slotArgument(slot));
      return package::CreateLaunchDirect(builder, fused.model.kernelNumber(kernel), &arguments,
                                         &items, 1);
    };
    auto ofHits = launch("head_scores", {query, hits, scores});
    auto ofMisses = launch("head_scores", {query, misses, scores});
    auto attention = launch("attend_scored", {query, scores, latent});
    if (isFused) {
      fused.model.add(Command::PartialScores,
                      package::CreatePartialScores(builder, absorb, ofHits, kHeads, -1), "scores");
      fused.model.add(
          Command::HeadAttention,
          package::CreateHeadAttention(builder, 0, attention, expand, kHeads, -1, ofMisses),
          "attention");
      return;
    }
    fused.model.add(Command::Product, absorb, "absorb");
    for (auto table : {ofHits, ofMisses, attention})
      fused.model.add(Command::Launch, table, "launch");
    fused.model.add(Command::Product, expand, "expand");
  };
  FusedModel fused(kHeads * kOutputs, package::ElementType::F32),
      separate(kHeads * kOutputs, package::ElementType::F32);
  build(fused, true);
  build(separate, false);
  expectSameBits(fused, separate);
}

} // namespace
