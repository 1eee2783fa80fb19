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

constexpr std::ptrdiff_t kMostOverviewMetrics = 50;  // a page that is fetched once a second stays small

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
  Json warnings = Json::array();
  for (const Warning& each : warnings_of(snapshot)) warnings.push_back({{"what", each.what}, {"link", each.link}});
  Json document{{"taken_unix_seconds", unix_seconds(snapshot.taken)},
                {"warnings", std::move(warnings)},
                {"process", picked(part_json(snapshot, "process"),
                                   {"name", "pid", "up_seconds", "resident_bytes", "threads", "open_fds", "most_fds"})},
                {"loops", picked_rows(part_json(snapshot, "loops"),
                                      {"loop", "thread", "engine", "state", "busy_share", "turn_p99_seconds",
                                       "tasks_waiting", "timers", "stalls", "exceptions"})},
                {"servers", picked_rows(part_json(snapshot, "servers"),
                                        {"server", "name", "state", "connections", "tasks", "opened", "closed",
                                         "refused", "slow_closes", "exceptions", "requests", "answers_5xx",
                                         "handler_exceptions", "certificate_left_seconds"})},
                {"memory", part_json(snapshot, "memory")}};
  // A program that declares no metrics has no empty table of them.
  Json metrics = part_json(snapshot, "metrics");
  if (metrics.empty()) return document;
  const size_t all = metrics.size();
  if (all > kMostOverviewMetrics) {
    metrics.erase(metrics.begin() + kMostOverviewMetrics, metrics.end());
    document["more_metrics"] = all - kMostOverviewMetrics;
  }
  document["metrics"] = std::move(metrics);
  return document;
}

nlohmann::ordered_json part_document(const Snapshot& snapshot, std::string_view part) {
  return {{std::string(part), part_json(snapshot, part)}, {"taken_unix_seconds", unix_seconds(snapshot.taken)}};
}

std::optional<nlohmann::ordered_json> server_document(const Snapshot& snapshot, size_t number) {
  const auto found = std::ranges::find(snapshot.servers, number, &ServerSnapshot::number);
  if (found == snapshot.servers.end()) return std::nullopt;
  Json server = to_json(*found, snapshot.taken);
  Json document{{"server", Json()}, {"taken_unix_seconds", unix_seconds(snapshot.taken)}};
  for (const char* part : {"methods", "routes", "slowest"}) {
    if (!server.contains(part)) continue;
    for (Json& row : server[part]) {
      row["server"] = number;  // pages of a method or a route are found by it
      document[part].push_back(std::move(row));
    }
    server.erase(part);
  }
  document["server"] = std::move(server);
  return document;
}

std::optional<nlohmann::ordered_json> calls_document(const Snapshot& snapshot, CallKind kind, const CallsName& name) {
  const auto found = std::ranges::find(snapshot.servers, name.server, &ServerSnapshot::number);
  if (found == snapshot.servers.end()) return std::nullopt;
  const Json server = to_json(*found, snapshot.taken);
  const std::string one = kind == CallKind::kMethod ? "method" : "route";
  Json document;
  for (const Json& row : server.value(one + "s", Json::array())) {
    if (row[one] != name.name) continue;
    document[one] = {{"server", name.server}, {"name", found->name}};
    document[one].update(row);
  }
  if (document.is_null()) return std::nullopt;
  document["taken_unix_seconds"] = unix_seconds(snapshot.taken);
  if (kind == CallKind::kMethod) return document;
  document["slowest"] = Json::array();
  Json slowest = server.value("slowest", Json::array());
  for (Json& row : slowest) {
    if (row["route"] != name.name) continue;
    row.erase("route");
    document["slowest"].push_back(std::move(row));
  }
  return document;
}

nlohmann::ordered_json connections_document(const Snapshot& snapshot, const Wanted& wanted) {
  const ConnectionQuery& query = *wanted.connections;
  size_t total = 0;
  size_t matched = 0;
  bool complete = true;
  std::vector<const ConnectionRow*> rows;
  for (const ServerSnapshot& server : snapshot.servers) {
    if (wanted.server.value_or(server.number) != server.number) continue;
    total += server.connections;
    matched += server.matched;
    complete &= !server.partial;
    for (const ConnectionRow& row : server.rows) rows.push_back(&row);
  }
  // Rows of the same rank are in the order of their names, so that they do not change places from one look to the next.
  std::ranges::sort(rows, [](const ConnectionRow* a, const ConnectionRow* b) {
    return std::tie(b->rank, a->name.server, a->name.part, a->name.slot) <
           std::tie(a->rank, b->name.server, b->name.part, b->name.slot);
  });
  rows.resize(std::min(rows.size(), query.most));
  Json connections = Json::array();
  for (const ConnectionRow* row : rows) connections.push_back(to_json(*row));
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
