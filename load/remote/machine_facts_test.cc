// SPDX-License-Identifier: BSD-3-Clause
#include <load/remote/machine_facts.h>

#include <gtest/gtest.h>

#include <load/duel/cpu_pins.h>
#include <load/remote/agent_wire.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;

TEST(MachineFacts, the_facts_of_this_machine) {
  const MachineFacts facts = facts_of_this_machine();
  EXPECT_TRUE(ip_address(facts.address).is_set()) << facts.address;
  EXPECT_EQ(facts.cpus, usable_cpus());
  EXPECT_FALSE(facts.kernel.empty());
  EXPECT_EQ(facts.boot, facts_of_this_machine().boot);
}

TEST(MachineFacts, ssh_connection_names_the_address_of_this_machine) {
  EXPECT_EQ(server_in("10.0.0.1 50022 10.0.0.2 22"), "10.0.0.2");
  EXPECT_EQ(server_in("fd00::1 50022 fd00::2 22"), "fd00::2");
  for (const char* text : {"", "10.0.0.1 50022", "10.0.0.1 50022 box2 22", "UNKNOWN 65535 UNKNOWN 65535"}) {
    EXPECT_FALSE(server_in(text)) << text;
  }
}

TEST(MachineFacts, the_clocks_of_all_cpus_together) {
  const std::optional<MachineClocks> clocks =
      parse_machine_clocks("cpu  10 20 30 4000 5000 6 7 8 9 10\ncpu0 1 2 3\n", 100);
  ASSERT_TRUE(clocks.has_value());
  EXPECT_EQ(clocks->busy, 730ms) << "user, nice, system and both sorts of interrupts";
  EXPECT_EQ(clocks->stolen, 80ms);
  for (const char* text : {"", "cpu", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu a b c d e f g h"}) {
    EXPECT_FALSE(parse_machine_clocks(text, 100)) << text;
  }
}

TEST(MachineFacts, its_clocks_only_grow) {
  const std::optional<MachineClocks> before = clocks_of_this_machine();
  const std::optional<MachineClocks> after = clocks_of_this_machine();
  ASSERT_TRUE(before && after);
  EXPECT_GE(after->at, before->at);
  EXPECT_GE(after->busy, before->busy);
  EXPECT_GE(after->own, before->own);
}

}  // namespace
}  // namespace peal::load
