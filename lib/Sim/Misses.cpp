//===- Misses.cpp - Which records are not in their hot sets ---------------===//
#include "strata/lib/Sim/Misses.h"

#include "strata/lib/Plan/Plan.h"
#include "strata/runtime/core/StepRecords.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata::sim {

Expected<std::map<uint32_t, int>> findResolvedIndexers(const package::Manifest &manifest) {
  std::map<uint32_t, int> indexers;
  // What the arena holds, by piece and offset: rows of an indexer, or records of these rows.
  std::map<std::pair<int, int64_t>, int> contents;
  auto at = [](const package::Argument *argument) {
    return std::pair(argument->index(), argument->offset());
  };
  for (uint32_t i = 0; i < manifest.commands()->size(); ++i) {
    const package::CommandEntry &entry = *manifest.commands()->Get(i);
    if (const auto *select = entry.command_as_Select()) {
      contents[at(select->output())] = select->ordinal();
    } else if (const auto *import = entry.command_as_ImportRows()) {
      contents[at(import->output())] = import->ordinal();
    } else if (const auto *records = entry.command_as_Records()) {
      if (auto found = contents.find(at(records->rows())); found != contents.end())
        contents[at(records->output())] = found->second;
    } else if (const auto *resolve = entry.command_as_Resolve()) {
      auto found = contents.find(at(resolve->records()));
      if (found == contents.end())
        return Status(StatusCode::Unsupported, "command " + std::to_string(i) + " (" +
                                                   entry.label()->str() +
                                                   "): its records come from no indexer");
      indexers[i] = found->second;
    }
  }
  return indexers;
}

/// The number of the first layer whose cache has a hot set of a table.
static int64_t findFirstLayer(const package::Manifest &manifest, int table) {
  int64_t first = -1;
  for (const package::CommandEntry *entry : *manifest.commands())
    if (const auto *gather = entry->command_as_Gather())
      if (manifest.hot_sets()->Get(uint32_t(gather->hot_set()))->table() == table &&
          (first < 0 || entry->layer() < first))
        first = entry->layer();
  return first;
}

void addExpectedMisses(const package::Manifest &manifest, std::optional<double> share,
                       double divisor, bool speculates, StepFacts &facts) {
  std::map<int, int64_t> ahead; // records that are there by speculation, by table
  for (uint32_t i = 0; i < manifest.commands()->size(); ++i) {
    const auto *resolve = manifest.commands()->Get(i)->command_as_Resolve();
    if (!resolve || (resolve->limit() > 0 && !speculates))
      continue;
    const package::SlotTable &table = *manifest.slot_tables()->Get(uint32_t(resolve->table()));
    double rows = facts.visible(table.k()), sequences = double(facts.sequences.size());
    // The slots are shared by the sequences; what is all there never misses.
    double slotsPerK = double(table.slots()) / sequences / double(table.k());
    double missing =
        share ? *share
              : plan::defaultMissCurve(findFirstLayer(manifest, resolve->table())).at(slotsPerK);
    int64_t misses = std::llround(rows * std::clamp(missing / divisor, 0.0, 1.0));
    Resolution resolution;
    if (resolve->limit() > 0) {
      resolution.misses = std::min(misses, resolve->limit());
      ahead[resolve->table()] = std::llround(kGuessedRight * double(resolution.misses));
    } else {
      resolution.misses = misses - std::exchange(ahead[resolve->table()], 0);
      resolution.hits = std::llround(rows) - resolution.misses;
    }
    resolution.blocks.push_back({facts.tokens(), resolution.misses});
    facts.resolutions[i] = resolution;
  }
}

Expected<RowTrace> RowTrace::create(const package::Manifest &manifest) {
  RowTrace trace(manifest);
  Expected<std::map<uint32_t, int>> indexers = findResolvedIndexers(manifest);
  if (!indexers.ok())
    return indexers.status();
  trace.indexers_ = std::move(*indexers);
  if (manifest.slot_tables())
    for (const package::SlotTable *table : *manifest.slot_tables())
      trace.tables_.emplace_back(table->slots(), table->k());
  return trace;
}

/// The record of each row of each token, as the command Records numbers them.
static std::vector<int32_t> numberRecords(const rt::StepInput &input, const int32_t *rows,
                                          int64_t k, int64_t pageSize) {
  std::vector<int32_t> records(input.tokenIds.size() * size_t(k));
  for (size_t n = 0; n < input.tokenIds.size(); ++n)
    for (size_t j = n * size_t(k); j < (n + 1) * size_t(k); ++j) {
      int64_t position = rows[j];
      records[j] =
          position < 0
              ? -1
              : int32_t(input.pages[size_t(input.pageBegin[n] + position / pageSize)] * pageSize +
                        position % pageSize);
    }
  return records;
}

Expected<StepFacts> RowTrace::next(const rt::StepInput &input,
                                   const std::vector<const int32_t *> &rows) {
  StepFacts facts;
  facts.wanted = int64_t(input.wanted.size());
  for (size_t n = 0; n < input.tokenIds.size(); ++n) {
    if (n == 0 || input.sequences[n] != input.sequences[n - 1])
      facts.sequences.emplace_back();
    ++facts.sequences.back().tokens;
    facts.sequences.back().context = input.positions[n] + 1;
  }
  int64_t pageSize = manifest_->caches()->Get(0)->page_size();
  std::vector<int32_t> own = rt::ownRecords(input, pageSize);
  for (rt::SlotTable &table : tables_)
    table.beginStep();
  for (const auto &[command, indexer] : indexers_) {
    const auto &resolve = *manifest_->commands()->Get(command)->command_as_Resolve();
    rt::SlotTable &table = tables_[size_t(resolve.table())];
    int64_t k = manifest_->slot_tables()->Get(uint32_t(resolve.table()))->k();
    if (size_t(indexer) >= rows.size() || !rows[size_t(indexer)])
      return Status(StatusCode::InvalidArgument,
                    "expected rows of indexer " + std::to_string(indexer));
    std::vector<int32_t> records = numberRecords(input, rows[size_t(indexer)], k, pageSize);
    int64_t tokens = int64_t(input.tokenIds.size());
    rt::SlotPlan plan = resolve.limit() > 0
                            ? table.speculate(records.data(), tokens, own, resolve.limit())
                            : table.resolve(records.data(), tokens, own, nullptr, nullptr, nullptr);
    Resolution resolution{{}, plan.hits, plan.misses, plan.own};
    for (const rt::SlotPlan::Block &block : plan.blocks) {
      int64_t fromHome = std::count_if(block.misses.begin(), block.misses.end(),
                                       [](const rt::SlotMiss &miss) { return miss.token < 0; });
      resolution.blocks.push_back({block.endToken - block.firstToken, fromHome});
    }
    facts.resolutions[command] = std::move(resolution);
  }
  return facts;
}

} // namespace strata::sim
