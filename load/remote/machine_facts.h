// SPDX-License-Identifier: BSD-3-Clause
// What an agent says of the machine it runs on, and what that machine's CPUs have done. Any thread; no state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/clock.h>

namespace peal::load {

struct MachineFacts {
  std::string address;    // where servers can be reached from where the agent was called from, as far as it knows
  std::vector<int> cpus;  // that this thread may use
  std::string kernel;
  std::string processor;  // empty: it does not say
  std::string boot;       // differs between two machines, and between two starts of one; empty: not known

  bool operator==(const MachineFacts&) const = default;
};

MachineFacts facts_of_this_machine();

// `ssh_connection` is what sshd tells its children: "CLIENT PORT SERVER PORT"; its SERVER. Nothing where it is no such
// text.
std::optional<std::string> server_in(std::string_view ssh_connection);

// Since the machine started; the sum over its CPUs.
struct MachineClocks {
  TimePoint at;
  Duration busy{};
  Duration stolen{};
  Duration own{};  // of the busy time: this process, and the children it has waited for

  bool operator==(const MachineClocks&) const = default;
};

// Nothing where /proc/stat cannot be read.
std::optional<MachineClocks> clocks_of_this_machine();
// The busy and the stolen time in the text of a /proc/stat (proc(5)); nothing where it is none.
std::optional<MachineClocks> parse_machine_clocks(std::string_view text, long ticks_per_second);

}  // namespace peal::load
