// SPDX-License-Identifier: BSD-3-Clause
// The documents that the inspector's pages show: what of a snapshot each of them has. A document is a JSON object.
// documents.cc does not read any figures: snapshot_json.cc does.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <peal/inspect/parts/call_stats.h>
#include <peal/inspect/parts/collector.h>
#include <peal/inspect/parts/snapshot.h>

namespace peal::detail {

// Returns the document of "/": warnings, and of the process, each loop and each server the most important figures. It
// has the first 50 metrics of the program, if there are any, and how many more there are.
nlohmann::ordered_json overview_document(const Snapshot& snapshot);

// Returns one member of to_json(snapshot), such as "loops".
nlohmann::ordered_json part_document(const Snapshot& snapshot, std::string_view part);

// Returns all figures of one server. Its methods, its routes and its slowest requests are members of their own. Returns
// nullopt if the snapshot does not have this server.
std::optional<nlohmann::ordered_json> server_document(const Snapshot& snapshot, size_t number);

// What a page about calls is about.
enum class CallKind : uint8_t { kMethod, kRoute };

// Returns all figures of one method or route, and the slowest requests of a route. Returns nullopt if the server does
// not have it, and for a route that no request has used yet.
std::optional<nlohmann::ordered_json> calls_document(const Snapshot& snapshot, CallKind kind, const CallsName& name);

// Returns the connections that the snapshot has because of `wanted`, sorted over all loops and servers, at most
// `wanted.connections->most`. The document repeats the query, and says how many connections there are and how many
// match.
nlohmann::ordered_json connections_document(const Snapshot& snapshot, const Wanted& wanted);

}  // namespace peal::detail
