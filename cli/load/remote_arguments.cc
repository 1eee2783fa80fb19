// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/remote_arguments.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace peal::cli {
namespace {

using Trouble = std::string;  // a sentence; empty: none

// Half of the time after which an agent that nobody asks goes.
constexpr Duration kLongestSlice = std::chrono::minutes(5);

Trouble useless_option(const DuelArguments& words) {
  for (const auto& [option, value] :
       {std::pair("--server-address", &words.server_address), std::pair("--remote-shell", &words.remote_shell),
        std::pair("--agent", &words.agent)}) {
    if (!value->empty()) return fmt::format("{} is about the machine that --server-host names: name it", option);
  }
  return {};
}

Trouble host_trouble(const DuelArguments& words, const load::DuelOptions& options) {
  const auto may_not_stand = [](unsigned char c) { return c <= ' ' || c == 127; };
  // A shell's program would take a dash for an option.
  if (words.server_host.starts_with('-') || std::ranges::any_of(words.server_host, may_not_stand)) {
    return fmt::format("--server-host takes the name of a machine, not '{}'", words.server_host);
  }
  if (!words.pids.empty()) {
    return "--pid names a process of this machine, and --server-host starts the servers on another: not both";
  }
  if (words.runs.empty()) return "--server-host starts servers: give --run NAME=COMMAND, a program of that machine";
  for (const load::DuelContender& contender : options.contenders) {
    if (std::ranges::all_of(contender.command, load::is_utf8)) continue;
    return fmt::format("the command of '{}' is no UTF-8: it cannot be told to another machine", contender.name);
  }
  if (options.slice > kLongestSlice) return "with --server-host a slice is at most 5 minutes";
  return {};
}

}  // namespace

std::string quoted_for_shell(std::string_view word) {
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

std::expected<std::optional<load::RemoteHost>, std::string> read_remote_host(const DuelArguments& words,
                                                                             const load::DuelOptions& options) {
  if (words.server_host.empty()) {
    if (Trouble trouble = useless_option(words); !trouble.empty()) return std::unexpected(std::move(trouble));
    return std::nullopt;
  }
  if (Trouble trouble = host_trouble(words, options); !trouble.empty()) return std::unexpected(std::move(trouble));
  load::RemoteHost host{.name = words.server_host, .shell = {}, .agent = words.agent};
  const std::string shell = words.remote_shell.empty() ? kRemoteShell : words.remote_shell;
  std::optional<std::vector<std::string>> split = split_command(shell);
  if (!split || split->empty() || split->front().empty()) {
    return std::unexpected(
        fmt::format("--remote-shell takes a program and its words, such as '{}', not '{}'", kRemoteShell, shell));
  }
  host.shell = std::move(*split);
  if (host.agent.empty()) {
    std::error_code unknown;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", unknown);
    host.agent = quoted_for_shell(unknown ? "peal" : program) + " load agent";
  }
  if (!words.server_address.empty()) {
    host.address = load::ip_address(words.server_address);
    if (!host.address.is_set()) {
      return std::unexpected(
          fmt::format("--server-address takes an IP address without a port, not '{}'", words.server_address));
    }
  }
  return host;
}

void add_remote_options(CLI::App& command, DuelArguments& words) {
  command.add_option("--server-host", words.server_host,
                     "Start the servers of --run on this machine, through an agent there; the generator stays here");
  command.add_option("--server-address", words.server_address,
                     "Where they listen there: an IP address (default: the one that machine is reached at)");
  command.add_option(
      "--remote-shell", words.remote_shell,
      fmt::format("The words that lead there; behind them come the host and a command (default: {})", kRemoteShell));
  command.add_option("--agent", words.agent,
                     "The agent's command there (default: 'load agent' of this program's own path)");
}

}  // namespace peal::cli
