// SPDX-License-Identifier: BSD-3-Clause
// The options of `peal load duel`, and the duel that they describe.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cli/load/load_arguments.h>
#include <load/duel/duel_options.h>
#include <load/duel/server_place.h>

namespace peal::cli {

// The values of the options of `peal load duel`.
struct DuelArguments {
  LoadArguments load;
  std::vector<std::string> targets;  // each is NAME=TARGET
  std::vector<std::string> runs;     // each is NAME=COMMAND
  std::vector<std::string> pids;     // each is NAME=PID
  std::vector<std::string> claims;
  std::vector<std::string> queueing;  // names of servers
  bool in_turn = false;
  std::string path = "/";
  std::string slice;
  std::optional<size_t> rounds;
  std::optional<size_t> restarts;
  std::string precision = "2%";
  std::string budget = "60s";
  size_t server_threads = 1;
  std::string pin = "auto";
  // server_host is the machine on which an agent starts the servers of the duel. If server_host is empty, the servers
  // are started on this machine, and the other three options must be empty too. server_address is the IP address at
  // which the servers on server_host listen. If server_address is empty, they listen at the address that leads to
  // server_host.
  std::string server_host;
  std::string server_address;
  std::string remote_shell;  // if empty, kRemoteShell is used
  std::string agent;         // if empty, the command `load agent` of this program is used
};

inline constexpr const char* kRemoteShell = "ssh -o BatchMode=yes";

struct DuelJob {
  std::vector<std::unique_ptr<StreamLayer>> layers;  // one for each compared server that uses TLS
  load::DuelOptions options;
  load::DuelProtocol protocol;
  load::PlaceMaker place = load::place_here;
  std::string request;   // for reports: describes a message, such as "64 bytes"
  std::string schedule;  // for reports: describes when messages are sent, such as "closed loop"
};

void add_duel_options(CLI::App& command, Experiment experiment, DuelArguments& words);

// Makes the duel from the options. Blocks while it looks up the names of the servers and reads the files that the
// options name. `words` must outlive the result.
std::expected<DuelJob, CommandTrouble> read_duel(Experiment experiment, const DuelArguments& words);

// Splits a command line into words at spaces, tabs and newlines. Text between quotation marks ('' or "") is not split.
// A backslash that is not inside '' makes the next character an ordinary one. The quotation marks and these backslashes
// are removed. A backslash at the end of the text stays, because no character follows.
//
// Differs from a shell: inside "", a backslash is removed before every character. Variables, patterns and operators
// such as | are not interpreted. If the last quotation mark is not closed, returns nothing.
std::optional<std::vector<std::string>> split_command(std::string_view text);

}  // namespace peal::cli
