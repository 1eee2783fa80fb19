// SPDX-License-Identifier: BSD-3-Clause
// `peal load agent`: starts servers for a duel that another machine plays.
#include <unistd.h>

#include <memory>
#include <string>

#include <cli/command.h>
#include <cli/time_option.h>
#include <load/remote/agent.h>

namespace peal::cli {

void add_agent(CLI::App& load, int& exit_code) {
  CLI::App* command = load.add_subcommand(
      "agent", "Start servers here for `peal load duel --server-host` on another machine, and read their CPU clocks");
  auto silence = std::make_shared<std::string>("10m");
  command->add_option("--silence", *silence, "Ends, and what it started, when nobody asks for anything for so long")
      ->capture_default_str();
  command->footer(
      "Takes requests on stdin, one a line, and answers on stdout, in the lines of load/remote/agent_wire.h. When "
      "stdin\n"
      "ends, and at SIGTERM, SIGINT and SIGHUP, every server it has started is ended. The duel starts it by itself.\n"
      "Exits with 0: done, 1: it failed, 2: called wrongly.\n"
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
