// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/documents.h>

#include <algorithm>
#include <initializer_list>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include <peal/inspect/parts/snapshot_json.h>
#include <peal/inspect/parts/warnings.h>
#include <peal/net/connection_life.h>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;

// Returns the members with these names, as far as `object` has them.
Json picked(const Json& object, std::initializer_list<const char*> names) {
  Json some = Json::object();
  for (const char* name : names) {
    if (object.contains(name)) some[name] = object[name];
  }
  return some;
}

Json picked_rows(const Json& rows, std::initializer_list<const char*> names) {
  Json some = Json::array();
  for (const Json& row : rows) some.push_back(picked(row, names));
  return some;
}

uint64_t sort_key(const ConnectionFacts& facts, ConnectionSort by) {
  switch (by) {
    case ConnectionSort::kQueued: return facts.queued_bytes;
    case ConnectionSort::kReceived: return facts.received_bytes;
    case ConnectionSort::kSent: return facts.sent_bytes;
    case ConnectionSort::kKept: return facts.kept_bytes;
    case ConnectionSort::kAge: return static_cast<uint64_t>(facts.age.count());
  }
  return 0;
}

Json query_json(const Wanted& wanted) {
  const ConnectionQuery& query = *wanted.connections;
  Json json{{"sort", kConnectionSorts.at(static_cast<size_t>(query.sort))},
            {"order", query.ascending ? "asc" : "desc"},
            {"state", query.state},
            {"search", query.search},
            {"most", query.most}};
  if (wanted.server) json["server"] = *wanted.server;
  return json;
}

}  // namespace

nlohmann::ordered_json overview_document(const Snapshot& snapshot) {
  const Json whole = to_json(snapshot);
  Json warnings = Json::array();
  for (const Warning& each : warnings_of(snapshot)) warnings.push_back({{"what", each.what}, {"link", each.link}});
  return {{"taken_unix_seconds", whole["taken_unix_seconds"]},
          {"warnings", std::move(warnings)},
          {"process", picked(whole["process"],
                             {"name", "pid", "up_seconds", "resident_bytes", "threads", "open_fds", "most_fds"})},
          {"loops", picked_rows(whole["loops"], {"loop", "thread", "engine", "state", "busy_share", "turn_p99_seconds",
                                                 "tasks_waiting", "timers", "stalls", "exceptions"})},
          {"servers", picked_rows(whole["servers"], {"server", "name", "connections", "tasks", "opened", "closed",
                                                     "refused", "slow_closes", "exceptions", "requests", "answers_5xx",
                                                     "handler_exceptions", "certificate_left_seconds"})},
          {"memory", whole["memory"]}};
}

nlohmann::ordered_json part_document(const Snapshot& snapshot, std::string_view part) {
  Json whole = to_json(snapshot);
  const std::string name(part);
  return {{name, std::move(whole[name])}, {"taken_unix_seconds", whole["taken_unix_seconds"]}};
}

std::optional<nlohmann::ordered_json> server_document(const Snapshot& snapshot, size_t number) {
  const auto found = std::ranges::find(snapshot.servers, number, &ServerSnapshot::number);
  if (found == snapshot.servers.end()) return std::nullopt;
  Json whole = to_json(snapshot);
  Json server = std::move(whole["servers"][static_cast<size_t>(found - snapshot.servers.begin())]);
  Json document{{"server", Json()}, {"taken_unix_seconds", whole["taken_unix_seconds"]}};
  if (server.contains("methods")) {
    document["methods"] = std::move(server["methods"]);
    server.erase("methods");
  }
  document["server"] = std::move(server);
  return document;
}

nlohmann::ordered_json connections_document(const Snapshot& snapshot, const Wanted& wanted) {
  const ConnectionQuery& query = *wanted.connections;
  size_t total = 0;
  size_t matched = 0;
  bool complete = true;
  // The key to sort by, and the row. Rows of the same key stay in the order of their names, so that they do not change
  // places from one look to the next.
  std::vector<std::pair<uint64_t, const ConnectionRow*>> rows;
  for (const ServerSnapshot& server : snapshot.servers) {
    if (wanted.server.value_or(server.number) != server.number) continue;
    total += server.connections;
    matched += server.matched;
    complete &= !server.partial;
    for (const ConnectionRow& row : server.rows) {
      const uint64_t key = sort_key(row.facts, query.sort);
      rows.emplace_back(query.ascending ? key : ~key, &row);
    }
  }
  std::ranges::sort(rows, [](const auto& a, const auto& b) {
    const ConnectionName& first = a.second->name;
    const ConnectionName& second = b.second->name;
    return std::tie(a.first, first.server, first.part, first.slot) <
           std::tie(b.first, second.server, second.part, second.slot);
  });
  rows.resize(std::min(rows.size(), query.most));
  Json connections = Json::array();
  for (const auto& [key, row] : rows) connections.push_back(to_json(*row));
  Json states = Json::array();
  for (const ConnectionLifeRow& row : kConnectionLife) states.push_back(row.name);
  return {{"query", query_json(wanted)},
          {"sorts", kConnectionSorts},
          {"states", std::move(states)},
          {"total", total},
          {"matched", matched},
          {"complete", complete},
          {"connections", std::move(connections)},
          {"taken_unix_seconds", unix_seconds(snapshot.taken)}};
}

}  // namespace peal::detail
