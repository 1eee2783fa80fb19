// SPDX-License-Identifier: BSD-3-Clause
// A snapshot as JSON. The names of the members say their units: "_seconds", "_bytes", "_share" (of one).
// docs/inspector.md tells what each means.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <peal/inspect/parts/collector.h>
#include <peal/inspect/parts/snapshot.h>

namespace peal::detail {

// Members: taken_unix_seconds, watches_for_stalls, loops, servers, connections, stalls, memory, process, threads,
// system, log, build.
nlohmann::ordered_json to_json(const Snapshot& snapshot);
// Members: connection (null once it has ended), flight.
nlohmann::ordered_json to_json(const ConnectionDetail& detail);
// What the library was built of and with.
nlohmann::ordered_json build_facts();
// As text, whatever bytes names hold: what is no UTF-8 becomes U+FFFD.
std::string dump(const nlohmann::ordered_json& value);

}  // namespace peal::detail
