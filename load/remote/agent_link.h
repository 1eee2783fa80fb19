// SPDX-License-Identifier: BSD-3-Clause
// AgentLink: the link from a duel (a comparison of servers under load) to an agent on another machine. It starts the
// agent through a remote shell. Then it sends one request at a time and waits for the answer, up to a deadline. After
// the link has failed, it sends nothing more. Use it on the loop's thread only. While it waits, it runs the loop.
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
  // The first words of the command that starts a shell on the host: a program and its options, for example {"ssh"}.
  // AgentLink appends two more words, `name` and `agent`.
  std::vector<std::string> shell;
  std::string agent;           // the command by which the shell on the host starts the agent
  SocketAddress address = {};  // where the servers listen; unset: the address that the agent proposes
  Duration until_it_speaks = std::chrono::seconds(20);
  Duration answer = std::chrono::seconds(20);  // limit for an answer; a request's own patience is added to it
};

class AgentLink {
 public:
  // Starts the agent on `host` and waits for its greeting. If the agent cannot be started, or sends no valid greeting
  // in time, returns one sentence that says why.
  static std::expected<std::unique_ptr<AgentLink>, std::string> open(DuelLoop& loop, const RemoteHost& host);
  // Closes the stdin of the agent. The agent then ends its servers and itself. If the agent takes too long, or if the
  // link has failed before, kills the remote shell (for example ssh) through which the agent was started.
  ~AgentLink();
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  const RemoteHost& host() const { return host_; }
  const MachineFacts& machine() const { return machine_; }
  // Sends a request to the agent, waits for the answer and returns it. Returns an error if
  // - the link to the agent has failed, now or earlier,
  // - the agent reports a problem of a server,
  // - the agent refuses the request,
  // - the agent sends an invalid answer, or does not answer in time, or
  // - the request is too long to be sent.
  std::expected<AgentAnswer, ServerFault> ask(const AgentRequest& request);

 private:
  AgentLink(DuelLoop& loop, const RemoteHost& host, SpawnedChild child);
  std::expected<void, std::string> await_greeting();
  // Waits for the next line that the agent writes, at most until the time `limit`. Returns the line. If there is no
  // line, returns std::nullopt and sets `why`. There are two cases:
  // - The output of the agent has ended. `why` says how the remote shell has ended, or that the shell still runs.
  // - The time `limit` has come. `why` is empty.
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
  std::string strange_;  // the first line of the agent that was not a greeting
  bool is_over_ = false;
  std::optional<int> status_;  // as waitpid(2) returned it
  std::optional<std::string> trouble_;
  Watch output_;
  KeptOutput complaints_;
};

}  // namespace peal::load
