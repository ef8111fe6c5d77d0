//===- TierVerifierTest.cpp - Hostile tiers and transfers are refused -----===//
//
// Files with right checksums whose commands would read what isn't there, or touch what moves.
//
//===----------------------------------------------------------------------===//
#include "strata/runtime/core/ManifestVerifier.h"
#include "strata/runtime/core/TieredTestPackage.h"

#include <gtest/gtest.h>

#include <cmath>

namespace strata::rt {
namespace {

using namespace package;

/// The message for the manifest with tiers after `change`, without what all of them begin with.
template <typename Change> std::string errorAfter(Change change) {
  std::vector<uint8_t> bytes = makeTieredTestManifest();
  Manifest *manifest = GetMutableManifest(bytes.data());
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

template <typename Command> Command &command(Manifest &manifest, uint32_t index) {
  CommandEntry *entry = manifest.mutable_commands()->GetMutableObject(index);
  return *static_cast<Command *>(entry->mutable_command());
}

template <typename Command, typename Change>
std::string errorOfCommand(uint32_t index, Change change) {
  return errorAfter([&](Manifest &manifest) { change(command<Command>(manifest, index)); });
}

/// Two commands change places; their labels go with them.
std::string errorOfSwap(uint32_t first, uint32_t second) {
  return errorAfter([&](Manifest &manifest) {
    auto *entries = const_cast<flatbuffers::uoffset_t *>(
        reinterpret_cast<const flatbuffers::uoffset_t *>(manifest.commands()->Data()));
    auto moved = [](flatbuffers::uoffset_t offset, uint32_t from, uint32_t to) {
      return flatbuffers::uoffset_t(offset + (int64_t(from) - to) * int64_t(sizeof offset));
    };
    flatbuffers::uoffset_t toSecond = moved(entries[first], first, second);
    entries[first] = moved(entries[second], second, first);
    entries[second] = toSecond;
  });
}

Argument &argument(Launch &launch, uint32_t index) {
  return const_cast<Argument &>(*launch.arguments()->Get(index));
}

template <typename T> void drop(T &table, flatbuffers::voffset_t field) {
  auto &raw = reinterpret_cast<flatbuffers::Table &>(table);
  auto *entry = const_cast<uint8_t *>(raw.GetVTable() + field);
  flatbuffers::WriteScalar<flatbuffers::voffset_t>(entry, 0);
}

TEST(TierVerifier, SoundManifest) {
  EXPECT_EQ(errorAfter([](Manifest &) {}), "");
}

TEST(TierVerifier, TiersAndEngines) {
  EXPECT_EQ(errorAfter([](Manifest &m) { drop(m, Manifest::VT_TIERS); }),
            "expected tiers, since there is what belongs to them");
  // The list of tiers begins with its length.
  EXPECT_EQ(errorAfter([](Manifest &m) {
              auto *count = reinterpret_cast<flatbuffers::uoffset_t *>(m.mutable_tiers());
              flatbuffers::WriteScalar<flatbuffers::uoffset_t>(count, 1);
            }),
            "cache leader: expected a second tier, since it isn't near");
  auto engine = [](auto change) {
    return errorAfter([&](Manifest &m) { change(*m.mutable_engines()->GetMutableObject(1)); });
  };
  EXPECT_EQ(engine([](Engine &e) { e.mutate_bandwidth(-1); }),
            "engine 1: expected a bandwidth of at least 0");
  EXPECT_EQ(engine([](Engine &e) { e.mutate_bandwidth(NAN); }),
            "engine 1: expected a bandwidth of at least 0");
  EXPECT_EQ(engine([](Engine &e) { e.mutate_operation_seconds(NAN); }),
            "engine 1: expected operation_seconds in [0, 1]");
  EXPECT_EQ(engine([](Engine &e) { drop(e, Engine::VT_NAME); }), "engine 1: name is missing");
}

TEST(TierVerifier, HotSets) {
  auto table = [](auto change) {
    return errorAfter([&](Manifest &m) { change(*m.mutable_slot_tables()->GetMutableObject(1)); });
  };
  EXPECT_EQ(table([](SlotTable &t) { t.mutate_slots(2); }),
            "slot table 1: expected slots in [3, 1073741824] but got 2");
  EXPECT_EQ(table([](SlotTable &t) { t.mutate_k(0); }),
            "slot table 1: expected k in [1, 1048576] but got 0");
  auto hotSet = [](auto change) {
    return errorAfter([&](Manifest &m) { change(*m.mutable_hot_sets()->GetMutableObject(1)); });
  };
  EXPECT_EQ(hotSet([](HotSet &h) { h.mutate_table(2); }),
            "hot set 1: expected table in [0, 1] but got 2");
  EXPECT_EQ(hotSet([](HotSet &h) { h.mutate_cache(-1); }),
            "hot set 1: expected cache in [0, 4] but got -1");
  EXPECT_EQ(hotSet([](HotSet &h) { h.mutate_cache(3); }),
            "hot set 1: expected a cache of which rows are near");
  EXPECT_EQ(hotSet([](HotSet &h) { h.mutate_cache(1); }), "hot set 1: its cache has another one");
}

TEST(TierVerifier, CachesAndWeights) {
  auto cache = [](uint32_t index, auto change) {
    return errorAfter([&](Manifest &m) { change(*m.mutable_caches()->GetMutableObject(index)); });
  };
  EXPECT_EQ(cache(kTieredNear, [](Cache &c) { c.mutate_residence(Residence(4)); }),
            "cache near: expected residence in [0, 3] but got 4");
  EXPECT_EQ(cache(kTieredKeys, [](Cache &c) { c.mutate_staging(1); }),
            "cache keys: expected staging in [0, 0] but got 1");
  EXPECT_EQ(cache(kTieredIndex, [](Cache &c) { c.mutate_staging(-1); }),
            "cache index: expected staging in [0, 0] but got -1");
  auto pool = [](auto change) {
    return errorAfter(
        [&](Manifest &m) { change(*m.mutable_staging_pools()->GetMutableObject(0)); });
  };
  EXPECT_EQ(pool([](StagingPool &p) { p.mutate_record_bytes(16); }),
            "cache keys: expected a staging pool of its pages");
  EXPECT_EQ(pool([](StagingPool &p) { p.mutate_page_size(0); }),
            "staging pool 0: expected page_size in [1, 65536] but got 0");
  EXPECT_EQ(pool([](StagingPool &p) { p.mutate_record_bytes(int64_t(1) << 40); }),
            "staging pool 0: expected record_bytes in [1, 536870912] but got 1099511627776");
  auto buffers = [](auto change) {
    return errorAfter(
        [&](Manifest &m) { change(*m.mutable_block_buffers()->GetMutableObject(0)); });
  };
  EXPECT_EQ(buffers([](BlockBuffers &b) { b.mutate_record_bytes(16); }),
            "cache index: expected block buffers of its records");
  EXPECT_EQ(buffers([](BlockBuffers &b) { b.mutate_block_records(0); }),
            "block buffers 0: expected block_records in [1, 2147483648] but got 0");

  auto weight = [](uint32_t index, auto change) {
    return errorAfter([&](Manifest &m) { change(*m.mutable_weights()->GetMutableObject(index)); });
  };
  EXPECT_EQ(weight(0, [](Weight &w) { w.mutate_slot(1); }),
            "weight far: expected slot in [-1, 0] but got 1");
  EXPECT_EQ(weight(1, [](Weight &w) { w.mutate_slot(0); }),
            "weight near: a widened weight has no slot");
  EXPECT_EQ(errorAfter([](Manifest &m) { m.mutable_weight_slots()->Mutate(0, 255); }),
            "weight far: it is larger than its slot");
  EXPECT_EQ(errorAfter([](Manifest &m) { m.mutable_weight_slots()->Mutate(0, 0); }),
            "expected bytes of a weight slot in [1, 1099511627776] but got 0");
}

TEST(TierVerifier, Arguments) {
  auto append = [](uint32_t index, Argument value) {
    return errorOfCommand<Launch>(kTieredAppendLeader,
                                  [&](Launch &l) { argument(l, index) = value; });
  };
  EXPECT_EQ(append(4, Argument(ArgumentKind::Stage, 5, 0)),
            "command 0 (append leader): expected argument in [0, 4] but got 5");
  EXPECT_EQ(append(4, Argument(ArgumentKind::Stage, kTieredKeys, 0)),
            "command 0 (append leader): argument: expected a cache with a stage");
  EXPECT_EQ(append(4, Argument(ArgumentKind::Stage, kTieredLeader, 4)),
            "command 0 (append leader): argument: a stage or a hot set has no offset");
  EXPECT_EQ(append(4, Argument(ArgumentKind::Cache, kTieredLeader, 0)),
            "command 0 (append leader): argument: expected a cache that is near");
  EXPECT_EQ(append(0, Argument(ArgumentKind::HotSet, 2, 0)),
            "command 0 (append leader): expected argument in [0, 1] but got 2");
  EXPECT_EQ(append(0, Argument(ArgumentKind::Step, 9, 0)),
            "command 0 (append leader): expected argument in [0, 8] but got 9");

  auto attention = [](auto change) {
    return errorOfCommand<HeadAttention>(kTieredHeadAttention, change);
  };
  EXPECT_EQ(attention([](HeadAttention &h) {
              argument(*h.mutable_attention(), 0) = Argument(ArgumentKind::HotSet, 1, 0);
            }),
            "command 15 (attention): attention: expected no more than one hot set");
  EXPECT_EQ(
      attention([](HeadAttention &h) { *h.mutable_attention()->mutable_items() = Size(0, 2, 0); }),
      "command 15 (attention): attention: expected items of tokens, since it reads a hot set");
  EXPECT_EQ(attention([](HeadAttention &h) { h.mutate_hot_set(-1); }),
            "command 15 (attention): expected hot_set 0, as its kernel has it, but got -1");
  EXPECT_EQ(attention([](HeadAttention &h) {
              argument(*h.mutable_scores(), 1) = Argument(ArgumentKind::HotSet, 1, 0);
            }),
            "command 15 (attention): expected hot_set 1, as its kernel has it, but got 0");
  EXPECT_EQ(errorOfCommand<PartialScores>(kTieredPartialScores,
                                          [](PartialScores &p) { p.mutate_hot_set(1); }),
            "command 13 (scores of hits): expected hot_set 0, as its kernel has it, but got 1");
}

TEST(TierVerifier, FieldsOfCommands) {
  EXPECT_EQ(errorOfCommand<Records>(kTieredRecords, [](Records &r) { r.mutate_page_size(8); }),
            "command 6 (records): expected the page size of the caches");
  EXPECT_EQ(errorOfCommand<Records>(kTieredRecords, [](Records &r) { r.mutate_k(4); }),
            "command 6 (records): rows reaches beyond slot 2");
  auto resolve = [](auto change) { return errorOfCommand<Resolve>(kTieredResolve, change); };
  EXPECT_EQ(resolve([](Resolve &r) { r.mutate_table(2); }),
            "command 7 (resolve): expected table in [0, 1] but got 2");
  EXPECT_EQ(resolve([](Resolve &r) { r.mutate_limit(-1); }),
            "command 7 (resolve): expected limit in [0, 2147483648] but got -1");
  EXPECT_EQ(resolve([](Resolve &r) { r.mutable_misses()->mutate_offset(4); }),
            "command 7 (resolve): misses reaches beyond slot 6");
  EXPECT_EQ(errorOfCommand<Resolve>(kTieredSpeculate, [](Resolve &r) { r.mutate_limit(0); }),
            "command 9 (speculate): slots: missing");
  EXPECT_EQ(errorOfCommand<Gather>(kTieredGather, [](Gather &g) { g.mutate_hot_set(2); }),
            "command 8 (gather): expected hot_set in [0, 1] but got 2");
  EXPECT_EQ(errorOfCommand<Gather>(kTieredGather, [](Gather &g) { g.mutate_engine(2); }),
            "command 8 (gather): expected engine in [0, 1] but got 2");
  EXPECT_EQ(errorOfCommand<Gather>(kTieredGather, [](Gather &g) { g.mutate_transfer(-1); }),
            "command 8 (gather): expected transfer in [0, 2147483647] but got -1");
  EXPECT_EQ(errorOfCommand<WriteBack>(kTieredWriteIndex, [](WriteBack &w) { w.mutate_cache(0); }),
            "command 3 (write index): expected a cache whose home is far");
  auto reload = [](auto change) { return errorOfCommand<Reload>(kTieredReloadKeys, change); };
  EXPECT_EQ(reload([](Reload &r) { r.mutate_weight(0); }),
            "command 17 (reload keys): expected either a weight or a cache");
  EXPECT_EQ(reload([](Reload &r) { r.mutate_cache(1); }),
            "command 17 (reload keys): expected a cache that is reloaded");
  EXPECT_EQ(errorOfCommand<Reload>(kTieredReloadWeight, [](Reload &r) { r.mutate_weight(1); }),
            "command 21 (reload weight): expected a weight with a slot");
  auto select = [](auto change) { return errorOfCommand<Select>(kTieredSelect, change); };
  EXPECT_EQ(select([](Select &s) { s.mutate_engine(-1); }),
            "command 5 (select): expected engine in [0, 1] but got -1");
  EXPECT_EQ(select([](Select &s) { s.mutate_cache(kTieredLeader); }),
            "command 5 (select): cache: expected a cache that is near");
}

TEST(TierVerifier, WaitsHaveTransfers) {
  EXPECT_EQ(errorOfCommand<Wait>(kTieredWaitGather, [](Wait &w) { w.mutate_transfer(99); }),
            "command 14 (wait): no command before it starts transfer 99");
  EXPECT_EQ(errorOfSwap(kTieredGather, kTieredWaitGather),
            "command 8 (wait): no command before it starts transfer 1");
  EXPECT_EQ(errorOfCommand<Gather>(kTieredGatherAhead, [](Gather &g) { g.mutate_transfer(1); }),
            "command 10 (gather ahead): transfer 1 was started before and not waited for");
  EXPECT_EQ(errorOfCommand<Wait>(kTieredWaitWriteKeys, [](Wait &w) { w.mutate_transfer(4); }),
            "command 26 (wait): no command before it starts transfer 4");
  // A step that ends while something moves.
  EXPECT_EQ(errorAfter([](Manifest &m) {
              auto *count = reinterpret_cast<flatbuffers::uoffset_t *>(m.mutable_commands());
              flatbuffers::WriteScalar<flatbuffers::uoffset_t>(count, kTieredWaitWriteKeys);
            }),
            "nothing waits for transfer 6");
}

TEST(TierVerifier, HotSetsHoldWhatIsRead) {
  EXPECT_EQ(errorOfSwap(kTieredWaitGather, kTieredHeadAttention),
            "command 14 (attention): hot set 0 is on its way: expected a wait for its transfer");
  EXPECT_EQ(errorOfSwap(kTieredResolve, kTieredGather),
            "command 7 (gather): expected its slot table to be resolved before");
  EXPECT_EQ(
      errorOfSwap(kTieredGather, kTieredPartialScores),
      "command 8 (scores of hits): hot set 0: expected a gather by the last resolution of its "
      "slot table");
  // A plan that a later resolution made stale.
  EXPECT_EQ(errorOfCommand<Resolve>(kTieredSpeculate, [](Resolve &r) { r.mutate_table(0); }),
            "command 10 (gather ahead): expected its slot table to be resolved before");
  EXPECT_EQ(errorAfter([](Manifest &m) {
              command<Resolve>(m, kTieredSpeculate).mutate_table(0);
              command<Gather>(m, kTieredGatherAhead).mutate_hot_set(0);
            }),
            "command 10 (gather ahead): expected a wait for the hot set's gather before");
  EXPECT_EQ(errorAfter([](Manifest &m) {
              for (uint32_t i : {0u, 1u})
                m.mutable_hot_sets()->GetMutableObject(i)->mutate_table(0);
              command<Resolve>(m, kTieredSpeculate).mutate_table(0);
            }),
            "command 13 (scores of hits): hot set 0: expected its records to be resolved before");
  // The other hot set has what a speculation brought.
  EXPECT_EQ(errorAfter([](Manifest &m) {
              auto &partial = command<PartialScores>(m, kTieredPartialScores);
              partial.mutate_hot_set(1);
              argument(*partial.mutable_scores(), 1).mutate_index(1);
            }),
            "command 13 (scores of hits): hot set 1: expected its records to be resolved before");
  EXPECT_EQ(
      errorOfCommand<Launch>(
          kTieredReadKeys,
          [](Launch &l) { argument(l, 1) = Argument(ArgumentKind::HotSet, 0, 0); }),
      "command 19 (read keys): hot set 0: expected a gather for each attention that reads it");
}

TEST(TierVerifier, StagesGoHome) {
  EXPECT_EQ(errorOfSwap(kTieredWaitIndex, kTieredSelect),
            "command 4 (select): expected the step's records to be home before its cache is "
            "streamed");
  EXPECT_EQ(errorOfCommand<Launch>(kTieredReadKeys,
                                   [](Launch &l) {
                                     argument(l, 1) =
                                         Argument(ArgumentKind::Stage, kTieredLeader, 0);
                                   }),
            "command 19 (read keys): the stage of cache 1 is on its way home: expected a wait for "
            "that transfer");
  EXPECT_EQ(errorOfCommand<Launch>(
                kTieredReadKeys,
                [](Launch &l) { argument(l, 1) = Argument(ArgumentKind::Stage, kTieredIndex, 0); }),
            "the step's records of cache 4 are never written home");
  EXPECT_EQ(errorOfCommand<WriteBack>(kTieredWriteFollower,
                                      [](WriteBack &w) { w.mutate_cache(kTieredLeader); }),
            "command 12 (write follower): expected a wait for the cache's write-back before");
}

TEST(TierVerifier, RoomsHoldWhatIsRead) {
  EXPECT_EQ(errorOfSwap(kTieredWaitKeys, kTieredReadKeys),
            "command 18 (read keys): cache 3 is on its way: expected a wait for its transfer");
  EXPECT_EQ(errorOfSwap(kTieredReloadKeys, kTieredReadKeys),
            "command 17 (read keys): cache 3 isn't in its staging pool");
  EXPECT_EQ(errorOfSwap(kTieredWaitWeight, kTieredProduct),
            "command 22 (head): weight 0 is on its way: expected a wait for its transfer");
  EXPECT_EQ(errorOfSwap(kTieredReloadWeight, kTieredProduct),
            "command 21 (head): weight 0 isn't in its slot");
  // The pool is emptied by an engine and filled again by another, or by the same.
  auto reloadAgain = [](int32_t engine) {
    return errorAfter([&](Manifest &m) {
      auto &reload = command<Reload>(m, kTieredReloadWeight);
      reload.mutate_weight(-1);
      reload.mutate_cache(kTieredKeys);
      reload.mutate_engine(engine);
    });
  };
  EXPECT_EQ(reloadAgain(0), "command 21 (reload weight): expected a wait for the write-back from "
                            "the same memory before");
  EXPECT_EQ(reloadAgain(1), "command 23 (head): weight 0 isn't in its slot");
  EXPECT_EQ(errorOfCommand<WriteBack>(kTieredWriteIndex,
                                      [](WriteBack &w) { w.mutate_cache(kTieredKeys); }),
            "command 3 (write index): cache 3 isn't in its staging pool");
}

} // namespace
} // namespace strata::rt
