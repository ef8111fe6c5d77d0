//===- Launch.cpp - Runs a generated kernel, and what arguments stand for -===//
#include "strata/runtime/cpu/Command.h"
#include "strata/runtime/cpu/Tiers.h"

namespace strata::rt {

/// The kernel ABI has one type of pointer for what is read and what is written.
static std::byte *unconst(const int32_t *values) {
  return reinterpret_cast<std::byte *>(const_cast<int32_t *>(values));
}

static std::byte *stepArray(const StepInput &input, package::StepArray array) {
  const std::vector<int32_t> *values = nullptr;
  switch (array) {
  case package::StepArray::TokenIds:
    values = &input.tokenIds;
    break;
  case package::StepArray::Positions:
    values = &input.positions;
    break;
  case package::StepArray::PageBegin:
    values = &input.pageBegin;
    break;
  case package::StepArray::Pages:
    values = &input.pages;
    break;
  case package::StepArray::Wanted:
    values = &input.wanted;
    break;
  default:
    return nullptr;
  }
  return unconst(values->data());
}

std::byte *StepState::address(const package::Argument &argument) const {
  std::byte *base = nullptr;
  switch (argument.kind()) {
  case package::ArgumentKind::Slot:
    base = slots[size_t(argument.index())];
    break;
  case package::ArgumentKind::Weight:
    base = const_cast<std::byte *>(program.weights.data(argument.index()));
    break;
  case package::ArgumentKind::Cache:
    base = program.caches[size_t(argument.index())];
    break;
  case package::ArgumentKind::Step: {
    auto array = static_cast<package::StepArray>(argument.index());
    base = array <= package::StepArray::Wanted ? stepArray(input, array)
                                               : unconst(program.tiers->stepArray(array));
    break;
  }
  case package::ArgumentKind::Stage:
    base = program.tiers->stage(argument.index());
    break;
  case package::ArgumentKind::HotSet:
    base = program.tiers->hotSet(argument.index());
    break;
  }
  return base + argument.offset();
}

int32_t findHotSet(const package::Launch &launch) {
  for (const package::Argument *argument : *launch.arguments())
    if (argument->kind() == package::ArgumentKind::HotSet)
      return argument->index();
  return -1;
}

Status forEachBlock(StepState &state, int32_t hotSet,
                    const std::function<Status(int64_t, int64_t)> &run) {
  return hotSet < 0 ? run(0, state.tokens())
                    : state.program.tiers->forEachBlock(hotSet, state.label, run);
}

namespace {

class LaunchCommand : public Command {
public:
  LaunchCommand(const package::Launch &table, const Program &program)
      : table_(table), hotSet_(findHotSet(table)), kernel_(program.kernels.kernel(table.kernel())) {
  }

  Status run(StepState &state) override {
    arguments_.clear();
    for (const package::Argument *argument : *table_.arguments())
      arguments_.push_back(state.address(*argument));
    int64_t items = state.size(*table_.items());
    if (hotSet_ < 0) {
      runItems(state, 0, items);
      return Status::success();
    }
    int64_t itemsOfToken = items / state.tokens();
    return forEachBlock(state, hotSet_, [&](int64_t begin, int64_t end) {
      runItems(state, begin * itemsOfToken, end * itemsOfToken);
      return Status::success();
    });
  }

private:
  void runItems(StepState &state, int64_t first, int64_t last) {
    state.pool.parallelFor(last - first, table_.grain(), [&](int64_t begin, int64_t end, int) {
      kernel_(arguments_.data(), first + begin, first + end);
    });
  }

  const package::Launch &table_;
  int32_t hotSet_;
  strata_rt_kernel kernel_;
  std::vector<void *> arguments_;
};

} // namespace

std::unique_ptr<Command> makeCommand(const package::Launch &table, const Program &program) {
  return std::make_unique<LaunchCommand>(table, program);
}

} // namespace strata::rt
