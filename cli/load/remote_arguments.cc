// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/remote_arguments.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <cli/words/shell_quoting.h>

namespace peal::cli {
namespace {

using Trouble = std::string;  // a sentence, or empty if there is no trouble

// The longest --slice with --server-host. During a slice, the agent on the other machine gets no request. By default,
// the agent ends after 10 minutes without a request (--silence). A limit of 5 minutes leaves time for the other pauses
// between two requests.
constexpr Duration kLongestSlice = std::chrono::minutes(5);

Trouble useless_option(const DuelArguments& words) {
  for (const auto& [option, value] :
       {std::pair("--server-address", &words.server_address), std::pair("--remote-shell", &words.remote_shell),
        std::pair("--agent", &words.agent)}) {
    if (!value->empty()) return fmt::format("{} is about the machine of --server-host: give --server-host too", option);
  }
  return {};
}

Trouble host_trouble(const DuelArguments& words, const load::DuelOptions& options) {
  const auto may_not_stand = [](unsigned char c) { return c <= ' ' || c == 127; };
  // Refuses a name that begins with a dash, because the remote shell (ssh) would read it as an option.
  if (words.server_host.starts_with('-') || std::ranges::any_of(words.server_host, may_not_stand)) {
    return fmt::format("--server-host takes the name of a machine, not '{}'", words.server_host);
  }
  if (!words.pids.empty()) {
    return "--pid names a process on this machine, but --server-host starts the servers on another: give only one";
  }
  if (words.runs.empty()) return "--server-host starts servers: give --run NAME=COMMAND, the command on that machine";
  for (const load::DuelContender& contender : options.contenders) {
    if (std::ranges::all_of(contender.command, load::is_utf8)) continue;
    return fmt::format("the command of '{}' is not UTF-8, so it cannot be sent to another machine", contender.name);
  }
  if (options.slice > kLongestSlice) return "with --server-host a slice is at most 5 minutes";
  return {};
}

}  // namespace

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
        fmt::format("--remote-shell takes a program and its arguments, such as '{}', not '{}'", kRemoteShell, shell));
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
                     "Machine on which the servers of --run are started, by an agent there; the load generator stays "
                     "here (default: this machine)");
  command.add_option(
      "--server-address", words.server_address,
      "IP address at which the servers on --server-host listen (default: the address that leads to that machine)");
  command.add_option("--remote-shell", words.remote_shell,
                     fmt::format("Command that runs another command on --server-host; the name of the host and that "
                                 "command are added to it (default: {})",
                                 kRemoteShell));
  command.add_option(
      "--agent", words.agent,
      "Command that starts the agent on --server-host (default: the path of this program, then 'load agent')");
}

}  // namespace peal::cli
