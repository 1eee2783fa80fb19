// SPDX-License-Identifier: BSD-3-Clause
// The messages between a duel and the agent that starts its servers on another machine. Pure functions.
//
// A message is one line of JSON (RFC 8259) in UTF-8, at most 1 MiB long. The agent reads requests from stdin and writes
// answers to stdout. First it writes a greeting. Then it answers each request with one line, in order. Times are in
// nanoseconds. A place is the index of a server, from 0.
//
//   greeting                {"agent": "peal-agent/1", "machine": {"address", "cpus", "kernel", "processor", "boot"}}
//
//   request                                          what the agent does; what "ok" contains
//   {"do": "crew", "places": 3, "threads": 1,        makes a crew, a set of servers, with 3 places for them; they use
//    "cpus": [0], "host": "10.0.0.2"}                these CPUs (empty: all) and listen at this address
//   {"do": "start", "place": 0, "words": [...]}      starts a program; {"address": "10.0.0.2:20001"}
//   {"do": "await", "patience": 10000000000}         waits until all servers accept; "patience" is the limit
//   {"do": "ended"}                                  reports a fault if a server has ended by itself
//   {"do": "look", "place": 0}                       reads a server's CPU time; {"at", "cpu", "rss_bytes",
//                                                    "voluntary_switches", "involuntary_switches", "processes",
//                                                    "forgets_children"}
//   {"do": "orphans"}                                finds the servers that have left orphans; {"places": [0]}
//   {"do": "end", "patience": 5000000000}            ends the crew by SIGTERM, and after "patience" by SIGKILL
//   {"do": "clocks"}                                 reads the machine's CPU clocks; {"at", "busy", "stolen", "own"}
//
//   answer
//   {"ok": {...}}                                    the request was carried out
//   {"fault": {"place": 0, "sentence": "..."}}       a problem; "place" is its server, or null if it has none
//   {"error": "..."}                                 the request is invalid, or invalid now: nothing was done
//
// If any of this changes, the version in the greeting has to change too. A duel works only with an agent of the same
// version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <load/duel/server_crew.h>
#include <load/remote/machine_facts.h>

namespace peal::load {

inline constexpr std::string_view kAgentVersion = "peal-agent/1";
inline constexpr size_t kMostAgentLine = size_t{1} << 20;
inline constexpr Duration kLongestPatience = std::chrono::hours(1);  // the longest wait that a request may ask for

enum class AgentTask : uint8_t { kCrew, kStart, kAwait, kEnded, kLook, kOrphans, kEnd, kClocks };

struct AgentRequest {
  AgentTask task = AgentTask::kEnded;
  size_t place = 0;                // used by start and look
  std::vector<std::string> words;  // used by start
  size_t places = 0;               // used by crew: 1 to kMostContenders
  size_t threads = 1;              // used by crew: 1 to kMostThreads
  std::vector<int> cpus;           // used by crew
  SocketAddress host;              // used by crew: an IP address with port 0
  Duration patience{};             // used by await and end

  bool operator==(const AgentRequest&) const = default;
};

struct AgentStarted {
  SocketAddress address;
};
struct AgentOrphans {
  std::vector<size_t> places;
};
struct AgentDone {};
// The agent's answer to a request that it refuses. `sentence` says why it refuses. In JSON, `sentence` is the value of
// "error".
struct AgentRefusal {
  std::string sentence;
};
using AgentAnswer =
    std::variant<AgentDone, AgentStarted, ServerLook, AgentOrphans, MachineClocks, ServerFault, AgentRefusal>;

// The next three functions write a message as one line of JSON, without the line end. AgentRequest::words must be
// UTF-8, which is_utf8() can check.
std::string greeting_line(const MachineFacts& machine);
std::string request_line(const AgentRequest& request);
std::string answer_line(const AgentAnswer& answer);

// Parses a request. `line` may contain any bytes. If `line` is not a valid request, returns one sentence that says what
// is wrong.
std::expected<AgentRequest, std::string> parse_request(std::string_view line);
// Parses the answer to a request for `task`. If `line` is not a valid answer to such a request, returns one sentence
// that says why.
std::expected<AgentAnswer, std::string> parse_answer(std::string_view line, AgentTask task);
// Makes a text from another machine safe to print. Each byte that is not printable ASCII becomes `?`, so that the text
// cannot control a terminal. If the text has more than `most` bytes, cuts it there and appends "...".
std::string shown(std::string_view text, size_t most = 60);

// The greeting is the first message of an agent. If `version` is not kAgentVersion, the other members are not set,
// because a greeting of another version may have other contents.
struct AgentGreeting {
  std::string version;
  MachineFacts machine;
  std::string trouble = {};  // what is wrong with `machine`; if not empty, do not use it
};
// Parses a greeting. Returns std::nullopt if the line is not a greeting. The caller should skip this line and parse the
// next one, because a login script may have printed lines before the greeting.
std::optional<AgentGreeting> parse_greeting(std::string_view line);

bool is_utf8(std::string_view text);

// Parses an IP address, for example "127.0.0.1" or "fe80::1". The returned address has port 0. If the text is not an IP
// address, returns an unset address.
SocketAddress ip_address(std::string_view text);

}  // namespace peal::load
