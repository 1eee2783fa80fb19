// SPDX-License-Identifier: BSD-3-Clause
// The facts about an agent's machine, and the clocks of its CPUs. The functions have no state and may be called on any
// thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/clock.h>

namespace peal::load {

struct MachineFacts {
  // An IP address by which other machines can probably reach the agent's machine. If sshd has started the agent, the
  // address is the one at which sshd accepted the connection. Otherwise the address is that of a network interface, or
  // 127.0.0.1 if no interface has a usable address.
  std::string address;
  std::vector<int> cpus;  // the CPUs that the agent's thread may use
  std::string kernel;
  std::string processor;  // empty if it is not known
  // The boot id of the machine's kernel. The kernel makes a new random id each time the machine starts, so two machines
  // have different ids. All containers on one machine have the same id. Empty if the id is not known.
  std::string boot;

  bool operator==(const MachineFacts&) const = default;
};

MachineFacts facts_of_this_machine();

// Takes the server's IP address from `ssh_connection`, the value of the environment variable SSH_CONNECTION. sshd sets
// this variable to "CLIENT CLIENT_PORT SERVER SERVER_PORT". Returns the part SERVER, or std::nullopt if the value has
// another form.
std::optional<std::string> server_in(std::string_view ssh_connection);

// CPU times of a machine since its start. Each time is a sum over all CPUs:
// - `busy` is the time in which the CPUs did work.
// - `stolen` is the time in which a hypervisor ran other virtual machines instead of this one.
// `at` is the time at which the values were read.
struct MachineClocks {
  TimePoint at;
  Duration busy{};
  Duration stolen{};
  // The CPU time of the process that has read the values, and of its ended children for which it has waited. `busy`
  // includes this time.
  Duration own{};

  bool operator==(const MachineClocks&) const = default;
};

// Reads the CPU clocks of this machine. Returns std::nullopt if they cannot be read.
std::optional<MachineClocks> clocks_of_this_machine();
// Takes `busy` and `stolen` from `text`, the content of the file /proc/stat; see proc(5). `text` gives times in clock
// ticks, and `ticks_per_second` says how many ticks a second has. Only the first line is read, because it has the sums
// over all CPUs. Leaves `at` and `own` at 0, because the file does not contain them. Returns std::nullopt if the first
// line is malformed.
std::optional<MachineClocks> parse_machine_clocks(std::string_view text, long ticks_per_second);

}  // namespace peal::load
