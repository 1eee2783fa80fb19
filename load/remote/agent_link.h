// SPDX-License-Identifier: BSD-3-Clause
// AgentLink: a duel's end of the line to an agent on another machine: the remote shell that starts it, one request and
// its answer at a time, each within a deadline. Once anything has gone wrong nothing is asked any more. One thread,
// that of the loop, which is turned while an answer is waited for.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <load/duel/duel_loop.h>
#include <load/duel/server_process.h>
#include <load/duel/spawned_child.h>
#include <load/remote/agent_wire.h>
#include <load/remote/line_splitter.h>

namespace peal::load {

struct RemoteHost {
  std::string name;
  std::vector<std::string> shell;  // the words before the name; behind it comes one word, the command
  std::string agent;               // that command, as a shell there reads it
  SocketAddress address = {};      // where servers listen there; not set: where the agent says
  Duration until_it_speaks = std::chrono::seconds(20);
  Duration answer = std::chrono::seconds(20);  // beside the patience that was asked for
};

class AgentLink {
 public:
  // Waits for the greeting. The error is one sentence.
  static std::expected<std::unique_ptr<AgentLink>, std::string> open(DuelLoop& loop, const RemoteHost& host);
  // The agent is told that nobody asks any more, and ends what it started; who does not go is ended by force.
  ~AgentLink();
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  const RemoteHost& host() const { return host_; }
  const MachineFacts& machine() const { return machine_; }
  // The answer is none of a ServerFault or an AgentRefusal: those, and a line that is broken, are the error.
  std::expected<AgentAnswer, ServerFault> ask(const AgentRequest& request);

 private:
  AgentLink(DuelLoop& loop, const RemoteHost& host, SpawnedChild child);
  std::expected<void, std::string> await_greeting();
  // Nothing: the agent has gone, or the time is over; the reason is in `why`.
  std::optional<std::string> next_line(TimePoint limit, std::string& why);
  void read();
  bool has_ended();
  std::string how_it_went();
  void wait_for_end(Duration patience);
  ServerFault broken(std::string why);

  DuelLoop& loop_;
  const RemoteHost host_;
  MachineFacts machine_;
  int pid_;
  Fd input_;
  LineSplitter lines_{kMostAgentLine};
  std::string strange_;  // the first line that was no greeting
  bool is_over_ = false;
  std::optional<int> status_;  // as waitpid() shows it
  std::optional<std::string> trouble_;
  Watch output_;
  KeptOutput complaints_;
};

}  // namespace peal::load
