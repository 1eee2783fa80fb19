// SPDX-License-Identifier: BSD-3-Clause
// Writes a snapshot as JSON. The names of the members end with their units: "_seconds", "_bytes", "_share" (0 to 1).
// docs/inspector.md explains each member.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <peal/inspect/parts/collector.h>
#include <peal/inspect/parts/snapshot.h>

namespace peal::detail {

// Returns the whole snapshot, with the members taken_unix_seconds, watches_for_stalls, loops, servers, connections,
// stalls, memory, process, threads, system, log, metrics, hidden_metrics, build.
nlohmann::ordered_json to_json(const Snapshot& snapshot);
// Returns one member of the whole snapshot, such as loops or build, and makes nothing else. `part` must be the name of
// a member that is an object or an array.
nlohmann::ordered_json part_json(const Snapshot& snapshot, std::string_view part);
// Returns one server. `now` is the time of the snapshot.
nlohmann::ordered_json to_json(const ServerSnapshot& server, std::chrono::system_clock::time_point now);
// Returns one connection of a list.
nlohmann::ordered_json to_json(const ConnectionRow& row);
// Returns an object for one connection. Its members are `connection`, which is null if the connection has ended,
// `recorded` and `flight`.
nlohmann::ordered_json to_json(const ConnectionDetail& detail);
// Returns a time as seconds since 1970.
double unix_seconds(std::chrono::system_clock::time_point time);
// Returns JSON as text. Bytes that are not valid UTF-8, for example in names, are replaced by U+FFFD.
std::string dump(const nlohmann::ordered_json& value);

}  // namespace peal::detail
