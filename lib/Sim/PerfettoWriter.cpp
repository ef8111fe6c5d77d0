//===- PerfettoWriter.cpp - A predicted step as a trace -------------------===//
#include "strata/lib/Sim/PerfettoWriter.h"

namespace strata::sim {

using rt::Trace;

/// Links that two engines share are tracks as well: what is on them at the same time.
static std::map<int, int> addLinkTracks(const Simulation &simulation, const Links &links,
                                        Trace &trace) {
  std::map<int, int> users, tracks;
  for (const Links::Engine &engine : links.engines)
    if (engine.link >= 0)
      ++users[engine.link];
  for (auto [link, count] : users)
    if (count > 1)
      tracks[link] = trace.addTrack("link " + simulation.machine.links[size_t(link)].name);
  return tracks;
}

void writeStep(const Simulation &simulation, const StepResult &step, int64_t origin, Trace &trace) {
  const package::Manifest &manifest = simulation.manifest();
  auto at = [&](int64_t time) { return trace.at(origin + time); };
  auto labelOf = [&](int command) {
    return manifest.commands()->Get(uint32_t(command))->label()->string_view();
  };
  const StepProgram &program = step.program;
  const Timeline &timeline = step.timeline;
  std::vector<int> tracks;
  for (uint32_t i = 0; i < program.links.engines.size(); ++i)
    tracks.push_back(trace.addTrack("engine " + manifest.engines()->Get(i)->name()->str()));
  std::map<int, int> linkTracks = addLinkTracks(simulation, program.links, trace);

  trace.add("step", "step", 0, at(0), at(step.timeline.nanoseconds));
  // One event for each command, as in a measured run, also for those that only start something.
  std::vector<Interval> commands(manifest.commands()->size(), {-1, -1});
  for (size_t i = 0; i < program.operations.size(); ++i) {
    const Operation &operation = program.operations[i];
    const Interval &time = timeline.operations[i];
    if (operation.isCollective) {
      trace.add(labelOf(operation.command), "collective", 0, at(time.begin), at(time.end));
      continue;
    }
    Interval &command = commands[size_t(operation.command)];
    command = {command.begin < 0 ? time.begin : command.begin, time.end};
  }
  int64_t now = 0;
  for (uint32_t i = 0; i < commands.size(); ++i) {
    Interval time = commands[i].begin < 0 ? Interval{now, now} : commands[i];
    now = time.end;
    trace.add(labelOf(int(i)),
              package::EnumNameCommand(manifest.commands()->Get(i)->command_type()), 0,
              at(time.begin), at(time.end));
  }
  int64_t stalled = 0;
  for (const Stall &stall : timeline.stalls) {
    trace.addStall(rt::getStallName(program.transfers[size_t(stall.transfer)].cause),
                   at(stall.time.begin), at(stall.time.end));
    stalled += stall.time.length();
    trace.setCounter(Trace::kStallCounter, at(stall.time.end), stalled);
  }
  for (size_t i = 0; i < program.transfers.size(); ++i) {
    const Transfer &transfer = program.transfers[i];
    const Interval &time = timeline.transfers[i];
    trace.addTransfer(labelOf(transfer.command), tracks[size_t(transfer.engine)], at(time.begin),
                      at(time.end), transfer.bytes);
    auto link = linkTracks.find(program.links.engines[size_t(transfer.engine)].link);
    if (link != linkTracks.end())
      trace.addTransfer(labelOf(transfer.command), link->second, at(time.begin), at(time.end),
                        transfer.bytes);
  }
  for (size_t tier = 0; tier < simulation.memory.tiers.size(); ++tier)
    trace.setCounter(Trace::getTierCounter(simulation.tierName(tier)), at(0),
                     int64_t(simulation.memory.total(tier)));
  trace.setCounter(Trace::kHitsCounter, at(0), step.hits);
  trace.setCounter(Trace::kMissesCounter, at(0), step.misses);
}

} // namespace strata::sim
