//===- Launch.cpp - Runs a generated kernel, and what arguments stand for -===//
#include "strata/runtime/cpu/Command.h"

namespace strata::rt {

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
  }
  // The kernel ABI has one type of pointer for what is read and what is written.
  return reinterpret_cast<std::byte *>(const_cast<int32_t *>(values->data()));
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
    base = program.caches[size_t(argument.index())].data();
    break;
  case package::ArgumentKind::Step:
    base = stepArray(input, static_cast<package::StepArray>(argument.index()));
    break;
  }
  return base + argument.offset();
}

namespace {

class LaunchCommand : public Command {
public:
  LaunchCommand(const package::Launch &table, const Program &program)
      : table_(table), kernel_(program.kernels.kernel(table.kernel())) {}

  Status run(StepState &state) override {
    arguments_.clear();
    for (const package::Argument *argument : *table_.arguments())
      arguments_.push_back(state.address(*argument));
    state.pool.parallelFor(
        state.size(*table_.items()), table_.grain(),
        [&](int64_t begin, int64_t end, int) { kernel_(arguments_.data(), begin, end); });
    return Status::success();
  }

private:
  const package::Launch &table_;
  strata_rt_kernel kernel_;
  std::vector<void *> arguments_;
};

} // namespace

std::unique_ptr<Command> makeCommand(const package::Launch &table, const Program &program) {
  return std::make_unique<LaunchCommand>(table, program);
}

} // namespace strata::rt
