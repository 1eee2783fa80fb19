// SPDX-License-Identifier: BSD-3-Clause
// The command `peal load agent`: starts servers on this machine for a duel that runs on another machine.
#include <unistd.h>

#include <memory>
#include <string>

#include <cli/command.h>
#include <cli/time_option.h>
#include <load/remote/agent.h>

namespace peal::cli {

void add_agent(CLI::App& load, int& exit_code) {
  CLI::App* command = load.add_subcommand(
      "agent", "Start servers on this machine for `peal load duel --server-host` on another machine");
  auto silence = std::make_shared<std::string>("10m");
  command
      ->add_option("--silence", *silence,
                   "End the agent and all servers that it has started if no request arrives for this time, such as 10m")
      ->capture_default_str();
  command->footer(
      "A duel with --server-host starts the agent by itself. The agent reads requests from stdin, one on each line,\n"
      "and writes the answers to stdout (load/remote/agent_wire.h describes them). When stdin ends, or at SIGTERM,\n"
      "SIGINT or SIGHUP, it ends all servers that it has started.\n"
      "Exit codes: 0: done; 1: it failed; 2: the command line is wrong.\n"
      "Examples:\n"
      "  peal load duel --server-host box2 --run 'a=/opt/a --listen {listen}' --run 'b=/opt/b --listen {listen}'\n"
      "  echo '{\"do\": \"clocks\"}' | peal load agent");
  command->callback([silence, &exit_code] {
    Duration time{};
    const TimeOption option{.name = "--silence", .takes = "a time such as 10m", .least = kAnyTime};
    if (const std::string trouble = option.read(*silence, time); !trouble.empty()) {
      exit_code = complain(kCalledWrongly, trouble);
      return;
    }
    const std::expected<void, std::string> done = load::run_agent(STDIN_FILENO, STDOUT_FILENO, time);
    exit_code = done ? kDone : complain(kFailed, done.error());
  });
}

}  // namespace peal::cli
