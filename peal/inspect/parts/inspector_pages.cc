// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/inspector_pages.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peal/http/middleware/local_client.h>
#include <peal/http/server/http_exchange.h>
#include <peal/inspect/parts/built_in.h>
#include <peal/inspect/parts/documents.h>
#include <peal/inspect/parts/inspector_actions.h>
#include <peal/inspect/parts/page_answers.h>
#include <peal/inspect/parts/proc_pages.h>
#include <peal/inspect/parts/snapshot_json.h>
#include <peal/inspect/parts/snapshot_metrics.h>
#include <peal/net/connection_life.h>
#include <peal/wire/parse_text.h>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCss = "text/css; charset=utf-8";
constexpr std::string_view kScript = "text/javascript; charset=utf-8";
constexpr const char* kNoMethod = "the query needs server, a number, and name, the name of a method of that server\n";
constexpr const char* kNoRoute =
    "the query needs server, a number, and name, the name of a route of that server. A route is shown from its first "
    "request on\n";
constexpr size_t kMostRows = 1000;  // the most connections that one page shows: more would take the loop too long

class InspectorPages {
 public:
  explicit InspectorPages(InspectorSources sources) : sources_(std::move(sources)) {}

  void overview(HttpExchange& exchange);
  // Answers with one part of the snapshot, such as "loops".
  void part(HttpExchange& exchange, std::string_view name);
  void server(HttpExchange& exchange);
  // Answers with a method or a route that the query names.
  void calls(HttpExchange& exchange, CallKind kind);
  void connections(HttpExchange& exchange);
  // Answers with the whole snapshot as JSON.
  void everything(HttpExchange& exchange);
  void history(HttpExchange& exchange);
  void metrics(HttpExchange& exchange);
  void connection(HttpExchange& exchange);

  // Returns whether `rule` allows the request. If it does not, answers with the refusal.
  bool check_access(HttpExchange& exchange, Refusal (*rule)(const AskedBy&, const InspectorRules&)) const;
  const InspectorSources& sources() const { return sources_; }

 private:
  // Collects a snapshot and answers with the document that `make` returns for it. If `make` returns nullopt, answers
  // 404 with the text `missing`.
  template <class Make>
  void show(HttpExchange& exchange, const Wanted& wanted, std::string missing, Make make);

  const InspectorSources sources_;
};

std::string_view field(const HttpExchange& exchange, std::string_view name) {
  return exchange.request().find(name).value_or(std::string_view());
}

// True if the peer gave a certificate that the TLS layer has verified. For other peers LayerFacts has neither a subject
// nor names.
bool is_certified(const HttpExchange& exchange) {
  const Result<LayerFacts> facts = exchange.layer_facts();
  return facts && (!facts->peer.empty() || !facts->names.empty());
}

bool InspectorPages::check_access(HttpExchange& exchange,
                                  Refusal (*rule)(const AskedBy&, const InspectorRules&)) const {
  std::vector<std::string_view> origins;
  for (const std::string_view value : exchange.request().values("Origin")) origins.push_back(value);
  const Refusal refusal = rule({.peer = exchange.peer_address().value_or(SocketAddress()),
                                .host = exchange.request().authority(),
                                .origins = std::move(origins),
                                .authorization = field(exchange, "Authorization"),
                                .action = field(exchange, "Peal-Action"),
                                .forwarded = was_forwarded(exchange),
                                .secure = exchange.is_secure(),
                                .certified = is_certified(exchange)},
                               sources_.rules);
  if (refusal.status == 0) return true;
  if (refusal.status == 401) exchange.set_field("WWW-Authenticate", "Bearer");
  answer(exchange, refusal.status, kTextType, refusal.why);
  return false;
}

template <class Make>
void InspectorPages::show(HttpExchange& exchange, const Wanted& wanted, std::string missing, Make make) {
  sources_.collector->collect(
      wanted, [handle = exchange.handle(), form = wanted_form(exchange), path = path_of(exchange),
               missing = std::move(missing), make = std::move(make)](const Snapshot& snapshot) {
        handle.run([&](HttpExchange& later) {
          std::optional<Json> document = make(snapshot);
          if (!document) return answer(later, 404, kTextType, missing);
          const std::string title = fmt::format("{} ({})", snapshot.process.name, snapshot.process.pid);
          answer_document(later, form, title, path, *std::move(document));
        });
      });
}

void InspectorPages::overview(HttpExchange& exchange) {
  show(exchange, {}, {}, [](const Snapshot& snapshot) { return std::optional(overview_document(snapshot)); });
}

void InspectorPages::part(HttpExchange& exchange, std::string_view name) {
  show(exchange, {.details = name == "threads"}, {},
       [name](const Snapshot& snapshot) { return std::optional(part_document(snapshot, name)); });
}

void InspectorPages::server(HttpExchange& exchange) {
  const std::optional<size_t> number = parse_text<size_t>(exchange.parameter("number"));
  show(exchange, {}, "there is no server of this number\n",
       [number](const Snapshot& snapshot) { return number ? server_document(snapshot, *number) : std::nullopt; });
}

// Returns the method or route that a query names: "server=0&name=GET%20%2F". Returns nullopt if it names none.
std::optional<CallsName> calls_wanted(HttpExchange& exchange) {
  const std::optional<size_t> server = exchange.query<size_t>("server");
  const std::optional<std::string_view> name = exchange.query("name");
  if (!server || !name) return std::nullopt;
  return CallsName{.server = *server, .name = std::string(*name)};
}

void InspectorPages::calls(HttpExchange& exchange, CallKind kind) {
  const std::optional<CallsName> name = calls_wanted(exchange);
  show(exchange, {}, kind == CallKind::kRoute ? kNoRoute : kNoMethod,
       [name, kind](const Snapshot& snapshot) { return name ? calls_document(snapshot, kind, *name) : std::nullopt; });
}

// Reads the query of /connections. Returns nullopt if a value is wrong.
std::optional<Wanted> connections_wanted(HttpExchange& exchange, size_t most) {
  ConnectionQuery query{.most = most};
  Wanted wanted;
  // An empty value is that of a form whose field was left empty: it means the default.
  const auto text = [&](std::string_view key) { return exchange.query(key).value_or(std::string_view()); };
  if (const std::string_view sort = text("sort"); !sort.empty()) {
    const auto* const found = std::ranges::find(kConnectionSorts, sort);
    if (found == kConnectionSorts.end()) return std::nullopt;
    query.sort = static_cast<ConnectionSort>(found - kConnectionSorts.begin());
  }
  if (const std::string_view order = text("order"); !order.empty()) {
    if (order != "asc" && order != "desc") return std::nullopt;
    query.ascending = order == "asc";
  }
  const auto number = [&](std::string_view key, auto set) {
    if (text(key).empty()) return true;
    const std::optional<size_t> value = exchange.query<size_t>(key);
    if (value) set(*value);
    return value.has_value();
  };
  if (!number("server", [&](size_t value) { wanted.server = value; })) return std::nullopt;
  if (!number("most", [&](size_t value) { query.most = std::min(value, kMostRows); })) return std::nullopt;
  query.state = text("state");
  if (!query.state.empty() &&
      std::ranges::find(kConnectionLife, query.state, &ConnectionLifeRow::name) == kConnectionLife.end()) {
    return std::nullopt;
  }
  query.search = text("search");
  wanted.connections = std::move(query);
  return wanted;
}

void InspectorPages::connections(HttpExchange& exchange) {
  const std::optional<Wanted> wanted = connections_wanted(exchange, sources_.most_connections);
  if (!wanted) {
    return answer(exchange, 400, kTextType,
                  "sort is queued, received, sent, kept or age; order is asc or desc; state is the name of a state; "
                  "server and most are numbers\n");
  }
  show(exchange, *wanted, {},
       [wanted = *wanted](const Snapshot& snapshot) { return std::optional(connections_document(snapshot, wanted)); });
}

void InspectorPages::everything(HttpExchange& exchange) {
  const Wanted wanted{.details = true, .connections = ConnectionQuery{.most = sources_.most_connections}};
  sources_.collector->collect(wanted, [handle = exchange.handle()](const Snapshot& snapshot) {
    handle.run([&](HttpExchange& later) { answer(later, 200, kJsonType, dump(to_json(snapshot))); });
  });
}

void InspectorPages::history(HttpExchange& exchange) {
  const uint64_t seen = exchange.query<uint64_t>("since").value_or(0);
  answer(exchange, 200, kJsonType, dump(sources_.history->since(seen, calls_wanted(exchange))));
}

void InspectorPages::metrics(HttpExchange& exchange) {
  using enum MetricsFormat;
  const bool open = preferred(exchange, {content_type(kPrometheus), content_type(kOpenMetrics)}) == 1;
  const MetricsFormat format = open ? kOpenMetrics : kPrometheus;
  sources_.collector->collect({}, [handle = exchange.handle(), format](const Snapshot& snapshot) {
    handle.run([&](HttpExchange& later) { answer(later, 200, content_type(format), to_metrics(snapshot, format)); });
  });
}

void InspectorPages::connection(HttpExchange& exchange) {
  const std::optional<ConnectionName> name = ConnectionName::parse(exchange.parameter("id"));
  if (!name) return answer(exchange, 404, kTextType, "the name of a connection has four numbers, such as 0.1.17.203\n");
  if (!sources_.collector->knows(*name)) {
    return answer(exchange, 404, kTextType, "there is no server, or no loop of the server, with these numbers\n");
  }
  sources_.collector->describe(*name, [handle = exchange.handle(), name = *name, form = wanted_form(exchange),
                                       path = path_of(exchange)](const std::optional<ConnectionDetail>& detail) {
    handle.run([&](HttpExchange& later) {
      if (!detail) return answer(later, 503, kTextType, "the loop of this connection does not answer\n");
      const std::string title = "connection " + name.to_string();
      if (!detail->facts && detail->events.empty()) return answer(later, 404, kTextType, title + " has ended\n");
      answer_document(later, form, title, path, to_json(*detail));
    });
  });
}

}  // namespace

Router inspector_pages(InspectorSources sources) {
  auto pages = std::make_shared<InspectorPages>(std::move(sources));
  Router router;
  const auto look = [&](std::string_view path, const auto& handler) {
    router.get(path, [pages, handler](HttpExchange& exchange) {
      if (pages->check_access(exchange, may_look)) handler(exchange);
    });
  };
  const auto act = [&](std::string_view path, const auto& handler) {
    router.post(path, [pages, handler](HttpExchange& exchange) {
      if (pages->check_access(exchange, may_act)) handler(exchange, pages->sources());
    });
  };
  const auto show = [&](std::string_view path, void (InspectorPages::*handler)(HttpExchange&)) {
    look(path, [pages, handler](HttpExchange& exchange) { (*pages.*handler)(exchange); });
  };
  show("/", &InspectorPages::overview);
  for (const std::string_view name : {"loops", "servers", "stalls", "threads", "memory", "build"}) {
    look(fmt::format("/{}", name), [pages, name](HttpExchange& exchange) { pages->part(exchange, name); });
  }
  look("/program", [pages](HttpExchange& exchange) { pages->part(exchange, "metrics"); });
  show("/server/{number}", &InspectorPages::server);
  look("/method", [pages](HttpExchange& exchange) { pages->calls(exchange, CallKind::kMethod); });
  look("/route", [pages](HttpExchange& exchange) { pages->calls(exchange, CallKind::kRoute); });
  show("/connections", &InspectorPages::connections);
  show("/connection/{id}", &InspectorPages::connection);
  show("/history", &InspectorPages::history);
  show("/json", &InspectorPages::everything);
  show("/metrics", &InspectorPages::metrics);
  for (const ProcPage& each : proc_pages()) {
    look(each.path, [each](HttpExchange& exchange) { answer(exchange, 200, kTextType, each.text()); });
  }
  for (const PageFile& file : page_files()) {
    if (file.name == kPageName) continue;
    look(fmt::format("/page/{}", file.name), [&file](HttpExchange& exchange) {
      answer(exchange, 200, file.name.ends_with(".css") ? kCss : kScript, file.text);
    });
  }
  act("/actions/log_level", [](HttpExchange& exchange, const InspectorSources&) { set_log_level(exchange); });
  act("/actions/drain", [](HttpExchange& exchange, const InspectorSources& shown) {
    drain_server(exchange, *shown.collector, shown.on_drain);
  });
  act("/actions/end",
      [](HttpExchange& exchange, const InspectorSources& shown) { end_connection(exchange, *shown.collector); });
  return router;
}

}  // namespace peal::detail
