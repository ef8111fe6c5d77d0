//===- MachineTest.cpp - Descriptions of machines -------------------------===//
#include "strata/lib/Machine/Machine.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

const char kSmall[] = R"({"name": "small",
  "tiers": [{"name": "hbm", "capacity": 64e6, "bandwidth": 1e9}, {"name": "ddr", "capacity": 1e9, "bandwidth": 1e9}],
  "links": [{"name": "bus", "bandwidth": 1e9}],
  "engines": [{"name": "in", "kind": "gather", "from": "ddr", "to": "hbm", "link": "bus", "bandwidth": 1e9,
               "operation_seconds": 1e-6}],
  "compute": {"bf16_flops": 1e12, "f32_flops": 1e12}})";

std::string errorOf(std::string text, const std::string &from, const std::string &to) {
  size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  Expected<Machine> machine = parseMachine(text.replace(place, from.size(), to), "m.json");
  return machine.ok() ? "no error" : machine.status().message();
}

TEST(Machine, AllShippedOnesAreSound) {
  std::vector<std::string> names = shippedMachines();
  EXPECT_GE(names.size(), 6u);
  for (const std::string &name : names) {
    Expected<Machine> machine = findMachine(name);
    ASSERT_TRUE(machine.ok()) << machine.status().message();
    EXPECT_EQ(machine->name, name);
    EXPECT_GE(machine->findEngine(MachineEngine::Kind::Gather, 1, 0), 0) << name;
    EXPECT_GE(machine->findEngine(MachineEngine::Kind::Copy, 1, 0), 0) << name;
    EXPECT_GE(machine->findEngine(MachineEngine::Kind::Copy, 0, 1), 0) << name;
  }
}

TEST(Machine, AllShippedFiguresSayWhereTheyAreFrom) {
  for (const std::string &name : shippedMachines()) {
    Expected<Machine> machine = findMachine(name);
    ASSERT_TRUE(machine.ok()) << machine.status().message();
    for (const MachineTier &tier : machine->tiers)
      EXPECT_FALSE(tier.source.empty()) << name << ", " << tier.name;
    for (const MachineLink &link : machine->links)
      EXPECT_FALSE(link.source.empty()) << name << ", " << link.name;
    for (const MachineEngine &engine : machine->engines)
      EXPECT_FALSE(engine.source.empty()) << name << ", " << engine.name;
    EXPECT_FALSE(machine->computeSource.empty()) << name;
    EXPECT_EQ(machine->collectiveSource.empty(), machine->devices == 1) << name;
  }
}

TEST(Machine, FieldsAreRead) {
  Expected<Machine> machine = parseMachine(kSmall, "m.json");
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  EXPECT_EQ(machine->tiers[0].capacity, 64000000u);
  EXPECT_EQ(machine->links[0].bothDirections, 2e9);
  EXPECT_EQ(machine->links[0].sharedBy, 1);
  EXPECT_EQ(machine->engines[0].from, 1);
  EXPECT_EQ(machine->engines[0].to, 0);
  EXPECT_EQ(machine->engines[0].source, "");
  EXPECT_EQ(machine->efficiency, 1);
  EXPECT_EQ(machine->partition.tensor, 1);
}

TEST(Machine, ErrorsNameTheField) {
  EXPECT_EQ(errorOf(kSmall, "\"capacity\": 64e6, ", ""),
            "m.json.tiers[0]: field \"capacity\" is missing");
  EXPECT_EQ(errorOf(kSmall, "64e6", "\"64\""),
            "m.json.tiers[0].capacity: expected a whole number from 1 to 9007199254740992 but "
            "got \"64\"");
  EXPECT_EQ(errorOf(kSmall, "\"link\": \"bus\"", "\"link\": \"pci\""),
            "m.json.engines[0].link: expected one of bus but got \"pci\"");
  EXPECT_EQ(errorOf(kSmall, "\"gather\"", "\"dma\""),
            "m.json.engines[0].kind: expected copy or gather but got \"dma\"");
  EXPECT_EQ(errorOf(kSmall, "\"from\": \"ddr\"", "\"from\": \"hbm\""),
            "m.json.engines[0]: expected two tiers but from and to are both \"hbm\"");
  EXPECT_EQ(errorOf(kSmall, "\"name\": \"ddr\"", "\"name\": \"hbm\""),
            "m.json: two tiers are called \"hbm\"");
  EXPECT_EQ(errorOf(kSmall, "\"compute\"", "\"computer\""), "m.json: field \"compute\" is missing");
  EXPECT_EQ(errorOf(kSmall, "\"f32_flops\"", "\"devices\": 1, \"f32_flops\""),
            "m.json.compute: unknown field \"devices\"");
  EXPECT_EQ(errorOf(kSmall, "\"bandwidth\": 1e9}]", "\"bandwidth\": 1e9, \"source\": 1}]"),
            "m.json.tiers[1].source: expected a text but got 1");
  EXPECT_EQ(errorOf(kSmall, "\"name\": \"bus\"", "\"name\": \"bus\", \"both_directions\": 1"),
            "m.json.links[0].both_directions: expected a number from 1000000000 to 1e+18 but got "
            "1");
  EXPECT_EQ(
      errorOf(kSmall, "\"small\",", "\"small\", \"devices\": 8, \"partition\": {\"tensor\": 4},"),
      "m.json.partition: expected max(tensor, expert) × pipeline to be the 8 devices but got "
      "4");
}

TEST(Machine, NamesAndFilesAreToldApart) {
  EXPECT_EQ(findMachine("h201").status().message().substr(0, 29), "expected one of the machines ");
  EXPECT_EQ(findMachine("./none.json").status().code(), StatusCode::NotFound);
}

} // namespace
} // namespace strata
