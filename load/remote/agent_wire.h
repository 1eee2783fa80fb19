// SPDX-License-Identifier: BSD-3-Clause
// What a duel and the agent that starts its servers on another machine say to each other. Pure functions.
//
// Lines of JSON (RFC 8259), UTF-8, at most 1 MiB each, on the agent's stdin and stdout. The agent speaks first, one
// line, unasked; then each request gets one answer, in order. Times are nanoseconds, places count from 0.
//
//   the agent's first line  {"agent": "peal-agent/1", "machine": {"address", "cpus", "kernel", "processor", "boot"}}
//
//   request                                          what is done; what is in "ok"
//   {"do": "crew", "places": 3, "threads": 1,        a crew of so many places, none of which has a server yet, on these
//    "cpus": [0], "host": "10.0.0.2"}                CPUs (none: anywhere), listening at this address
//   {"do": "start", "place": 0, "words": [...]}      starts a program; {"address": "10.0.0.2:20001"}
//   {"do": "await", "patience": 10000000000}         waits until all accept connections, at most so long
//   {"do": "ended"}                                  a fault where one has ended by itself
//   {"do": "look", "place": 0}                       its CPU time; {"at", "cpu", "rss_bytes", "voluntary_switches",
//                                                    "involuntary_switches", "processes", "forgets_children"}
//   {"do": "orphans"}                                whose processes were left to themselves; {"places": [0]}
//   {"do": "end", "patience": 5000000000}            ends the crew: asked, and after so long by force
//   {"do": "clocks"}                                 the machine's CPUs; {"at", "busy", "stolen", "own"}
//
//   answer
//   {"ok": {...}}                                    it was done
//   {"fault": {"place": 0, "sentence": "..."}}       something is wrong with a server: "place" is null where with none
//   {"error": "..."}                                 the request was none, or not now: nothing was done
//
// The word in the first line changes when any of this does: a duel speaks with no other version than its own.
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
inline constexpr Duration kLongestPatience = std::chrono::hours(1);  // that may be asked for

enum class AgentTask : uint8_t { kCrew, kStart, kAwait, kEnded, kLook, kOrphans, kEnd, kClocks };

struct AgentRequest {
  AgentTask task = AgentTask::kEnded;
  size_t place = 0;                // start, look
  std::vector<std::string> words;  // start
  size_t places = 0;               // crew: 1 to kMostContenders
  size_t threads = 1;              // crew: 1 to kMostThreads
  std::vector<int> cpus;           // crew
  SocketAddress host;              // crew: an IP address, its port 0
  Duration patience{};             // await, end

  bool operator==(const AgentRequest&) const = default;
};

struct AgentStarted {
  SocketAddress address;
};
struct AgentOrphans {
  std::vector<size_t> places;
};
struct AgentDone {};
// The sentence of an "error".
struct AgentRefusal {
  std::string sentence;
};
using AgentAnswer =
    std::variant<AgentDone, AgentStarted, ServerLook, AgentOrphans, MachineClocks, ServerFault, AgentRefusal>;

// Lines, without their end. The words of a request are UTF-8 (is_utf8()).
std::string greeting_line(const MachineFacts& machine);
std::string request_line(const AgentRequest& request);
std::string answer_line(const AgentAnswer& answer);

// The errors are one sentence: what the line is not. Any bytes are taken.
std::expected<AgentRequest, std::string> parse_request(std::string_view line);
// What `task` is answered with.
std::expected<AgentAnswer, std::string> parse_answer(std::string_view line, AgentTask task);
// What somebody else has said, for a report: shortened, and without what moves a terminal's cursor.
std::string shown(std::string_view text, size_t most = 60);

// Nothing: the line is no greeting; somebody else may have said something first (a login script). Else the version, and
// the machine, as far as the version is kAgentVersion.
struct AgentGreeting {
  std::string version;
  MachineFacts machine;
  std::string trouble = {};  // what in it is not understood; the machine's facts are none then
};
std::optional<AgentGreeting> parse_greeting(std::string_view line);

bool is_utf8(std::string_view text);

// "127.0.0.1", "fe80::1" as a socket's address with port 0; not set where it is none.
SocketAddress ip_address(std::string_view text);

}  // namespace peal::load
