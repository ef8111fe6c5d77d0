//===- Machine.cpp - Finding machines and their engines -------------------===//
#include "strata/lib/Machine/Machine.h"

#include "strata/lib/Machine/ShippedMachines.h"
#include "strata/lib/Support/File.h"
#include "strata/lib/Support/Text.h"

namespace strata {

int Machine::findEngine(MachineEngine::Kind kind, int from, int to) const {
  for (size_t i = 0; i < engines.size(); ++i)
    if (engines[i].kind == kind && engines[i].from == from && engines[i].to == to)
      return int(i);
  return -1;
}

std::vector<std::string> shippedMachines() {
  std::vector<std::string> names;
  for (const ShippedMachine &machine : kShippedMachines)
    names.push_back(machine.name);
  return names;
}

Expected<Machine> readMachine(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.status();
  return parseMachine(std::string(file->text()), path);
}

Expected<Machine> findMachine(const std::string &nameOrPath) {
  for (const ShippedMachine &machine : kShippedMachines)
    if (nameOrPath == machine.name)
      return parseMachine(machine.text, machine.name);
  Expected<Machine> machine = readMachine(nameOrPath);
  bool isName = nameOrPath.find_first_of("/.") == std::string::npos;
  if (!machine.ok() && machine.status().code() == StatusCode::NotFound && isName)
    return Status(StatusCode::NotFound,
                  "expected one of the machines " + listText(shippedMachines()) +
                      " or a file with a description but got '" + printable(nameOrPath) + "'");
  return machine;
}

} // namespace strata
