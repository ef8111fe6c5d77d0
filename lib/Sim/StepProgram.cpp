//===- StepProgram.cpp - A package's commands as operations ---------------===//
//
// Follows runtime/cpu/Transfers.cpp: the same commands start the same transfers of the same bytes.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Sim/StepProgram.h"

#include "strata/lib/Sim/Collectives.h"
#include "strata/lib/Support/ElementType.h"
#include "strata/runtime/core/Package.h"

#include <algorithm>
#include <cmath>

namespace strata::sim {

using package::Command;
using rt::StallCause;

Expected<std::vector<int>> findEngines(const package::Manifest &manifest, const Machine &machine) {
  std::vector<int> engines;
  if (!manifest.engines())
    return engines;
  for (const package::Engine *engine : *manifest.engines()) {
    auto found = std::find_if(
        machine.engines.begin(), machine.engines.end(),
        [&](const MachineEngine &each) { return each.name == engine->name()->string_view(); });
    if (found == machine.engines.end())
      return Status(StatusCode::InvalidArgument,
                    "machine " + machine.name + ": expected an engine \"" + engine->name()->str() +
                        "\", which the package's transfers use");
    engines.push_back(int(found - machine.engines.begin()));
  }
  return engines;
}

Links makeLinks(const Machine &machine, const std::vector<int> &engines) {
  Links links;
  for (int number : engines) {
    const MachineEngine &engine = machine.engines[size_t(number)];
    links.engines.push_back({engine.bandwidth, engine.link, engine.computeSlowdown});
  }
  for (const MachineLink &link : machine.links) {
    // All devices of an uplink do the same at the same time.
    double devices = double(std::max(link.sharedBy, 1));
    links.links.push_back({link.bandwidth / devices, link.bothDirections / devices});
  }
  return links;
}

static int64_t toNanoseconds(double seconds) { return int64_t(std::llround(seconds * 1e9)); }

namespace {

class Builder {
public:
  Builder(const package::Manifest &manifest, const Machine &machine,
          const std::vector<int> &engines, const StepFacts &facts, const ProgramOptions &options)
      : manifest_(manifest), machine_(machine), engines_(engines), facts_(facts), options_(options),
        device_(manifest, machine, options.formats) {}

  StepProgram run();

private:
  struct HotSet {
    const package::HotSet *table = nullptr;
    int engine = 0; ///< that gathered last
    int layer = -1; ///< of the command that reads it
  };
  struct Table {
    const Resolution *resolution = nullptr;
    bool leaderIsMissing = false;
    int64_t ahead = 0; ///< records that speculation brings before
  };

  void addCommand(const package::CommandEntry &entry);
  /// The time of a command's computation, as measured or predicted.
  double secondsOf(const package::CommandEntry &entry) const {
    return isMeasured() ? options_.measured.commands[size_t(command_)]
                        : device_.seconds(entry, facts_);
  }
  bool isMeasured() const { return !options_.measured.commands.empty(); }
  void addCompute(double seconds, bool isCollective = false);
  /// Starts a transfer. Of scattered rows `rows` says how many there are, and `rowBytes` how long
  /// each is.
  int start(int engine, StallCause cause, int64_t bytes, bool toNear, int layer, int64_t rows = 0,
            int64_t rowBytes = 0);
  void wait(int transfer);
  void gather(const package::Gather &gather);
  void speculateFor(uint32_t next);
  void reload(const package::Reload &reload);
  void select(const package::CommandEntry &entry, const package::Select &select);
  void attend(const package::CommandEntry &entry, int hotSet);
  int findHotSet(const package::CommandEntry &entry) const;
  int layerOf(int command) const { return manifest_.commands()->Get(uint32_t(command))->layer(); }
  int64_t bytesOf(int cache) const {
    return recordBytes(*manifest_.caches()->Get(uint32_t(cache)), options_.formats.caches);
  }

  const package::Manifest &manifest_;
  const Machine &machine_;
  const std::vector<int> &engines_;
  const StepFacts &facts_;
  const ProgramOptions &options_;
  Device device_;
  StepProgram program_;
  std::vector<HotSet> hotSets_;
  std::vector<Table> tables_;
  std::map<int, std::vector<int>> started_; ///< transfers by the number that Wait names
  int command_ = 0;
};

} // namespace

/// Commands that compute nothing.
static bool movesOnly(Command command) {
  return command == Command::Gather || command == Command::WriteBack ||
         command == Command::Reload || command == Command::Wait;
}

void Builder::addCompute(double seconds, bool isCollective) {
  Operation operation;
  operation.nanoseconds = toNanoseconds(seconds * options_.computeScale);
  operation.command = command_;
  operation.isCollective = isCollective;
  program_.operations.push_back(operation);
}

int Builder::start(int engine, StallCause cause, int64_t bytes, bool toNear, int layer,
                   int64_t rows, int64_t rowBytes) {
  const MachineEngine &mover = machine_.engines[size_t(engines_[size_t(engine)])];
  Transfer transfer;
  transfer.engine = engine;
  transfer.bytes = bytes;
  transfer.toNear = toNear;
  transfer.cause = cause;
  transfer.command = command_;
  transfer.layer = layer;
  // A copy engine takes an operation for each row; ranges and pages go in one.
  bool byRow = mover.kind == MachineEngine::Kind::Copy && rows > 0;
  transfer.setupNanoseconds =
      toNanoseconds(mover.operationSeconds * options_.transferScale * double(byRow ? rows : 1));
  transfer.stretch = options_.transferScale;
  if (!options_.measured.engines.empty()) {
    const MeasuredTimes::Engine &measured = options_.measured.engines[size_t(engine)];
    transfer.setupNanoseconds += toNanoseconds(measured.lateSeconds);
    transfer.stretch *= measured.stretch;
  }
  if (rowBytes > 0 && mover.alignment > 1 && rowBytes % mover.alignment != 0)
    transfer.stretch *= mover.unalignedFactor;
  int number = int(program_.transfers.size());
  program_.transfers.push_back(transfer);
  Operation operation;
  operation.kind = Operation::Kind::Start;
  operation.transfer = number;
  operation.command = command_;
  program_.operations.push_back(operation);
  bool isLeader = cause == StallCause::LeaderRows;
  if ((options_.overlap == Overlap::None && toNear) ||
      (options_.overlap == Overlap::Followers && isLeader))
    wait(number);
  return number;
}

void Builder::wait(int transfer) {
  Operation operation;
  operation.kind = Operation::Kind::Wait;
  operation.nanoseconds = toNanoseconds(options_.measured.wakeSeconds);
  operation.transfer = transfer;
  operation.command = command_;
  program_.operations.push_back(operation);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void Builder::gather(const package::Gather &gather) {
  HotSet &hotSet = hotSets_[size_t(gather.hot_set())];
  hotSet.engine = gather.engine();
  Table &table = tables_[size_t(hotSet.table->table())];
  if (!table.resolution || table.resolution->blocks.empty())
    return;
  StallCause cause = table.leaderIsMissing ? StallCause::LeaderRows : StallCause::FollowerRows;
  int64_t records = table.resolution->blocks.front().misses;
  if (table.leaderIsMissing)
    records -= std::exchange(table.ahead, 0);
  table.leaderIsMissing = false;
  if (records <= 0)
    return;
  int64_t bytes = bytesOf(hotSet.table->cache());
  started_[gather.transfer()].push_back(start(gather.engine(), cause, records * bytes,
                                              /*toNear=*/true, hotSet.layer, records, bytes));
}

/// Before the leader of the next group gathers, a share of what it would miss is brought: after all
/// gathers of this group, while it computes.
void Builder::speculateFor(uint32_t next) {
  for (uint32_t i = next; i < manifest_.commands()->size(); ++i) {
    const package::CommandEntry &entry = *manifest_.commands()->Get(i);
    if (i == next && entry.command_type() == Command::Gather)
      return; // not the last one
    if (const package::Gather *gather = entry.command_as_Gather()) {
      HotSet &hotSet = hotSets_[size_t(gather->hot_set())];
      Table &table = tables_[size_t(hotSet.table->table())];
      const Resolution *resolution = nullptr;
      for (const auto &[command, each] : facts_.resolutions)
        if (int(command) > command_ && command < i)
          resolution = &each;
      if (!resolution || resolution->blocks.empty())
        return;
      table.ahead = std::llround(options_.speculation * double(resolution->blocks.front().misses));
      int64_t bytes = bytesOf(hotSet.table->cache());
      if (table.ahead > 0)
        started_[gather->transfer()].push_back(start(gather->engine(), StallCause::FollowerRows,
                                                     table.ahead * bytes, /*toNear=*/true,
                                                     hotSet.layer, table.ahead, bytes));
      return;
    }
  }
}

/// The hot set that a command reads; −1: none.
int Builder::findHotSet(const package::CommandEntry &entry) const {
  const package::Launch *launch = entry.command_as_Launch();
  if (const auto *heads = entry.command_as_HeadAttention())
    launch = heads->attention();
  if (launch)
    for (const package::Argument *argument : *launch->arguments())
      if (argument->kind() == package::ArgumentKind::HotSet)
        return argument->index();
  return -1;
}

/// Attention over a hot set, block of tokens after block.
void Builder::attend(const package::CommandEntry &entry, int number) {
  const HotSet &hotSet = hotSets_[size_t(number)];
  const Table &table = tables_[size_t(hotSet.table->table())];
  double seconds = secondsOf(entry);
  if (!table.resolution || table.resolution->blocks.size() < 2)
    return addCompute(seconds);
  int64_t bytes = bytesOf(hotSet.table->cache()), tokens = std::max<int64_t>(facts_.tokens(), 1);
  bool isFirst = true;
  for (const Resolution::Block &block : table.resolution->blocks) {
    if (!isFirst && block.misses > 0)
      wait(start(hotSet.engine, StallCause::FurtherRows, block.misses * bytes, /*toNear=*/true,
                 hotSet.layer, block.misses, bytes));
    isFirst = false;
    addCompute(seconds * double(block.tokens) / double(tokens));
  }
}

//===----------------------------------------------------------------------===//
// All else
//===----------------------------------------------------------------------===//

void Builder::reload(const package::Reload &reload) {
  int64_t bytes = 0;
  StallCause cause = StallCause::Weights;
  if (reload.weight() >= 0) {
    const package::Weight &weight = *manifest_.weights()->Get(uint32_t(reload.weight()));
    double stored = elementCount(weight) * double(elementSize(ElementType(weight.stored())));
    if (options_.formats.weights != Format::AsWritten)
      stored = weightBytes(weight, options_.formats.weights);
    bytes = std::llround(stored / weightDegree(weight, machine_.partition));
  } else {
    const package::Cache &cache = *manifest_.caches()->Get(uint32_t(reload.cache()));
    bytes = facts_.earlierPages(cache.page_size()) * cache.page_size() * bytesOf(reload.cache());
    cause = StallCause::Pages;
  }
  started_[reload.transfer()].push_back(
      start(reload.engine(), cause, bytes, /*toNear=*/true, layerOf(command_)));
}

/// The keys of a streamed cache come in blocks of pages, each sequence's for itself; one is scored
/// while the next one comes.
void Builder::select(const package::CommandEntry &entry, const package::Select &select) {
  const package::Cache &cache = *manifest_.caches()->Get(uint32_t(select.cache()));
  double seconds = secondsOf(entry);
  if (cache.residence() != package::Residence::Streamed)
    return addCompute(seconds);
  const package::BlockBuffers &buffers = *manifest_.block_buffers()->Get(uint32_t(cache.staging()));
  int64_t pageSize = cache.page_size();
  int64_t blockPages = std::max<int64_t>(buffers.block_records() / pageSize, 1), allPages = 0;
  std::vector<int64_t> blocks; // pages of each
  for (const StepFacts::Sequence &sequence : facts_.sequences) {
    // Nothing is scored where all is taken.
    if (sequence.tokens == 0 || sequence.context <= select.k())
      continue;
    int64_t pages = (sequence.context + pageSize - 1) / pageSize;
    allPages += pages;
    for (int64_t page = 0; page < pages; page += blockPages)
      blocks.push_back(std::min(blockPages, pages - page));
  }
  if (blocks.empty())
    return addCompute(seconds);
  std::vector<int> started;
  auto startBlock = [&](size_t b) {
    started.push_back(start(select.engine(), StallCause::IndexKeys,
                            blocks[b] * pageSize * bytesOf(select.cache()), /*toNear=*/true,
                            layerOf(command_)));
  };
  for (size_t b = 0; b < std::min<size_t>(blocks.size(), 2); ++b)
    startBlock(b);
  for (size_t b = 0; b < blocks.size(); ++b) {
    wait(started[b]);
    addCompute(seconds * double(blocks[b]) / double(allPages));
    if (b + 2 < blocks.size())
      startBlock(b + 2);
  }
}

void Builder::addCommand(const package::CommandEntry &entry) {
  switch (entry.command_type()) {
  case Command::Resolve: {
    const package::Resolve &resolve = *entry.command_as_Resolve();
    Table &table = tables_[size_t(resolve.table())];
    auto found = facts_.resolutions.find(uint32_t(command_));
    table.resolution = found == facts_.resolutions.end() ? nullptr : &found->second;
    table.leaderIsMissing = resolve.limit() == 0;
    return addCompute(isMeasured() ? secondsOf(entry) : machine_.launchSeconds);
  }
  case Command::Gather:
    gather(*entry.command_as_Gather());
    if (options_.speculation > 0)
      speculateFor(uint32_t(command_) + 1);
    return;
  case Command::WriteBack: {
    const package::WriteBack &back = *entry.command_as_WriteBack();
    started_[back.transfer()].push_back(start(back.engine(), StallCause::WriteBack,
                                              facts_.tokens() * bytesOf(back.cache()),
                                              /*toNear=*/false, layerOf(command_)));
    return;
  }
  case Command::Reload:
    return reload(*entry.command_as_Reload());
  case Command::Wait:
    for (int transfer : std::exchange(started_[entry.command_as_Wait()->transfer()], {}))
      wait(transfer);
    return;
  case Command::Select:
    return select(entry, *entry.command_as_Select());
  default:
    if (int hotSet = findHotSet(entry); hotSet >= 0)
      return attend(entry, hotSet);
    return addCompute(secondsOf(entry));
  }
}

StepProgram Builder::run() {
  program_.links = makeLinks(machine_, engines_);
  if (manifest_.hot_sets())
    for (const package::HotSet *hotSet : *manifest_.hot_sets())
      hotSets_.push_back({hotSet, 0, -1});
  for (const package::CommandEntry *entry : *manifest_.commands())
    if (int hotSet = findHotSet(*entry); hotSet >= 0)
      hotSets_[size_t(hotSet)].layer = entry->layer();
  tables_.resize(manifest_.slot_tables() ? manifest_.slot_tables()->size() : 0);
  std::vector<double> collectives = findCollectives(manifest_, machine_, facts_);
  for (uint32_t i = 0; i < manifest_.commands()->size(); ++i) {
    command_ = int(i);
    const package::CommandEntry &entry = *manifest_.commands()->Get(i);
    addCommand(entry);
    // Starting a transfer and asking for its end take a processor some time.
    if (isMeasured() && movesOnly(entry.command_type()))
      addCompute(secondsOf(entry));
    if (collectives[i] > 0)
      addCompute(collectives[i], /*isCollective=*/true);
  }
  return std::move(program_);
}

void calibrate(const package::Manifest &manifest, const Machine &machine,
               const std::vector<int> &engines, const StepFacts &facts, ProgramOptions &options) {
  if (options.computeSeconds <= 0 && options.transferSeconds <= 0)
    return;
  StepProgram program = buildStep(manifest, machine, engines, facts, options);
  double compute = 0, transfers = 0;
  for (const Operation &operation : program.operations)
    compute += double(operation.nanoseconds);
  for (const Transfer &transfer : program.transfers)
    if (double rate = program.links.engines[size_t(transfer.engine)].bandwidth;
        transfer.toNear && rate > 0)
      transfers += double(transfer.setupNanoseconds) +
                   double(transfer.bytes) * transfer.stretch / rate * 1e9;
  if (options.computeSeconds > 0 && compute > 0)
    options.computeScale *= options.computeSeconds * 1e9 / compute;
  if (options.transferSeconds > 0 && transfers > 0)
    options.transferScale *= options.transferSeconds * 1e9 / transfers;
  options.computeSeconds = options.transferSeconds = 0;
}

StepProgram buildStep(const package::Manifest &manifest, const Machine &machine,
                      const std::vector<int> &engines, const StepFacts &facts,
                      const ProgramOptions &options) {
  return Builder(manifest, machine, engines, facts, options).run();
}

} // namespace strata::sim
