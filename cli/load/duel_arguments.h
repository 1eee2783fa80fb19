// SPDX-License-Identifier: BSD-3-Clause
// What stands on the command line of `peal load duel`, and the duel it asks for.
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

// As they stand there.
struct DuelArguments {
  LoadArguments load;
  std::vector<std::string> targets;  // NAME=TARGET
  std::vector<std::string> runs;     // NAME=COMMAND
  std::vector<std::string> pids;     // NAME=PID
  std::vector<std::string> claims;
  std::vector<std::string> queueing;  // NAME
  bool in_turn = false;
  std::string path = "/";
  std::string slice;
  std::optional<size_t> rounds;
  std::optional<size_t> restarts;
  std::string precision = "2%";
  std::string budget = "60s";
  size_t server_threads = 1;
  std::string pin = "auto";
  // Where servers are started, if not here.
  std::string server_host;
  std::string server_address;
  std::string remote_shell;  // empty: kRemoteShell
  std::string agent;         // empty: this program's own
};

inline constexpr const char* kRemoteShell = "ssh -o BatchMode=yes";

struct DuelJob {
  std::vector<std::unique_ptr<StreamLayer>> layers;  // of the contenders that have one
  load::DuelOptions options;
  load::DuelProtocol protocol;
  load::PlaceMaker place = load::place_here;
  std::string request;   // what a message is, in a few words
  std::string schedule;  // when messages leave
};

void add_duel_options(CLI::App& command, Experiment experiment, DuelArguments& words);

// Looks up the targets' names, and reads the files that the words name. `words` outlives the job.
std::expected<DuelJob, CommandTrouble> read_duel(Experiment experiment, const DuelArguments& words);

// The words of a command line, as a shell splits them: at spaces, but for what stands between '' or "" or behind a
// backslash. Nothing is expanded. Nothing where a quotation does not end.
std::optional<std::vector<std::string>> split_command(std::string_view text);

}  // namespace peal::cli
