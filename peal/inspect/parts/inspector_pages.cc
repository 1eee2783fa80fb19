// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/inspector_pages.h>

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peal/base/log.h>
#include <peal/http/middleware/local_client.h>
#include <peal/http/server/http_exchange.h>
#include <peal/inspect/parts/built_in.h>
#include <peal/inspect/parts/held_by_parent.h>
#include <peal/inspect/parts/html_tables.h>
#include <peal/inspect/parts/proc_pages.h>
#include <peal/inspect/parts/snapshot_json.h>
#include <peal/inspect/parts/snapshot_metrics.h>
#include <peal/wire/content/accepted_types.h>
#include <peal/wire/content/html_text.h>
#include <peal/wire/parse_text.h>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kJson = "application/json";
constexpr std::string_view kCss = "text/css; charset=utf-8";
constexpr std::string_view kScript = "text/javascript; charset=utf-8";
constexpr std::string_view kPageName = "inspector.html";
constexpr Duration kDrainDeadline = std::chrono::seconds(30);

class InspectorPages {
 public:
  InspectorPages(std::shared_ptr<Collector> collector, InspectorRules rules, CopyableCallback<void(Server&)> on_drain)
      : collector_(std::move(collector)), rules_(std::move(rules)), on_drain_(std::move(on_drain)) {}

  // Answers with one part of the snapshot, such as "loops", or with the whole snapshot if `part` is empty. If `html` is
  // true, the answer is a page, otherwise JSON.
  void show(HttpExchange& exchange, std::string part, bool html);
  void metrics(HttpExchange& exchange);
  void connection(HttpExchange& exchange);
  void set_log_level(HttpExchange& exchange);
  void drain(HttpExchange& exchange);
  void end_connection(HttpExchange& exchange);

  // Returns whether `rule` allows the request. If it does not, answers with the refusal.
  bool check_access(HttpExchange& exchange, Refusal (*rule)(const AskedBy&, const InspectorRules&)) const;

 private:
  const std::shared_ptr<Collector> collector_;
  const InspectorRules rules_;
  const CopyableCallback<void(Server&)> on_drain_;
};

std::string_view field(const HttpExchange& exchange, std::string_view name) {
  return exchange.request().find(name).value_or(std::string_view());
}

// Returns the value of one parameter of the query. Returns an empty text if the query has no such parameter. The value
// is not decoded, because no value that is used here needs it.
std::string_view query_value(const HttpExchange& exchange, std::string_view name) {
  std::string_view query = exchange.request().query();
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('=')) return pair.substr(name.size() + 1);
  }
  return {};
}

// Sets the header fields that every response has. They forbid caches to keep the response, and other sites to embed or
// frame it.
void set_common_fields(HttpExchange& exchange) {
  exchange.set_field("Cache-Control", "no-store");
  exchange.set_field("X-Content-Type-Options", "nosniff");
  exchange.set_field("Cross-Origin-Resource-Policy", "same-origin");
  exchange.set_field("Content-Security-Policy",
                     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
                     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

void answer(HttpExchange& exchange, int status, std::string_view type, std::string_view body) {
  set_common_fields(exchange);
  exchange.respond(status, type, body);
}

// True if the peer gave a certificate that the TLS layer has verified. For other peers LayerFacts has neither a subject
// nor names.
bool is_certified(const HttpExchange& exchange) {
  const Result<LayerFacts> facts = exchange.layer_facts();
  return facts && (!facts->peer.empty() || !facts->names.empty());
}

bool InspectorPages::check_access(HttpExchange& exchange,
                                  Refusal (*rule)(const AskedBy&, const InspectorRules&)) const {
  const Refusal refusal = rule({.peer = exchange.peer_address().value_or(SocketAddress()),
                                .host = exchange.request().authority(),
                                .origin = field(exchange, "Origin"),
                                .authorization = field(exchange, "Authorization"),
                                .action = field(exchange, "Peal-Action"),
                                .forwarded = was_forwarded(exchange),
                                .secure = exchange.is_secure(),
                                .certified = is_certified(exchange)},
                               rules_);
  if (refusal.status == 0) return true;
  if (refusal.status == 401) exchange.set_field("WWW-Authenticate", "Bearer");
  answer(exchange, refusal.status, kText, refusal.why);
  return false;
}

// Returns the page inspector.html with the texts in place of {{title}}, {{json}} and {{tables}}.
std::string page(std::string_view title, std::string_view json_path, std::string_view tables) {
  std::string text;
  std::string_view rest = std::ranges::find(page_files(), kPageName, &PageFile::name)->text;
  for (size_t hole = rest.find("{{"); hole != rest.npos; hole = rest.find("{{")) {
    text += rest.substr(0, hole);
    const size_t end = rest.find("}}", hole);
    const std::string_view name = rest.substr(hole + 2, end - hole - 2);
    if (name == "title") {
      text += html_escaped(title);
    } else if (name == "json") {
      text += html_escaped(json_path);
    } else if (name == "tables") {
      text += tables;
    } else {
      text += rest.substr(hole, end + 2 - hole);
    }
    rest.remove_prefix(end + 2);
  }
  return text += rest;
}

// Returns whether the client prefers the second of two media types by its Accept fields. The first type is the default.
bool prefers_second(const HttpExchange& exchange, std::string_view first, std::string_view second) {
  AcceptedTypes accepted;
  for (const std::string_view value : exchange.request().values("Accept")) accepted.take(value);
  return accepted.choose({first, second}) == 1;
}

bool wants_html(const HttpExchange& exchange) {
  return query_value(exchange, "format") != "json" && prefers_second(exchange, kJson, kHtml);
}

// Answers with a page that shows `json` if `html` is true, otherwise with `json` itself. The script of the page fetches
// the same figures as JSON from `path`. The log level is added to each answer that does not contain it already, because
// every page has a control for it.
void answer_json(HttpExchange& exchange, bool html, std::string_view title, std::string_view path, Json json) {
  if (!json.contains("log")) json["log_level"] = to_string(peal::log_level());
  const std::string text = dump(json);
  // The page is made from `text` and not from `json` itself, because dump() has replaced invalid UTF-8.
  if (html) {
    answer(exchange, 200, kHtml, page(title, path, html_tables(Json::parse(text))));
  } else {
    answer(exchange, 200, kJson, text);
  }
}

void InspectorPages::show(HttpExchange& exchange, std::string part, bool html) {
  collector_->collect([handle = exchange.handle(), part = std::move(part), html](const Snapshot& snapshot) {
    handle.run([&](HttpExchange& later) {
      Json json = to_json(snapshot);
      if (!part.empty()) json = Json{{part, json[part]}, {"taken_unix_seconds", json["taken_unix_seconds"]}};
      const std::string title = fmt::format("{} ({})", snapshot.process.name, snapshot.process.pid);
      const std::string path = part.empty() ? "/json" : fmt::format("/{}?format=json", part);
      answer_json(later, html, title, path, std::move(json));
    });
  });
}

void InspectorPages::metrics(HttpExchange& exchange) {
  using enum MetricsFormat;
  const bool open = prefers_second(exchange, content_type(kPrometheus), content_type(kOpenMetrics));
  const MetricsFormat format = open ? kOpenMetrics : kPrometheus;
  collector_->collect([handle = exchange.handle(), format](const Snapshot& snapshot) {
    handle.run([&](HttpExchange& later) { answer(later, 200, content_type(format), to_metrics(snapshot, format)); });
  });
}

void InspectorPages::connection(HttpExchange& exchange) {
  const std::optional<ConnectionName> name = ConnectionName::parse(exchange.parameter("id"));
  if (!name) return answer(exchange, 404, kText, "the name of a connection has four numbers, such as 0.1.17.203\n");
  const bool html = wants_html(exchange);
  collector_->describe(*name, [handle = exchange.handle(), name = *name, html](std::optional<ConnectionDetail> detail) {
    handle.run([&](HttpExchange& later) {
      if (!detail) return answer(later, 503, kText, "there is no such server, or its loop does not answer\n");
      const std::string title = "connection " + name.to_string();
      if (!detail->facts && detail->events.empty()) return answer(later, 404, kText, title + " has ended\n");
      answer_json(later, html, title, fmt::format("/connection/{}?format=json", name.to_string()), to_json(*detail));
    });
  });
}

void InspectorPages::set_log_level(HttpExchange& exchange) {
  const std::string_view name = query_value(exchange, "level");
  const std::optional<LogLevel> level = parse_log_level(name);
  if (!level) return answer(exchange, 400, kText, "level must be trace, debug, info, warn, error, critical or off\n");
  peal::set_log_level(*level);
  answer(exchange, 200, kText, fmt::format("the log level is {}\n", to_string(*level)));
}

void InspectorPages::drain(HttpExchange& exchange) {
  const auto number = parse_text<size_t>(query_value(exchange, "server"));
  const std::shared_ptr<ServerLife> life = number ? collector_->server(*number) : nullptr;
  if (!life || !life->run([](Server&) {}))
    return answer(exchange, 404, kText, "server must be the number of a server that the page shows\n");
  if (on_drain_) {
    // The answer is queued before on_drain_ is called, and is sent when this callback has returned. So on_drain_ must
    // not end the process at once.
    answer(exchange, 202, kText, fmt::format("server {} drains as its program decides\n", *number));
    life->run([this](Server& server) { on_drain_(server); });
    return;
  }
  if (const std::optional<pid_t> parent = parent_that_listens_too(); parent) {
    const std::string why = fmt::format(
        "process {} holds open the listening sockets of this process, so new clients would wait in a queue that no "
        "process accepts from; send SIGTERM to this process, {}, instead\n",
        *parent, ::getpid());
    return answer(exchange, 409, kText, why);
  }
  life->run([](Server& server) {
    server.drain(kDrainDeadline, [](const DrainReport& report) {
      PEAL_LOG_INFO("drained at the request of the inspector: {} finished, {} cut off", report.finished, report.forced);
    });
  });
  answer(exchange, 202, kText,
         fmt::format("server {} drains; connections that have not ended in 30 s are cut off\n", *number));
}

void InspectorPages::end_connection(HttpExchange& exchange) {
  const std::optional<ConnectionName> name = ConnectionName::parse(query_value(exchange, "connection"));
  const std::string_view how = query_value(exchange, "how");
  if (!name || (how != "drain" && how != "abort")) {
    return answer(exchange, 400, kText, "give connection=0.1.17.203 and how=drain or how=abort\n");
  }
  collector_->end_connection(*name, how == "drain" ? EndHow::kDrain : EndHow::kAbort,
                             [handle = exchange.handle(), name = *name](std::optional<bool> found) {
                               const std::string which = "connection " + name.to_string();
                               handle.run([&](HttpExchange& later) {
                                 if (!found) return answer(later, 503, kText, which + ": its loop does not answer\n");
                                 if (!*found) return answer(later, 404, kText, which + " has ended already\n");
                                 answer(later, 200, kText, which + " was asked to end\n");
                               });
                             });
}

}  // namespace

Router inspector_pages(const std::shared_ptr<Collector>& collector, InspectorRules rules,
                       CopyableCallback<void(Server&)> on_drain) {
  auto pages = std::make_shared<InspectorPages>(collector, std::move(rules), std::move(on_drain));
  Router router;
  const auto look = [&](std::string_view path, const auto& handler) {
    router.get(path, [pages, handler](HttpExchange& exchange) {
      if (pages->check_access(exchange, may_look)) handler(exchange);
    });
  };
  const auto act = [&](std::string_view path, void (InspectorPages::*handler)(HttpExchange&)) {
    router.post(path, [pages, handler](HttpExchange& exchange) {
      if (pages->check_access(exchange, may_act)) (*pages.*handler)(exchange);
    });
  };
  look("/", [pages](HttpExchange& exchange) { pages->show(exchange, {}, wants_html(exchange)); });
  look("/json", [pages](HttpExchange& exchange) { pages->show(exchange, {}, false); });
  for (const std::string_view part : {"loops", "servers", "connections", "stalls", "threads", "memory", "build"}) {
    look(fmt::format("/{}", part),
         [pages, part](HttpExchange& exchange) { pages->show(exchange, std::string(part), wants_html(exchange)); });
  }
  look("/metrics", [pages](HttpExchange& exchange) { pages->metrics(exchange); });
  look("/connection/{id}", [pages](HttpExchange& exchange) { pages->connection(exchange); });
  for (const ProcPage& each : proc_pages()) {
    look(each.path, [each](HttpExchange& exchange) { answer(exchange, 200, kText, each.text()); });
  }
  for (const PageFile& file : page_files()) {
    if (file.name == kPageName) continue;
    look(fmt::format("/page/{}", file.name), [&file](HttpExchange& exchange) {
      answer(exchange, 200, file.name.ends_with(".css") ? kCss : kScript, file.text);
    });
  }
  act("/actions/log_level", &InspectorPages::set_log_level);
  act("/actions/drain", &InspectorPages::drain);
  act("/actions/end", &InspectorPages::end_connection);
  return router;
}

}  // namespace peal::detail
