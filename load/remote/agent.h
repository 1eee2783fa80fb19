// SPDX-License-Identifier: BSD-3-Clause
// Agent: starts servers on the machine it runs on for a duel on another, and reads their CPU clocks when it is asked
// to: the same ServersHere that a duel uses at home, behind the lines of agent_wire.h. One thread.
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
  // Ends what still runs.
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // One request, one answer, both without the end of the line. Any bytes are taken. Turns the loop while it waits.
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
  std::unique_ptr<ServersHere> crew_;  // none: nothing was asked for yet, or it has ended
  std::optional<PinnedHere> pinned_;   // off the servers' CPUs, where there are others
};

// Greets and answers on these two until the first one ends, SIGTERM, SIGINT or SIGHUP comes, or nobody has asked for
// anything for as long as `silence`; then whatever runs is ended. The error is one sentence.
std::expected<void, std::string> run_agent(int input, int output, Duration silence);

}  // namespace peal::load
