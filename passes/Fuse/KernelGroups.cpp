//===- KernelGroups.cpp - Which ops of a block become one kernel ----------===//
#include "strata/passes/Fuse/KernelGroups.h"

#include "llvm/ADT/SmallSet.h"

#include <queue>

using namespace mlir;
using namespace strata;

KernelGroups::KernelGroups(Block &block) : block(block) {
  for (Operation &op : block) {
    numbers[&op] = int64_t(numbers.size());
    groupOf[&op] = unsigned(groups.size());
    groups.push_back({{&op}, std::nullopt});
  }
}

ArrayRef<Operation *> KernelGroups::getMembers(Operation *op) const {
  return groups[groupOf.lookup(op)].members;
}

std::optional<KernelKind> KernelGroups::getKind(Operation *op) const {
  return groups[groupOf.lookup(op)].kind;
}

/// Whether no path leads from the members through other groups back to a member. A path that
/// matters stays below the last member, so the search does not depend on how long the block is.
bool KernelGroups::canBeAdjacent(ArrayRef<Operation *> members) const {
  llvm::SmallPtrSet<Operation *, 16> inside(members.begin(), members.end());
  int64_t last = 0;
  for (Operation *member : members)
    last = std::max(last, number(member));
  llvm::SmallSet<unsigned, 16> visited;
  SmallVector<unsigned> pending;
  bool comesBack = false;
  auto follow = [&](Operation *op, bool isMember) {
    for (Operation *user : op->getUsers()) {
      if (inside.contains(user)) {
        comesBack |= !isMember;
        continue;
      }
      unsigned group = groupOf.lookup(user);
      if (number(groups[group].members.front()) <= last && visited.insert(group).second)
        pending.push_back(group);
    }
  };
  for (Operation *member : members)
    follow(member, /*isMember=*/true);
  while (!pending.empty() && !comesBack)
    for (Operation *op : groups[pending.pop_back_val()].members)
      follow(op, /*isMember=*/false);
  return !comesBack;
}

LogicalResult KernelGroups::merge(ArrayRef<Operation *> ops, KernelKind kind) {
  llvm::SmallSetVector<unsigned, 8> parts;
  for (Operation *op : ops) {
    unsigned group = groupOf.lookup(op);
    if (groups[group].kind && *groups[group].kind != kind)
      return failure();
    parts.insert(group);
  }
  SmallVector<Operation *> members;
  for (unsigned part : parts)
    llvm::append_range(members, groups[part].members);
  llvm::sort(members, [&](Operation *a, Operation *b) { return number(a) < number(b); });
  if (!canBeAdjacent(members))
    return failure();
  for (unsigned part : parts)
    groups[part].members.clear();
  Group &merged = groups[parts.front()];
  merged = {members, kind};
  for (Operation *member : members)
    groupOf[member] = parts.front();
  return success();
}

/// The groups in an order in which every value is defined before its use; of those that are ready
/// the one that stood first.
SmallVector<unsigned> KernelGroups::orderGroups() const {
  SmallVector<unsigned> waitingFor(groups.size(), 0);
  auto forEachUse = [&](unsigned group, llvm::function_ref<void(unsigned user)> body) {
    for (Operation *member : groups[group].members)
      for (Operation *user : member->getUsers())
        if (unsigned userGroup = groupOf.lookup(user); userGroup != group)
          body(userGroup);
  };
  for (unsigned group = 0; group < groups.size(); ++group)
    forEachUse(group, [&](unsigned user) { ++waitingFor[user]; });
  using Entry = std::pair<int64_t, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto makeReady = [&](unsigned group) {
    ready.push({number(groups[group].members.front()), group});
  };
  for (unsigned group = 0; group < groups.size(); ++group)
    if (!groups[group].members.empty() && waitingFor[group] == 0)
      makeReady(group);
  SmallVector<unsigned> order;
  while (!ready.empty()) {
    unsigned group = ready.top().second;
    ready.pop();
    order.push_back(group);
    forEachUse(group, [&](unsigned user) {
      if (--waitingFor[user] == 0)
        makeReady(user);
    });
  }
  return order;
}

KernelOp KernelGroups::formKernel(const Group &group) {
  llvm::SmallPtrSet<Operation *, 16> inside(group.members.begin(), group.members.end());
  SmallVector<Value> yielded;
  SmallVector<Location> locations;
  for (Operation *member : group.members) {
    locations.push_back(member->getLoc());
    for (Value result : member->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        yielded.push_back(result);
  }
  OpBuilder builder(block.getTerminator());
  Location location = FusedLoc::get(builder.getContext(), locations);
  auto kernel = KernelOp::create(builder, location, TypeRange(ValueRange(yielded)), *group.kind);
  for (Operation *member : group.members)
    if (Attribute layer = member->getDiscardableAttr("strata.layer")) {
      kernel->setDiscardableAttr("strata.layer", layer);
      break;
    }
  Block &body = kernel.getBody().emplaceBlock();
  for (Operation *member : group.members)
    member->moveBefore(&body, body.end());
  for (auto [inner, outer] : llvm::zip(yielded, kernel.getResults()))
    inner.replaceUsesWithIf(outer,
                            [&](OpOperand &use) { return !inside.contains(use.getOwner()); });
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, location, yielded);
  return kernel;
}

SmallVector<KernelOp> KernelGroups::formKernels() {
  SmallVector<KernelOp> kernels;
  Operation *terminator = block.getTerminator();
  for (unsigned index : orderGroups()) {
    const Group &group = groups[index];
    if (group.kind)
      kernels.push_back(formKernel(group));
    else if (group.members.front() != terminator)
      group.members.front()->moveBefore(terminator);
  }
  return kernels;
}
