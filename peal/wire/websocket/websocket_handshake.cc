// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/websocket/websocket_handshake.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <peal/wire/base64.h>
#include <peal/wire/parts/http_text.h>
#include <peal/wire/websocket/parts/sha1.h>

namespace peal {
namespace {

constexpr std::string_view kWebSocketGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr size_t kWebSocketKeyBytes = 16;

bool is_field(std::string_view name, std::string_view lower) { return detail::equals_lower(name, lower); }

// Returns true if the comma-separated list contains the element `lower`, which is in lower case. The case of letters in
// the list does not matter.
bool list_has(std::string_view list, std::string_view lower) {
  for (std::string_view element; detail::next_element(list, element);) {
    if (detail::equals_lower(element, lower)) return true;
  }
  return false;
}

// Adds the value of one field line to `list`. A peer may spread a list over several lines (RFC 9110 5.3).
void add_to_list(std::string& list, std::string_view more) {
  if (!list.empty()) list += ", ";
  list += more;
}

WebSocketRefusal bad_request(std::string_view why) { return {.status = 400, .why = std::string(why)}; }

// The fields of a server's response that matter for the handshake.
struct ResponseFields {
  std::string accept;
  std::string protocol;
  std::string extensions;
  bool upgrades = false;    // true if there is "Upgrade: websocket"
  bool connection = false;  // true if there is "Connection: upgrade"
  bool repeats = false;     // true if `accept` or `protocol` was sent twice
};

void take_response_field(const std::string_view name, std::string_view value, ResponseFields& fields) {
  const auto once = [&](std::string& text) {
    fields.repeats = fields.repeats || !text.empty();
    text = value;
  };
  if (is_field(name, "upgrade")) fields.upgrades = fields.upgrades || detail::equals_lower(value, "websocket");
  if (is_field(name, "connection")) fields.connection = fields.connection || list_has(value, "upgrade");
  if (is_field(name, "sec-websocket-accept")) once(fields.accept);
  if (is_field(name, "sec-websocket-protocol")) once(fields.protocol);
  if (is_field(name, "sec-websocket-extensions")) add_to_list(fields.extensions, value);
}

// Returns the status in a line such as "HTTP/1.1 404 Not Found" with its CR LF. Returns 0 if it is not a status line.
int status_of_line(std::string_view line) {
  const bool fits = line.size() >= 14 && line.starts_with("HTTP/1.") && detail::is_digit(line[7]) && line[8] == ' ' &&
                    detail::is_digit(line[9]) && detail::is_digit(line[10]) && detail::is_digit(line[11]) &&
                    (line[12] == ' ' || line[12] == '\r') && detail::ends_in_crlf(line);
  return fits ? (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0') : 0;
}

// Returns the status of the response and sets `fields`. Returns 0 if `head` is not a complete, well-formed head.
int read_response_head(std::string_view head, ResponseFields& fields) {
  bool first = true;
  int status = 0;
  while (!head.empty()) {
    const std::string_view line = head.substr(0, std::min(head.find('\n'), head.size() - 1) + 1);
    head.remove_prefix(line.size());
    if (line == "\r\n") return status;
    if (std::exchange(first, false)) {
      status = status_of_line(line);
      if (status == 0) return 0;
      continue;
    }
    HttpField field;
    if (split_field_line(line, field) != HttpParseError::kNone) return 0;
    take_response_field(field.name, field.value, fields);
  }
  return 0;
}

}  // namespace

std::string websocket_accept(std::string_view key) {
  const detail::Sha1Digest digest = detail::sha1(std::string(key).append(kWebSocketGuid));
  return base64_encode({digest.data(), digest.size()});
}

void WebSocketRequestFields::take(const HttpField& field) {
  if (is_field(field.name, "upgrade")) upgrades_ = upgrades_ || list_has(field.value, "websocket");
  if (is_field(field.name, "connection")) connection_ = connection_ || list_has(field.value, "upgrade");
  if (is_field(field.name, "origin")) origin_ = field.value;
  if (is_field(field.name, "sec-websocket-version")) add_to_list(version_, field.value);
  if (is_field(field.name, "sec-websocket-protocol")) add_to_list(protocols_, field.value);
  if (is_field(field.name, "sec-websocket-extensions")) add_to_list(extensions_, field.value);
  if (is_field(field.name, "sec-websocket-key")) {
    key_ = field.value;
    ++keys_;
  }
}

std::optional<WebSocketRefusal> WebSocketRequestFields::refusal(bool is_get, int minor_version) const {
  if (!is_get || minor_version < 1) return bad_request("a WebSocket handshake is a GET of HTTP/1.1");
  if (!upgrades_ || !connection_) {
    return WebSocketRefusal{.status = 426, .why = "send \"Upgrade: websocket\" and \"Connection: Upgrade\""};
  }
  if (version_ != kWebSocketVersion) {
    return WebSocketRefusal{.status = 426,
                            .why = fmt::format("only version {} of WebSocket is supported", kWebSocketVersion)};
  }
  const auto key = base64_decode(key_);
  if (keys_ != 1 || !key || key->size() != kWebSocketKeyBytes) {
    return bad_request("Sec-WebSocket-Key is not base64 of 16 bytes");
  }
  return std::nullopt;
}

std::string_view WebSocketRequestFields::choose_protocol(std::span<const std::string> known) const {
  for (const std::string& protocol : known) {
    std::string_view offered = protocols_;
    for (std::string_view element; detail::next_element(offered, element);) {
      if (element == protocol) return protocol;
    }
  }
  return {};
}

std::expected<std::string, std::string> compose_websocket_request(const WebSocketRequest& request) {
  HttpRequest http{.target = request.target, .host = request.host};
  http.fields = {{"Upgrade", "websocket"},
                 {"Connection", "Upgrade"},
                 {"Sec-WebSocket-Key", request.key},
                 {"Sec-WebSocket-Version", std::string(kWebSocketVersion)}};
  if (!request.origin.empty()) http.fields.push_back({"Origin", request.origin});
  if (!request.protocols.empty()) {
    for (auto at = request.protocols.begin(); at != request.protocols.end(); ++at) {
      if (!detail::is_token(*at)) return std::unexpected(fmt::format("\"{}\" is not a subprotocol's name", *at));
      if (std::find(request.protocols.begin(), at, *at) != at) {
        return std::unexpected(fmt::format("the subprotocol {} is named twice", *at));
      }
    }
    http.fields.push_back({"Sec-WebSocket-Protocol", fmt::format("{}", fmt::join(request.protocols, ", "))});
  }
  if (request.deflate.enabled) {
    http.fields.push_back({"Sec-WebSocket-Extensions", websocket_deflate_offer(request.deflate)});
  }
  http.fields.insert(http.fields.end(), request.fields.begin(), request.fields.end());
  return compose_http_request(http);
}

std::expected<WebSocketAgreement, WebSocketRefusal> read_websocket_response(std::string_view head,
                                                                            const WebSocketRequest& request) {
  ResponseFields fields;
  const int status = read_response_head(head, fields);
  const auto refused = [status](std::string_view why) {
    return std::unexpected(WebSocketRefusal{.status = status, .why = std::string(why)});
  };
  if (status == 0) return refused("the answer is not HTTP/1.1");
  // HTTP/1.0 has no status 101 and no change of protocol (RFC 9110 7.8).
  if (status == 101 && head.starts_with("HTTP/1.0")) return refused("the answer is not HTTP/1.1");
  if (status != 101) return std::unexpected(WebSocketRefusal{status, fmt::format("the server answered {}", status)});
  if (!fields.upgrades || !fields.connection) return refused("the server did not change to WebSocket");
  if (fields.repeats) return refused("the answer repeats Sec-WebSocket-Accept or Sec-WebSocket-Protocol");
  if (fields.accept != websocket_accept(request.key)) return refused("Sec-WebSocket-Accept is wrong");
  WebSocketAgreement agreement;
  if (!fields.protocol.empty() && std::ranges::find(request.protocols, fields.protocol) == request.protocols.end()) {
    return refused("the server chose a subprotocol that was not offered");
  }
  agreement.protocol = fields.protocol;
  if (fields.extensions.empty()) return agreement;
  if (request.deflate.enabled) agreement.deflate = read_websocket_deflate_answer(fields.extensions, request.deflate);
  if (!agreement.deflate) return refused("the server chose an extension that was not offered");
  return agreement;
}

}  // namespace peal
