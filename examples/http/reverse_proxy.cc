// SPDX-License-Identifier: BSD-3-Clause
// A reverse proxy for one upstream server: `reverse_proxy UPSTREAM [ADDRESS [PATIENCE_MS [CONNECTIONS [WAITING]]]]`.
//   UPSTREAM     for example 127.0.0.1:9000, name:80 or unix:/run/service.sock
//   PATIENCE_MS  the longest wait for the first byte of an answer, and for a free connection
//   CONNECTIONS  the most connections to the upstream
//   WAITING      the most requests that wait for a connection
//
//   client ◄── HttpExchange ──── Proxy ──── HttpFetch ──► upstream
//
// Bodies are passed on in pieces, in both directions. If one side reads slowly, the proxy reads no faster from the
// other side. The proxy therefore stores only a limited number of bytes. Connections to the upstream are kept and used
// again.
//
// - If a request changes the protocol (WebSocket, CONNECT), pipe() joins the two connections.
// - TRACE and OPTIONS are passed on unless their Max-Forwards is 0.
// - Fields that concern one connection only are not passed on (RFC 9110 7.6.1).
// - Interim answers are passed on (RFC 9110 15.2).
//
// The proxy itself answers in these cases:
// - 502: the upstream cannot be reached, or its answer is not valid HTTP.
// - 503: too many requests wait for a connection, or this request has waited too long.
// - 504: the upstream takes too long.
//
// While the upstream prepares its answer, the client may disconnect, or this server may answer by itself. The client's
// exchange then ends early. The callbacks therefore hold a handle of the exchange: after the end of its exchange, a
// handle does nothing.
#include <algorithm>
#include <charconv>

#include <examples/shared/service.h>

#include <peal/http/client/http_client.h>
#include <peal/http/client/http_trouble.h>
#include <peal/http/server/http_server.h>
#include <peal/net/pipe.h>
#include <peal/net/resolver.h>
#include <peal/wire/parse_text.h>

namespace {

using namespace peal;

// The header fields of one message that the proxy does not pass on, because they concern one connection only (RFC 9110
// 7.6.1). A fixed list contains the fields that are always of this kind. The message's Connection fields may name more.
// Content-Length is in the fixed list because peal itself writes that field into the messages that it sends.
class HopByHop {
 public:
  // `named` holds the values of all Connection fields of one message, joined by commas.
  explicit HopByHop(std::string named) : named_(std::move(named)) {}
  bool contains(std::string_view name) const {
    constexpr std::string_view kAlways[] = {
        "Connection", "Keep-Alive", "Proxy-Connection",    "Transfer-Encoding",  "TE",
        "Trailer",    "Upgrade",    "Proxy-Authorization", "Proxy-Authenticate", "Content-Length"};
    if (std::ranges::any_of(kAlways, [&](std::string_view each) { return same_field_name(each, name); })) return true;
    for (std::string_view rest = named_; !rest.empty();) {
      const size_t comma = std::min(rest.find(','), rest.size());
      std::string_view option = rest.substr(0, comma);
      while (option.starts_with(' ') || option.starts_with('\t')) option.remove_prefix(1);
      while (option.ends_with(' ') || option.ends_with('\t')) option.remove_suffix(1);
      if (same_field_name(option, name)) return true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return false;
  }

 private:
  const std::string named_;
};

// Returns the status that the client gets if the request to the upstream has failed with `error`.
int status_of(std::error_code error) {
  for (const HttpTrouble late : {HttpTrouble::kConnectTimeout, HttpTrouble::kFirstByteTimeout,
                                 HttpTrouble::kTotalTimeout, HttpTrouble::kStalled}) {
    if (error == late) return 504;
  }
  if (error == HttpTrouble::kQueueFull || error == HttpTrouble::kQueueTimeout) return 503;
  return error == Trouble::kNoAnswer ? 504 : 502;
}

// Returns the number in the Max-Forwards field of a TRACE or OPTIONS request: how many more proxies the request may
// pass (RFC 9110 7.6.2). Returns no number if the request has no Max-Forwards. For other methods the function also
// returns no number, because a proxy may ignore the field in their requests. A number above UINT32_MAX is returned as
// UINT32_MAX. Fails with EINVAL if the field occurs twice or is not a number.
Result<std::optional<uint32_t>> max_forwards(const HttpRequestHead& head) {
  std::optional<uint32_t> most;
  if (head.method() != HttpMethod::kTrace && head.method() != HttpMethod::kOptions) return most;
  for (const HttpField field : head.fields()) {
    if (!same_field_name(field.name, "Max-Forwards")) continue;
    uint32_t number = 0;
    const std::string_view text = field.value;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (most || end != text.data() + text.size() || error == std::errc::invalid_argument) return fail(EINVAL);
    most = error == std::errc() ? number : UINT32_MAX;
  }
  return most;
}

// Answers a TRACE or OPTIONS whose Max-Forwards is 0, instead of passing it on (RFC 9110 9.3.7, 9.3.8).
void answer_as_the_last(HttpExchange& exchange) {
  const HttpRequestHead& head = exchange.request();
  if (head.method() == HttpMethod::kOptions) {
    exchange.set_field("Allow", "OPTIONS, TRACE");
    return exchange.respond(204);
  }
  constexpr std::string_view kSecrets[] = {"Authorization", "Cookie", "Proxy-Authorization"};
  std::string seen = fmt::format("{} {} HTTP/1.{}\r\n", head.method_text(), head.target(), head.minor_version());
  for (const HttpField field : head.fields()) {
    if (std::ranges::any_of(kSecrets, [&](std::string_view each) { return same_field_name(each, field.name); }))
      continue;
    seen.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  exchange.respond(200, "message/http", seen + "\r\n");
}

// Joins the client's connection with the upstream's connection by pipe(). The proxy makes a Tunnel after the upstream
// has agreed to change the protocol. If the connections cannot be joined, the client's connection is closed.
class Tunnel final : public UpgradeHandler {
 public:
  explicit Tunnel(HttpFetch& fetch) : fetch_(fetch) {}
  void on_start(Connection& client) override {
    Connection* const upstream = fetch_.tunnel();
    if (upstream == nullptr || !pipe(client, *upstream)) client.close();
  }
  void on_data(Connection&, Buffer& input) override { input.clear(); }

 private:
  HttpFetch& fetch_;  // used in on_start() only
};

class Proxy {
 public:
  Proxy(Loop& loop, std::string upstream, const HttpClientOptions& options)
      : upstream_(std::move(upstream)), client_(loop, options) {}

  void operator()(HttpExchange& exchange) {
    const auto forwards = max_forwards(exchange.request());
    if (!forwards) return exchange.respond(400);
    if (*forwards == 0U) return answer_as_the_last(exchange);
    HttpClientRequest request = request_of(exchange);
    if (*forwards) request.add("Max-Forwards", std::to_string(**forwards - 1));
    const bool has_body = request.streamed;
    auto started = client_.start(std::move(request), callbacks(exchange.handle()));
    if (!started) return exchange.respond(status_of(started.error()));
    exchange.on_abandoned([this, id = *started](HttpExchange&) { client_.cancel(id); });
    exchange.on_writable([this, id = *started](HttpExchange&) {
      if (HttpFetch* fetch = client_.find(id)) fetch->resume();
    });
    if (has_body) send_body(exchange, *started);
  }

 private:
  HttpClientRequest request_of(HttpExchange& exchange) const {
    const HttpRequestHead& head = exchange.request();
    HttpClientRequest request(std::string(head.method_text()), "http://upstream/");
    request.connect_to = upstream_;
    request.target = head.path().empty() ? head.target() : head.path();
    if (head.target().contains('?')) request.target.append("?").append(head.query());
    request.most_redirects = 0;
    request.streamed = head.has_body();
    request.streamed_bytes = head.content_length();
    std::string named;
    std::string via;
    std::string forwarded;
    for (const HttpField field : head.fields()) {
      if (same_field_name(field.name, "Connection")) named.append(field.value).append(",");
      if (same_field_name(field.name, "Via")) via.append(field.value).append(", ");
      if (same_field_name(field.name, "X-Forwarded-For")) forwarded.append(field.value).append(", ");
    }
    request.add("Host", std::string(head.authority().empty() ? "upstream" : head.authority()));
    const HopByHop hop_by_hop(std::move(named));
    for (const HttpField field : head.fields()) {
      // The client's Max-Forwards of a TRACE or OPTIONS is not copied here, because operator() adds the field with a
      // number that is smaller by one. In requests of other methods, the field is passed on unchanged.
      const bool counted = same_field_name(field.name, "Max-Forwards") &&
                           (head.method() == HttpMethod::kTrace || head.method() == HttpMethod::kOptions);
      const bool ours = counted || same_field_name(field.name, "Host") || same_field_name(field.name, "Expect") ||
                        same_field_name(field.name, "Via") || same_field_name(field.name, "X-Forwarded-For") ||
                        same_field_name(field.name, "X-Forwarded-Proto");
      if (!ours && !hop_by_hop.contains(field.name)) request.add(std::string(field.name), std::string(field.value));
    }
    if (const auto peer = exchange.peer_address(); peer && peer->is_ip()) {
      std::string address = peer->to_string();
      address.resize(address.rfind(':'));
      forwarded += address;
    } else {
      forwarded += "unknown";
    }
    request.add("X-Forwarded-For", forwarded).add("X-Forwarded-Proto", "http");
    request.add("Via", fmt::format("{}1.{} peal", via, head.minor_version()));
    request.may_upgrade = !request.streamed && (!head.upgrade().empty() || head.method() == HttpMethod::kConnect);
    if (request.may_upgrade && !head.upgrade().empty()) {
      request.add("Connection", "upgrade").add("Upgrade", std::string(head.upgrade()));
    }
    return request;
  }

  void send_body(HttpExchange& exchange, HttpFetchId id) {
    exchange.on_body(
        [this, id](HttpExchange& its, std::string_view piece) {
          HttpFetch* const fetch = client_.find(id);
          if (fetch != nullptr && !fetch->write(piece)) its.pause_body();
        },
        [this, id](HttpExchange&) {
          if (HttpFetch* fetch = client_.find(id)) fetch->end_body();
        });
  }

  // Returns the callbacks that pass the upstream's answer to the client. `asker` is the handle of the client's
  // exchange. asker.run() calls its lambda immediately, because client and upstream are on one loop. The lambda may
  // therefore capture references. If the exchange has ended or its answer is complete, run() does not call the lambda.
  static HttpFetchCallbacks callbacks(const HttpExchangeHandle& asker) {
    HttpFetchCallbacks callbacks;
    callbacks.on_interim = [asker](HttpFetch&, const HttpResponseHead& head) {
      // Status 100 answers an Expect field. This proxy does not pass Expect on, so it does not pass 100 on either.
      if (head.status() != 100) asker.run([&](HttpExchange& exchange) { inform(exchange, head); });
    };
    callbacks.on_head = [asker](HttpFetch& fetch, const HttpResponseHead& head) {
      asker.run([&](HttpExchange& exchange) { begin(exchange, fetch, head); });
    };
    callbacks.on_body = [asker](HttpFetch& fetch, std::string_view bytes) {
      asker.run([&](HttpExchange& exchange) {
        if (!exchange.write(bytes)) fetch.pause();
      });
    };
    callbacks.on_writable = [asker](HttpFetch&) { asker.run([](HttpExchange& exchange) { exchange.resume_body(); }); };
    callbacks.on_done = [asker](const Result<void>& how) {
      asker.run([&](HttpExchange& exchange) {
        if (how) return exchange.end();
        if (exchange.begun()) return exchange.abort();
        exchange.respond(status_of(how.error()));
      });
    };
    return callbacks;
  }

  static void set_fields(HttpExchange& exchange, const HttpResponseHead& head, const HopByHop& hop_by_hop) {
    std::string_view lines = head.field_lines();
    for (HttpField field; next_http_field(lines, field);) {
      if (same_field_name(field.name, "Date") || hop_by_hop.contains(field.name)) continue;
      exchange.set_field(field.name, field.value);
    }
    exchange.set_field("Via", fmt::format("1.{} peal", head.minor_version()));
  }

  // Passes an interim answer (1xx) to the client. RFC 9110 15.2 requires this of a proxy.
  static void inform(HttpExchange& exchange, const HttpResponseHead& head) {
    std::string named;
    std::string_view lines = head.field_lines();
    for (HttpField field; next_http_field(lines, field);) {
      if (same_field_name(field.name, "Connection")) named.append(field.value).append(",");
    }
    set_fields(exchange, head, HopByHop(std::move(named)));
    exchange.inform(head.status());
  }

  static void begin(HttpExchange& exchange, HttpFetch& fetch, const HttpResponseHead& head) {
    if (head.status() > 599) {
      fetch.cancel();
      return exchange.respond(502);
    }
    std::string named;
    uint64_t length = 0;
    bool tells_length = false;
    std::string_view lines = head.field_lines();
    for (HttpField field; next_http_field(lines, field);) {
      if (same_field_name(field.name, "Connection")) named.append(field.value).append(",");
      if (same_field_name(field.name, "Content-Length")) {
        length = std::strtoull(std::string(field.value).c_str(), nullptr, 10);
        tells_length = true;
      }
    }
    set_fields(exchange, head, HopByHop(std::move(named)));
    if (fetch.tunnel() != nullptr) {
      const std::string protocol(head.status() == 101 ? head.find("Upgrade").value_or("") : "");
      if (head.status() == 101 && protocol.empty()) {
        fetch.cancel();
        return exchange.respond(502);
      }
      return exchange.upgrade(protocol, std::make_unique<Tunnel>(fetch));
    }
    if (tells_length && !head.find("Transfer-Encoding")) exchange.set_content_length(length);
    exchange.begin(head.status());
  }

  const std::string upstream_;
  HttpClient client_;
};

// Returns argv[index] as a number. Returns `otherwise` if the program has fewer arguments, and 0 if the argument is not
// a number.
size_t number(int argc, char** argv, int index, size_t otherwise) {
  return parse_text<size_t>(examples::argument(argc, argv, index, std::to_string(otherwise))).value_or(0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string upstream = examples::argument(argc, argv, 1, "");
  if (const auto named = HostPort::parse(upstream); !named && !SocketAddress::parse(upstream)) {
    return examples::failed("cannot use UPSTREAM '" + upstream + "'", named.error());
  }
  HttpClientOptions asking;
  const std::chrono::milliseconds patience(std::min<size_t>(number(argc, argv, 3, 60'000), 1'000'000'000));
  asking.deadlines.first_byte = patience;
  asking.deadlines.queue = std::min<Duration>(asking.deadlines.queue, patience);
  asking.most_per_origin = asking.most_connections = number(argc, argv, 4, asking.most_connections);
  asking.most_waiting = number(argc, argv, 5, asking.most_waiting);
  asking.client.connect_timeout = std::chrono::seconds(5);
  if (patience.count() == 0 || asking.most_connections == 0 || asking.most_waiting == 0) {
    return examples::failed("PATIENCE_MS, CONNECTIONS and WAITING must be numbers above 0", errno_code(EINVAL));
  }
  Loop loop;
  Proxy proxy(loop, upstream, asking);
  HttpServerOptions options;
  options.remember_peer = true;
  options.answer_timeout = {};             // no limit: HttpClient's deadlines limit how long the upstream takes
  options.limits.body_bytes = UINT64_MAX;  // no limit: bodies are not stored here, and the upstream limits them
  const auto pass_on = [&proxy](HttpExchange& exchange) { proxy(exchange); };
  Router router(pass_on);
  router.add("CONNECT", "/", pass_on);
  HttpServer server(loop, std::move(router), options);
  if (!examples::listen(server.server(), examples::argument(argc, argv, 2, "127.0.0.1:8088"))) return 1;
  return examples::run(loop);
}
