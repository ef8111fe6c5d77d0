//===- TierCommands.cpp - Commands that move data between tiers -----------===//
#include "strata/runtime/cpu/Command.h"
#include "strata/runtime/cpu/Tiers.h"

namespace strata::rt {

namespace {

class RecordsCommand : public Command {
public:
  explicit RecordsCommand(const package::Records &table) : table_(table) {}

  Status run(StepState &state) override {
    const int32_t *rows = state.array<int32_t>(*table_.rows());
    int32_t *output = state.array<int32_t>(*table_.output());
    int64_t k = table_.k(), pageSize = table_.page_size();
    std::atomic<bool> isValid{true};
    state.pool.parallelFor(state.tokens(), 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        const int32_t *pages = &state.input.pages[size_t(state.input.pageBegin[size_t(n)])];
        for (int64_t j = n * k; j < (n + 1) * k; ++j) {
          int64_t position = rows[j];
          if (position < -1 || position > state.input.positions[size_t(n)])
            isValid = false;
          else
            output[j] = position < 0
                            ? -1
                            : int32_t(pages[position / pageSize] * pageSize + position % pageSize);
        }
      }
    });
    return isValid ? Status()
                   : Status(StatusCode::InvalidArgument, "expected rows of visible positions");
  }

private:
  const package::Records &table_;
};

class ResolveCommand : public Command {
public:
  ResolveCommand(const package::Resolve &table, const Program &program)
      : table_(table), k_(program.manifest.slot_tables()->Get(uint32_t(table.table()))->k()),
        records_(program.options.maxPages *
                 int64_t(program.manifest.caches()->Get(0)->page_size())) {}

  Status run(StepState &state) override {
    const int32_t *records = state.array<int32_t>(*table_.records());
    for (int64_t i = 0, count = state.tokens() * k_; i < count; ++i)
      if (records[i] < -1 || records[i] >= records_)
        return Status(StatusCode::InvalidArgument, "expected records in [-1, " +
                                                       std::to_string(records_) + ") but got " +
                                                       std::to_string(records[i]));
    bool isPlan = table_.limit() == 0;
    auto array = [&](const package::Argument *argument) {
      return isPlan ? state.array<int32_t>(*argument) : nullptr;
    };
    state.program.tiers->resolve(table_.table(), records, table_.limit(), array(table_.slots()),
                                 array(table_.hits()), array(table_.misses()));
    return Status::success();
  }

private:
  const package::Resolve &table_;
  int64_t k_, records_;
};

class GatherCommand : public Command {
public:
  explicit GatherCommand(const package::Gather &table) : table_(table) {}
  Status run(StepState &state) override {
    return state.program.tiers->startGather(table_.hot_set(), table_.engine(), table_.transfer(),
                                            state.label);
  }

private:
  const package::Gather &table_;
};

class WriteBackCommand : public Command {
public:
  explicit WriteBackCommand(const package::WriteBack &table) : table_(table) {}
  Status run(StepState &state) override {
    state.program.tiers->startWriteBack(table_.cache(), table_.engine(), table_.transfer(),
                                        state.label);
    return Status::success();
  }

private:
  const package::WriteBack &table_;
};

class ReloadCommand : public Command {
public:
  explicit ReloadCommand(const package::Reload &table) : table_(table) {}
  Status run(StepState &state) override {
    state.program.tiers->startReload(table_.weight(), table_.cache(), table_.engine(),
                                     table_.transfer(), state.label);
    return Status::success();
  }

private:
  const package::Reload &table_;
};

class WaitCommand : public Command {
public:
  explicit WaitCommand(const package::Wait &table) : table_(table) {}
  Status run(StepState &state) override { return state.program.tiers->wait(table_.transfer()); }

private:
  const package::Wait &table_;
};

} // namespace

std::unique_ptr<Command> makeCommand(const package::Records &table, const Program &program) {
  return std::make_unique<RecordsCommand>(table);
}
std::unique_ptr<Command> makeCommand(const package::Resolve &table, const Program &program) {
  return std::make_unique<ResolveCommand>(table, program);
}
std::unique_ptr<Command> makeCommand(const package::Gather &table, const Program &program) {
  return std::make_unique<GatherCommand>(table);
}
std::unique_ptr<Command> makeCommand(const package::WriteBack &table, const Program &program) {
  return std::make_unique<WriteBackCommand>(table);
}
std::unique_ptr<Command> makeCommand(const package::Reload &table, const Program &program) {
  return std::make_unique<ReloadCommand>(table);
}
std::unique_ptr<Command> makeCommand(const package::Wait &table, const Program &program) {
  return std::make_unique<WaitCommand>(table);
}

} // namespace strata::rt
