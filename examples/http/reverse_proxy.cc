// SPDX-License-Identifier: BSD-3-Clause
// A reverse proxy to one upstream: `reverse_proxy UPSTREAM [ADDRESS [PATIENCE_MS [CONNECTIONS [WAITING]]]]`, UPSTREAM
// as in 127.0.0.1:9000, name:80 or unix:/run/service.sock. PATIENCE_MS is for the first byte of an answer, and for a
// connection to get free; CONNECTIONS to the upstream at most, and so many requests that WAIT for one.
//
//   client ◄── HttpExchange ──── Relay ──── HttpFetch ──► upstream
//
// Bodies pass through in pieces, both ways: who reads slowly slows the other down, and no more than a high-water mark
// is held. Connections to the upstream are kept. What becomes another protocol (WebSocket), and CONNECT, is joined by
// pipe(). A TRACE or OPTIONS goes no further than its Max-Forwards allows. Fields that concern one connection only stay
// behind (RFC 9110 7.6.1). Interim answers are passed on (15.2). An upstream that is not there or talks nonsense is
// answered 502, one that takes too long 504, and a crowd that waits for it 503. A client may be gone, or have been
// answered by the server, whenever the upstream says something: what is kept of it is a handle.
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

// Whether a Connection field among the lines names it, or it is always meant for one connection.
class HopByHop {
 public:
  // Those of a request or an answer: Connection's values, joined by commas.
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

int status_of(std::error_code error) {
  for (const HttpTrouble late : {HttpTrouble::kConnectTimeout, HttpTrouble::kFirstByteTimeout,
                                 HttpTrouble::kTotalTimeout, HttpTrouble::kStalled}) {
    if (error == late) return 504;
  }
  if (error == HttpTrouble::kQueueFull || error == HttpTrouble::kQueueTimeout) return 503;
  return error == Trouble::kNoAnswer ? 504 : 502;
}

// How many may still pass a TRACE or OPTIONS on, where it says so (RFC 9110 7.6.2). EINVAL: twice, or no number.
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

// To whoever asked how far the request comes: no further than here (RFC 9110 9.3.7, 9.3.8).
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

// What takes a connection over after the answer that changes the protocol.
class Tunnel final : public UpgradeHandler {
 public:
  explicit Tunnel(HttpFetch& fetch) : fetch_(fetch) {}
  void on_start(Connection& client) override {
    Connection* const upstream = fetch_.tunnel();
    if (upstream == nullptr || !pipe(client, *upstream)) client.close();
  }
  void on_data(Connection&, Buffer& input) override { input.clear(); }

 private:
  HttpFetch& fetch_;  // used inside on_start() only
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
      // Of other methods it is passed on as it came.
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

  // Client and upstream are on one loop, where the handle acts at once, or not at all.
  static HttpFetchCallbacks callbacks(const HttpExchangeHandle& asker) {
    HttpFetchCallbacks callbacks;
    callbacks.on_interim = [asker](HttpFetch&, const HttpResponseHead& head) {
      // A 100 answers an Expect, which stays here.
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
        exchange.begun() ? exchange.abort() : exchange.respond(status_of(how.error()));
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

  // RFC 9110 15.2: a proxy passes interim answers on.
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

// `otherwise` where there is no such argument; 0 where it is no number.
size_t number(int argc, char** argv, int index, size_t otherwise) {
  return parse_text<size_t>(examples::argument(argc, argv, index, std::to_string(otherwise))).value_or(0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string upstream = examples::argument(argc, argv, 1, "");
  if (const auto named = HostPort::parse(upstream); !named && !SocketAddress::parse(upstream)) {
    return examples::failed("no upstream '" + upstream + "'", named.error());
  }
  HttpClientOptions asking;
  const std::chrono::milliseconds patience(std::min<size_t>(number(argc, argv, 3, 60'000), 1'000'000'000));
  asking.deadlines.first_byte = patience;
  asking.deadlines.queue = std::min<Duration>(asking.deadlines.queue, patience);
  asking.most_per_origin = asking.most_connections = number(argc, argv, 4, asking.most_connections);
  asking.most_waiting = number(argc, argv, 5, asking.most_waiting);
  asking.client.connect_timeout = std::chrono::seconds(5);
  if (patience.count() == 0 || asking.most_connections == 0 || asking.most_waiting == 0) {
    return examples::failed("reverse_proxy", errno_code(EINVAL));
  }
  Loop loop;
  Proxy proxy(loop, upstream, asking);
  HttpServerOptions options;
  options.remember_peer = true;
  options.answer_timeout = {};             // the client's deadlines say how long the upstream may take
  options.limits.body_bytes = UINT64_MAX;  // the upstream's business: nothing is kept here
  const auto pass_on = [&proxy](HttpExchange& exchange) { proxy(exchange); };
  Router router(pass_on);
  router.add("CONNECT", "/", pass_on);
  HttpServer server(loop, std::move(router), options);
  if (!examples::listen(server.server(), examples::argument(argc, argv, 2, "127.0.0.1:8088"))) return 1;
  return examples::run(loop);
}
