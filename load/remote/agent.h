// SPDX-License-Identifier: BSD-3-Clause
// Agent: starts servers for a duel, which is a comparison of servers under load. The duel runs on another machine. The
// agent also reads the CPU clocks of the servers. It gets its requests as described in agent_wire.h. It starts servers
// by ServersHere, as a duel on one machine does. Use it on one thread only.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>

#include <load/duel/cpu_pins.h>
#include <load/duel/servers_here.h>
#include <load/remote/agent_wire.h>
#include <load/remote/line_splitter.h>

namespace peal::load {

class Agent {
 public:
  explicit Agent(DuelLoop& loop) : loop_(loop) {}
  // Ends all servers that the agent has started and that still run.
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Carries out the request in `line` and returns the answer, which is one line of text, too. Neither line contains a
  // line end. `line` may contain any bytes. If `line` is not a valid request, the answer says so. For some requests,
  // the function waits for a server, for example until the server accepts connections. During the wait, the function
  // runs the event loop.
  std::string answer(const SplitLine& line);

 private:
  AgentAnswer answer_to(const AgentRequest& request);
  AgentAnswer make_crew(const AgentRequest& request);
  AgentAnswer start(const AgentRequest& request);
  AgentAnswer look(size_t place);
  AgentAnswer end(Duration patience);

  DuelLoop& loop_;
  const OrphansHere orphans_;
  size_t places_ = 0;
  std::unique_ptr<ServersHere> crew_;  // null before the request "crew" and after the request "end"
  std::optional<PinnedHere> pinned_;   // keeps the agent off the servers' CPUs if there are other CPUs
};

// Runs an agent, which starts and ends servers on request. First writes a greeting to `output`. After that, reads
// requests from `input` and writes the answers to `output`. Returns when `input` ends, when `output` cannot be written,
// or when SIGTERM, SIGINT or SIGHUP arrives.
// Returns an error, which is one sentence, if requests cannot be read, or if no request arrives for the time `silence`.
// In all cases, ends the servers that it has started before it returns.
std::expected<void, std::string> run_agent(int input, int output, Duration silence);

}  // namespace peal::load
