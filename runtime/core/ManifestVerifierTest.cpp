//===- ManifestVerifierTest.cpp - Hostile manifests are refused -----------===//
//
// Files with right checksums whose manifest would make an executor reach out of bounds.
//
//===----------------------------------------------------------------------===//
#include "strata/runtime/core/ManifestVerifier.h"

#include "strata/runtime/core/TestPackage.h"

#include <gtest/gtest.h>

#include <cmath>

namespace strata::rt {
namespace {

using namespace package;

/// The message for the test manifest after `change`, without what all of them begin with.
template <typename Change> std::string errorAfter(Change change) {
  std::vector<uint8_t> bytes = makeTestManifest();
  // The test package's objects get their sizes from the writer.
  Manifest *manifest = GetMutableManifest(bytes.data());
  for (uint32_t i = 0; i < manifest->variants()->size(); ++i)
    *manifest->mutable_variants()->GetMutableObject(i)->mutable_object() = Blob(4096, 1, 0);
  change(*manifest);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  EXPECT_TRUE(VerifyManifestBuffer(verifier));
  Status status = verifyManifest(*manifest);
  if (status.ok())
    return "";
  std::string prefix = "manifest is malformed: ";
  EXPECT_EQ(status.message().substr(0, prefix.size()), prefix);
  return status.message().substr(prefix.size());
}

template <typename Command, typename Change>
std::string errorOfCommand(uint32_t index, Change change) {
  return errorAfter([&](Manifest &manifest) {
    CommandEntry *entry = manifest.mutable_commands()->GetMutableObject(index);
    change(*static_cast<Command *>(entry->mutable_command()));
  });
}

TEST(ManifestVerifier, SoundManifest) {
  EXPECT_EQ(errorAfter([](Manifest &) {}), "");
}

TEST(ManifestVerifier, Model) {
  EXPECT_EQ(errorAfter([](Manifest &m) { m.mutate_compute(ElementType::F16); }),
            "expected compute in [0, 1] but got 2");
  EXPECT_EQ(errorAfter([](Manifest &m) { m.mutate_max_positions(int64_t(1) << 31); }),
            "expected max_positions in [1, 2147483647] but got 2147483648");
  EXPECT_EQ(errorAfter([](Manifest &m) { m.mutate_indexer_count(2); }),
            "expected 2 Select and ImportRows commands but got 1");
  EXPECT_EQ(errorAfter([](Manifest &m) { m.mutate_mixture_count(-1); }),
            "expected -1 Route commands but got 1");
}

TEST(ManifestVerifier, Caches) {
  auto error = [](auto change) {
    return errorAfter([&](Manifest &m) { change(*m.mutable_caches()->GetMutableObject(1)); });
  };
  EXPECT_EQ(error([](Cache &c) { c.mutate_page_size(0); }),
            "cache index: expected page_size in [1, 65536] but got 0");
  EXPECT_EQ(error([](Cache &c) { c.mutate_page_size(8); }),
            "cache index: expected the page size of the first cache");
  EXPECT_EQ(error([](Cache &c) { c.mutate_rope(RopeLayout(3)); }),
            "cache index: expected rope in [0, 2] but got 3");
  auto field = [&](auto change) {
    return error([&](Cache &c) { change(*c.mutable_fields()->GetMutableObject(0)); });
  };
  EXPECT_EQ(field([](CacheField &f) { f.mutate_width(0); }),
            "cache index: expected width in [1, 1048576] but got 0");
  EXPECT_EQ(field([](CacheField &f) { f.mutate_heads(-1); }),
            "cache index: expected heads in [1, 65536] but got -1");
  EXPECT_EQ(field([](CacheField &f) { f.mutate_role(FieldRole(3)); }),
            "cache index: expected role in [0, 2] but got 3");
  EXPECT_EQ(field([](CacheField &f) { f.mutate_element_type(ElementType::I32); }),
            "cache index: expected element_type in [0, 3] but got 4");
  EXPECT_EQ(field([](CacheField &f) { f.mutate_heads(1 << 16), f.mutate_width(1 << 20); }),
            "cache index: a page of all caches is larger than 2 GiB");
}

TEST(ManifestVerifier, Weights) {
  auto error = [](uint32_t index, auto change) {
    return errorAfter([&](Manifest &m) { change(*m.mutable_weights()->GetMutableObject(index)); });
  };
  EXPECT_EQ(error(0, [](Weight &w) { w.mutate_stored(ElementType::I32); }),
            "weight matrix: expected stored type in [0, 3] but got 4");
  EXPECT_EQ(error(0, [](Weight &w) { w.mutable_shape()->Mutate(0, 0); }),
            "weight matrix: expected an extent of the shape in [1, 2147483648] but got 0");
  EXPECT_EQ(error(0,
                  [](Weight &w) {
                    w.mutable_shape()->Mutate(0, kMaxExtent);
                    w.mutable_shape()->Mutate(1, kMaxExtent);
                  }),
            "weight matrix: weights have too many elements");
  EXPECT_EQ(error(2, [](Weight &w) { w.mutate_part_groups(3); }),
            "weight heads: expected as many groups as the shape has");
  EXPECT_EQ(error(2, [](Weight &w) { w.mutate_part_offset(3); }),
            "weight heads: expected part_offset in [0, 2] but got 3");
  EXPECT_EQ(error(2, [](Weight &w) { w.mutate_part_stride(3); }),
            "weight heads: expected part_offset in [0, -1] but got 2");
  EXPECT_EQ(error(3, [](Weight &w) { w.mutable_shape()->Mutate(0, 7); }),
            "weight experts.{0..5}.matrix: expected a stack of 6 tensors by its shape");
  EXPECT_EQ(error(3, [](Weight &w) { w.mutate_part_groups(6); }),
            "weight experts.{0..5}.matrix: a stack can't be a part");
  EXPECT_EQ(error(3, [](Weight &w) { w.mutate_block_rows(0); }),
            "weight experts.{0..5}.matrix: expected block_rows in [1, 2147483648] but got 0");
  EXPECT_EQ(error(3, [](Weight &w) { w.mutate_stored(ElementType::BF16); }),
            "weight experts.{0..5}.matrix: only e4m3 weights have scales");
}

TEST(ManifestVerifier, Slots) {
  auto error = [](auto change) {
    return errorAfter(
        [&](Manifest &m) { change(*m.mutable_slots()->GetMutableObject(1)->mutable_bytes()); });
  };
  EXPECT_EQ(error([](Size &s) { s = Size(-1, 0, 0); }),
            "slot 1: expected bytes per token in [0, 1099511627776] but got -1");
  EXPECT_EQ(error([](Size &s) { s = Size(0, 0, kMaxTotalBytes + 1); }),
            "slot 1: expected fixed bytes in [0, 1099511627776] but got 1099511627777");
  EXPECT_EQ(error([](Size &s) { s = Size(kMaxTotalBytes, 0, 0); }), "slot 1: slots are too large");
}

TEST(ManifestVerifier, Launch) {
  auto error = [](auto change) { return errorOfCommand<Launch>(kTestLaunch, change); };
  auto argument = [&](uint32_t index, Argument value) {
    return error([&](Launch &l) { const_cast<Argument &>(*l.arguments()->Get(index)) = value; });
  };
  EXPECT_EQ(error([](Launch &l) { l.mutate_kernel(2); }),
            "command 1 (norm): expected kernel in [0, 1] but got 2");
  EXPECT_EQ(error([](Launch &l) { l.mutate_grain(0); }),
            "command 1 (norm): expected grain in [1, 1099511627776] but got 0");
  EXPECT_EQ(error([](Launch &l) { *l.mutable_items() = Size(-1, 0, 0); }),
            "command 1 (norm): expected items in [0, 2147483648] but got -1");
  EXPECT_EQ(argument(0, Argument(ArgumentKind::Slot, 6, 0)),
            "command 1 (norm): expected argument in [0, 5] but got 6");
  EXPECT_EQ(argument(0, Argument(ArgumentKind::Slot, 0, 33)),
            "command 1 (norm): argument reaches beyond slot 0");
  EXPECT_EQ(argument(0, Argument(ArgumentKind::Slot, 0, -4)),
            "command 1 (norm): expected argument in [0, 1099511627776] but got -4");
  EXPECT_EQ(argument(1, Argument(ArgumentKind::Weight, 5, 0)),
            "command 1 (norm): expected argument in [0, 4] but got 5");
  EXPECT_EQ(argument(1, Argument(ArgumentKind::Weight, 1, 32)),
            "command 1 (norm): expected argument in [0, 31] but got 32");
  EXPECT_EQ(argument(2, Argument(ArgumentKind::Cache, -1, 0)),
            "command 1 (norm): expected argument in [0, 1] but got -1");
  EXPECT_EQ(argument(2, Argument(ArgumentKind::Cache, 1, 4)),
            "command 1 (norm): argument: a cache has no offset");
  EXPECT_EQ(argument(3, Argument(ArgumentKind::Step, 9, 0)),
            "command 1 (norm): expected argument in [0, 4] but got 9");
  EXPECT_EQ(argument(3, Argument(ArgumentKind(6), 0, 0)),
            "command 1 (norm): argument: unknown kind of argument");
}

TEST(ManifestVerifier, RopeTable) {
  auto error = [](auto change) { return errorOfCommand<RopeTable>(kTestRope, change); };
  EXPECT_EQ(error([](RopeTable &r) { r.mutate_factor(NAN); }),
            "command 0 (rope): expected a finite factor");
  EXPECT_EQ(error([](RopeTable &r) { r.mutable_frequencies()->Mutate(1, INFINITY); }),
            "command 0 (rope): expected finite frequencies");
  EXPECT_EQ(error([](RopeTable &r) { r.mutable_output()->mutate_row_stride(9); }),
            "command 0 (rope): output reaches beyond slot 0");
}

ProductPart &part(Product &product, uint32_t index = 0) {
  return *product.mutable_parts()->GetMutableObject(index);
}

TEST(ManifestVerifier, Product) {
  auto error = [](auto change) { return errorOfCommand<Product>(kTestProduct, change); };
  EXPECT_EQ(error([](Product &p) { part(p).mutate_weight(5); }),
            "command 2 (linear): part 0: expected weight in [0, 4] but got 5");
  EXPECT_EQ(error([](Product &p) { part(p).mutate_weight(3); }),
            "command 2 (linear): part 0: weight: expected shape [1, 8, 8] but got [6, 8, 8]");
  EXPECT_EQ(error([](Product &p) { part(p).mutate_bias(0); }),
            "command 2 (linear): part 0: bias: expected f32");
  EXPECT_EQ(error([](Product &p) { part(p).mutate_bias(4); }),
            "command 2 (linear): part 0: bias: expected 8 elements but got 6");
  EXPECT_EQ(error([](Product &p) { part(p).mutate_bias(-2); }),
            "command 2 (linear): part 0: expected bias in [0, 4] but got -2");
  EXPECT_EQ(error([](Product &p) { p.mutate_inputs(9); }),
            "command 2 (linear): input reaches beyond slot 0");
  EXPECT_EQ(error([](Product &p) { *p.mutable_rows() = Size(3, 0, 0); }),
            "command 2 (linear): input reaches beyond slot 0");
  EXPECT_EQ(error([](Product &p) { *p.mutable_rows() = Size(1, 0, 1); }),
            "command 2 (linear): input reaches beyond slot 0");
  EXPECT_EQ(error([](Product &p) { *p.mutable_rows() = Size(1, 1, 0); }),
            "command 2 (linear): input reaches beyond slot 0");
  EXPECT_EQ(error([](Product &p) { p.mutate_operands(ElementType::F8E4M3); }),
            "command 2 (linear): expected operands in [0, 1] but got 3");
  EXPECT_EQ(error([](Product &p) { p.mutate_batch(0); }),
            "command 2 (linear): expected batch in [1, 2147483648] but got 0");
  EXPECT_EQ(error([](Product &p) { p.mutable_input()->mutate_row_stride(-8); }),
            "command 2 (linear): expected input in [0, 2147483648] but got -8");
  EXPECT_EQ(error([](Product &p) {
              p.mutable_input()->mutable_base() = Argument(ArgumentKind::Weight, 0, 0);
            }),
            "command 2 (linear): input: expected a slot");
  EXPECT_EQ(error([](Product &p) {
              part(p).mutable_output()->mutable_base() = Argument(ArgumentKind::Slot, 1, 2);
            }),
            "command 2 (linear): part 0: output: expected an offset of whole elements");
}

TEST(ManifestVerifier, WantedRowsAreAtMostTokens) {
  // A slot for each token holds the rows of all wanted ones, but not the other way round.
  EXPECT_EQ(
      errorOfCommand<Product>(kTestProduct, [](Product &p) { *p.mutable_rows() = Size(0, 1, 0); }),
      "");
  EXPECT_EQ(errorAfter([](Manifest &m) { m.mutable_logits()->mutate_row_stride(11); }),
            "logits reaches beyond slot 5");
  EXPECT_EQ(errorAfter([](Manifest &m) {
              *m.mutable_slots()->GetMutableObject(5)->mutable_bytes() = Size(40, 0, 0);
            }),
            "");
  EXPECT_EQ(errorAfter([](Manifest &m) {
              *m.mutable_slots()->GetMutableObject(0)->mutable_bytes() = Size(0, 32, 0);
            }),
            "command 0 (rope): output reaches beyond slot 0");
}

TEST(ManifestVerifier, HeadProduct) {
  auto error = [](auto change) { return errorOfCommand<Product>(kTestHeadProduct, change); };
  EXPECT_EQ(error([](Product &p) { p.mutate_transposed(false); }),
            "command 3 (absorb): part 0: weight: expected shape [2, 8, 4] but got [2, 4, 8]");
  EXPECT_EQ(error([](Product &p) { part(p).mutable_output()->mutate_batch_stride(9); }),
            "command 3 (absorb): part 0: output reaches beyond slot 1");
}

TEST(ManifestVerifier, Route) {
  auto error = [](auto change) { return errorOfCommand<Route>(kTestRoute, change); };
  EXPECT_EQ(error([](Route &r) { r.mutate_groups(4); }),
            "command 4 (route): expected groups of the same size");
  EXPECT_EQ(error([](Route &r) { r.mutate_groups(6); }),
            "command 4 (route): expected experts_per_token in [1, 1] but got 2");
  EXPECT_EQ(error([](Route &r) { r.mutate_groups(6), r.mutate_top_groups(2); }),
            "command 4 (route): expected at least two experts in a group");
  EXPECT_EQ(error([](Route &r) { r.mutate_top_groups(3); }),
            "command 4 (route): expected top_groups in [1, 2] but got 3");
  EXPECT_EQ(error([](Route &r) { r.mutate_experts_per_token(0); }),
            "command 4 (route): expected experts_per_token in [1, 1024] but got 0");
  EXPECT_EQ(error([](Route &r) { r.mutate_scoring(Scoring(2)); }),
            "command 4 (route): expected scoring in [0, 1] but got 2");
  EXPECT_EQ(error([](Route &r) { r.mutate_scale(INFINITY); }),
            "command 4 (route): expected a finite scale");
  EXPECT_EQ(error([](Route &r) { r.mutate_ordinal(1); }),
            "command 4 (route): expected ordinals in program order");
  EXPECT_EQ(error([](Route &r) { r.mutate_correction(1); }),
            "command 4 (route): correction: expected 6 elements but got 8");
  EXPECT_EQ(error([](Route &r) { r.mutable_weights()->mutate_index(4); }),
            "command 4 (route): weights reaches beyond slot 4");
}

TEST(ManifestVerifier, GroupByExpert) {
  auto error = [](auto change) { return errorOfCommand<GroupByExpert>(kTestGroup, change); };
  EXPECT_EQ(error([](GroupByExpert &g) { g.mutate_expert_count(7); }),
            "command 5 (group): offsets reaches beyond slot 4");
  EXPECT_EQ(error([](GroupByExpert &g) { g.mutate_experts_per_token(5); }),
            "command 5 (group): experts reaches beyond slot 2");
  EXPECT_EQ(error([](GroupByExpert &g) { g.mutate_expert_count(kMaxExperts + 1); }),
            "command 5 (group): expected expert_count in [1, 65536] but got 65537");
}

TEST(ManifestVerifier, GroupedProduct) {
  auto gathered = [](auto change) {
    return errorOfCommand<GroupedProduct>(kTestGatheredProduct, change);
  };
  auto plain = [](auto change) {
    return errorOfCommand<GroupedProduct>(kTestGroupedProduct, change);
  };
  EXPECT_EQ(gathered([](GroupedProduct &p) { p.mutate_gather(false); }),
            "command 6 (gate): input reaches beyond slot 0");
  EXPECT_EQ(plain([](GroupedProduct &p) { p.mutate_weight(0); }),
            "command 7 (down): weight: expected shape [6, 8, 8] but got [1, 8, 8]");
  EXPECT_EQ(plain([](GroupedProduct &p) { p.mutate_outputs(9); }),
            "command 7 (down): output reaches beyond slot 1");
}

TEST(ManifestVerifier, Select) {
  auto error = [](auto change) { return errorOfCommand<Select>(kTestSelect, change); };
  EXPECT_EQ(error([](Select &s) { s.mutate_k(5); }),
            "command 8 (select): output reaches beyond slot 2");
  EXPECT_EQ(error([](Select &s) { s.mutate_k(0); }),
            "command 8 (select): expected k in [1, 1048576] but got 0");
  EXPECT_EQ(error([](Select &s) { s.mutate_cache(2); }),
            "command 8 (select): expected cache in [0, 1] but got 2");
  EXPECT_EQ(error([](Select &s) { s.mutate_kernel(-1); }),
            "command 8 (select): expected kernel in [0, 1] but got -1");
}

TEST(ManifestVerifier, ProductOfParts) {
  auto error = [](auto change) { return errorOfCommand<Product>(kTestParts, change); };
  EXPECT_EQ(error([](Product &p) { part(p, 1).mutate_outputs(9); }),
            "command 9 (parts): part 1: weight: expected shape [1, 9, 8] but got [1, 8, 8]");
  EXPECT_EQ(error([](Product &p) { part(p, 1).mutate_outputs(0); }),
            "command 9 (parts): part 1: expected outputs in [1, 2147483648] but got 0");
  EXPECT_EQ(error([](Product &p) { part(p, 1).mutate_outputs(17); }),
            "command 9 (parts): part 1: output reaches beyond slot 1");
  EXPECT_EQ(error([](Product &p) { part(p, 1).mutate_weight(-1); }),
            "command 9 (parts): part 1: expected weight in [0, 4] but got -1");
  EXPECT_EQ(error([](Product &p) { part(p, 1).mutate_bias(4); }),
            "command 9 (parts): part 1: bias: expected 8 elements but got 6");
  EXPECT_EQ(error([](Product &p) {
              part(p, 1).mutable_output()->mutable_base() = Argument(ArgumentKind::Slot, 4, 0);
            }),
            "command 9 (parts): part 1: output reaches beyond slot 4");
}

/// Drops a field of a table, and of all others with the same fields: they share one description.
template <typename Table> void drop(Table &table, flatbuffers::voffset_t field) {
  auto &raw = reinterpret_cast<flatbuffers::Table &>(table);
  const uint8_t *vtable = raw.GetVTable();
  auto *entry = const_cast<uint8_t *>(vtable + field);
  flatbuffers::WriteScalar<flatbuffers::voffset_t>(entry, 0);
}

TEST(ManifestVerifier, MissingPieces) {
  EXPECT_EQ(errorOfCommand<Product>(kTestParts, [](Product &p) { drop(p, Product::VT_PARTS); }),
            "command 2 (linear): parts are missing");
  EXPECT_EQ(errorOfCommand<Product>(kTestParts,
                                    [](Product &p) { drop(part(p, 1), ProductPart::VT_OUTPUT); }),
            "command 3 (absorb): part 0: output: missing");
  EXPECT_EQ(errorOfCommand<HeadAttention>(
                kTestHeadAttention, [](HeadAttention &h) { drop(h, HeadAttention::VT_ATTENTION); }),
            "command 13 (heads): attention is missing");
  for (flatbuffers::voffset_t field : {HeadAttention::VT_ABSORB, HeadAttention::VT_EXPAND})
    EXPECT_EQ(errorOfCommand<HeadAttention>(kTestHeadAttention,
                                            [&](HeadAttention &h) { drop(h, field); }),
              "");
  EXPECT_EQ(errorOfCommand<GatedProduct>(kTestGatedProduct,
                                         [](GatedProduct &p) { drop(p, GatedProduct::VT_ROWS); }),
            "command 11 (gated): rows: missing");
}

TEST(ManifestVerifier, ProductWithResidual) {
  auto error = [](auto change) { return errorOfCommand<Product>(kTestResidual, change); };
  auto residual = [&](auto change) {
    return error([&](Product &p) { change(*p.mutable_residual()); });
  };
  EXPECT_EQ(residual([](View &v) { v.mutate_row_stride(9); }),
            "command 10 (residual): residual reaches beyond slot 0");
  EXPECT_EQ(residual([](View &v) { v.mutate_row_stride(-1); }),
            "command 10 (residual): expected residual in [0, 2147483648] but got -1");
  EXPECT_EQ(residual([](View &v) { v.mutable_base().mutate_offset(4); }),
            "command 10 (residual): residual reaches beyond slot 0");
  EXPECT_EQ(residual([](View &v) { v.mutable_base() = Argument(ArgumentKind::Weight, 0, 0); }),
            "command 10 (residual): residual: expected a slot");
  EXPECT_EQ(residual([](View &v) { v = View(Argument(ArgumentKind::Slot, 1, 2), 8, 0); }),
            "command 10 (residual): residual: expected an offset of whole elements");
  // The list of parts begins with its length.
  EXPECT_EQ(error([](Product &p) {
              auto *count = reinterpret_cast<flatbuffers::uoffset_t *>(p.mutable_parts());
              flatbuffers::WriteScalar<flatbuffers::uoffset_t>(count, 0);
            }),
            "command 10 (residual): expected the number of parts in [1, 64] but got 0");
}

TEST(ManifestVerifier, GatedProduct) {
  auto error = [](auto change) { return errorOfCommand<GatedProduct>(kTestGatedProduct, change); };
  EXPECT_EQ(error([](GatedProduct &p) { p.mutate_kernel(2); }),
            "command 11 (gated): expected kernel in [0, 1] but got 2");
  EXPECT_EQ(error([](GatedProduct &p) { p.mutate_kernel(-1); }),
            "command 11 (gated): expected kernel in [0, 1] but got -1");
  EXPECT_EQ(error([](GatedProduct &p) { p.mutate_gate(1); }),
            "command 11 (gated): gate: expected shape [1, 8, 8] but got [8]");
  EXPECT_EQ(error([](GatedProduct &p) { p.mutate_up(3); }),
            "command 11 (gated): up: expected shape [1, 8, 8] but got [6, 8, 8]");
  EXPECT_EQ(error([](GatedProduct &p) { p.mutate_up(5); }),
            "command 11 (gated): expected up in [0, 4] but got 5");
  EXPECT_EQ(error([](GatedProduct &p) { p.mutate_inputs(9); }),
            "command 11 (gated): input reaches beyond slot 0");
  EXPECT_EQ(error([](GatedProduct &p) { p.mutate_outputs(17); }),
            "command 11 (gated): output reaches beyond slot 1");
  EXPECT_EQ(error([](GatedProduct &p) { p.mutate_outputs(0); }),
            "command 11 (gated): expected outputs in [1, 2147483648] but got 0");
  EXPECT_EQ(error([](GatedProduct &p) { *p.mutable_rows() = Size(1, 1, 0); }),
            "command 11 (gated): input reaches beyond slot 0");
  EXPECT_EQ(error([](GatedProduct &p) { p.mutate_operands(ElementType::F16); }),
            "command 11 (gated): expected operands in [0, 1] but got 2");
}

TEST(ManifestVerifier, GatedExperts) {
  auto error = [](auto change) {
    return errorOfCommand<GroupedProduct>(kTestGatedExperts, change);
  };
  EXPECT_EQ(error([](GroupedProduct &p) { p.mutate_kernel(-1); }),
            "command 12 (gated experts): expected up and a kernel together");
  EXPECT_EQ(error([](GroupedProduct &p) { p.mutate_up(-1); }),
            "command 12 (gated experts): expected up and a kernel together");
  EXPECT_EQ(error([](GroupedProduct &p) { p.mutate_kernel(2); }),
            "command 12 (gated experts): expected kernel in [0, 1] but got 2");
  EXPECT_EQ(error([](GroupedProduct &p) { p.mutate_up(0); }),
            "command 12 (gated experts): up: expected shape [6, 8, 8] but got [1, 8, 8]");
  EXPECT_EQ(error([](GroupedProduct &p) { p.mutate_up(-2); }),
            "command 12 (gated experts): expected up in [0, 4] but got -2");
}

TEST(ManifestVerifier, HeadAttention) {
  auto error = [](auto change) {
    return errorOfCommand<HeadAttention>(kTestHeadAttention, change);
  };
  EXPECT_EQ(error([](HeadAttention &h) { h.mutate_heads(0); }),
            "command 13 (heads): expected heads in [1, 2147483648] but got 0");
  EXPECT_EQ(error([](HeadAttention &h) { h.mutate_heads(3); }),
            "command 13 (heads): expected as many items of each head");
  EXPECT_EQ(error([](HeadAttention &h) { h.mutate_heads(1); }),
            "command 13 (heads): absorb: expected a matrix for each head");
  EXPECT_EQ(error([](HeadAttention &h) { h.mutable_attention()->mutate_kernel(2); }),
            "command 13 (heads): attention: expected kernel in [0, 1] but got 2");
  EXPECT_EQ(error([](HeadAttention &h) {
              const Argument &weight = *h.attention()->arguments()->Get(1);
              const_cast<Argument &>(weight).mutate_offset(24);
            }),
            "command 13 (heads): attention: expected argument in [0, 23] but got 24");
  EXPECT_EQ(
      error([](HeadAttention &h) { *h.mutable_attention()->mutable_items() = Size(4, 0, 0); }),
      "command 13 (heads): absorb: expected a row for each item of a head");
  EXPECT_EQ(error([](HeadAttention &h) { *h.mutable_expand()->mutable_rows() = Size(0, 1, 0); }),
            "command 13 (heads): expand: expected a row for each item of a head");
  EXPECT_EQ(error([](HeadAttention &h) { *h.mutable_absorb()->mutable_rows() = Size(2, 0, 0); }),
            "command 13 (heads): absorb: input reaches beyond slot 0");
  EXPECT_EQ(error([](HeadAttention &h) { part(*h.mutable_expand()).mutate_weight(0); }),
            "command 13 (heads): expand: part 0: weight: expected shape [2, 4, 8] but got "
            "[1, 8, 8]");
  EXPECT_EQ(error([](HeadAttention &h) { part(*h.mutable_expand()).mutate_bias(1); }),
            "command 13 (heads): expand: expected no bias");
  // Products of other commands in the place of `absorb`.
  auto absorbed = [](uint32_t command) {
    return errorAfter([&](Manifest &m) {
      auto table = [&](uint32_t index) {
        return static_cast<uint8_t *>(
            m.mutable_commands()->GetMutableObject(index)->mutable_command());
      };
      uint8_t *heads = table(kTestHeadAttention);
      reinterpret_cast<flatbuffers::Table *>(heads)->SetPointer(HeadAttention::VT_ABSORB,
                                                                table(command));
    });
  };
  EXPECT_EQ(absorbed(kTestParts), "command 13 (heads): absorb: expected one part");
  EXPECT_EQ(absorbed(kTestResidual), "command 13 (heads): absorb: expected no residual");
  EXPECT_EQ(absorbed(kTestProduct), "command 13 (heads): absorb: expected no bias");
}

TEST(ManifestVerifier, UnknownCommand) {
  EXPECT_EQ(errorAfter([](Manifest &m) {
              CommandEntry *entry = m.mutable_commands()->GetMutableObject(0);
              reinterpret_cast<flatbuffers::Table *>(entry)->SetField<uint8_t>(
                  CommandEntry::VT_COMMAND_TYPE, 200, 0);
            }),
            "command 0 (rope): unknown kind of command 200");
}

TEST(ManifestVerifier, Variants) {
  EXPECT_EQ(errorAfter([](Manifest &m) {
              *m.mutable_variants()->GetMutableObject(0)->mutable_object() = Blob();
            }),
            "variant x86-64: object is missing");
}

} // namespace
} // namespace strata::rt
