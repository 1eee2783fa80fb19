// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/websocket/websocket_deflate_terms.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

constexpr std::string_view kDeflateName = "permessage-deflate";
constexpr uint8_t kMostWindowBits = 15;

struct ExtensionParameter {
  std::string_view name;
  std::optional<std::string_view> value;
};

// Splits a list of extensions (RFC 6455 9.1) into the extensions and their parameters.
class ExtensionReader {
 public:
  explicit ExtensionReader(std::string_view text) : left_(text) {}

  // Reads the next extension. Returns false at the end of the list, and also at a syntax error. malformed() tells
  // whether there was an error.
  bool next() {
    do skip_space();
    while (skip(','));
    if (left_.empty() || malformed_) return false;
    parameters_.clear();
    malformed_ = !take_token(name_);
    while (!malformed_ && skip(';')) malformed_ = !take_parameter();
    malformed_ = malformed_ || (!left_.empty() && left_.front() != ',');
    return !malformed_;
  }
  bool malformed() const { return malformed_; }
  std::string_view name() const { return name_; }
  const std::vector<ExtensionParameter>& parameters() const { return parameters_; }

 private:
  void skip_space() {
    while (!left_.empty() && detail::is_blank(left_.front())) left_.remove_prefix(1);
  }
  bool skip(char what) {
    if (left_.empty() || left_.front() != what) return false;
    left_.remove_prefix(1);
    skip_space();
    return true;
  }
  bool take_token(std::string_view& token) {
    token = left_.substr(0, std::min(left_.find_first_of(" \t,;=\""), left_.size()));
    left_.remove_prefix(token.size());
    skip_space();
    return detail::is_token(token);
  }
  // Reads a parameter. A quoted value must be a token too when its quotes are removed (RFC 6455 9.1), so it contains no
  // escapes.
  bool take_parameter() {
    ExtensionParameter& parameter = parameters_.emplace_back();
    if (!take_token(parameter.name)) return false;
    if (!skip('=')) return true;
    if (left_.empty() || left_.front() != '"') return take_token(parameter.value.emplace());
    left_.remove_prefix(1);
    return take_token(parameter.value.emplace()) && skip('"');
  }

  std::string_view left_;
  std::string_view name_;
  std::vector<ExtensionParameter> parameters_;
  bool malformed_ = false;
};

// The parameters of one offer or answer. If the text has no number for server_bits or client_bits, that member is 0.
struct DeflateParameters {
  bool server_no_context_takeover = false;
  bool client_no_context_takeover = false;
  bool has_client_bits = false;  // true if client_max_window_bits is present, with a value or without
  uint8_t server_bits = 0;
  uint8_t client_bits = 0;
};

// Returns the number of window bits that `text` contains: 8 to 15 without leading zeros (RFC 7692 7.1.2). Returns 0 for
// any other text.
uint8_t read_window_bits(std::string_view text) {
  if (text == "8" || text == "9") return static_cast<uint8_t>(text[0] - '0');
  const bool fits = text.size() == 2 && text[0] == '1' && text[1] >= '0' && text[1] <= '5';
  return fits ? static_cast<uint8_t>(10 + text[1] - '0') : uint8_t{0};
}

// Returns the parameters of an offer or an answer. Returns nullopt if a parameter is unknown, repeated or invalid. RFC
// 7692 7.1 says that a server declines such an offer and a client fails the connection.
std::optional<DeflateParameters> read_deflate_parameters(const std::vector<ExtensionParameter>& parameters,
                                                         bool is_offer) {
  DeflateParameters read;
  for (const ExtensionParameter& parameter : parameters) {
    const auto& value = parameter.value;
    if (parameter.name == "server_no_context_takeover") {
      if (value || std::exchange(read.server_no_context_takeover, true)) return std::nullopt;
    } else if (parameter.name == "client_no_context_takeover") {
      if (value || std::exchange(read.client_no_context_takeover, true)) return std::nullopt;
    } else if (parameter.name == "server_max_window_bits") {
      if (read.server_bits != 0 || !value) return std::nullopt;
      read.server_bits = read_window_bits(*value);
      if (read.server_bits == 0) return std::nullopt;
    } else if (parameter.name == "client_max_window_bits") {
      if (std::exchange(read.has_client_bits, true) || (!value && !is_offer)) return std::nullopt;
      if (!value) continue;
      read.client_bits = read_window_bits(*value);
      if (read.client_bits == 0) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return read;
}

// Returns `bits`, or the number of the largest window if `bits` is 0 because the parameter is absent.
uint8_t bits_or_most(uint8_t bits) { return bits == 0 ? kMostWindowBits : bits; }

// Accepts a valid offer and composes the answer. The terms are those of the offer, restricted further by `options`.
WebSocketDeflateChoice answer_deflate_offer(const DeflateParameters& offer, const WebSocketDeflateOptions& options) {
  WebSocketDeflateChoice choice;
  WebSocketDeflateTerms& terms = choice.terms;
  terms.server_no_context_takeover = offer.server_no_context_takeover || !options.context_takeover;
  terms.client_no_context_takeover = offer.client_no_context_takeover || !options.context_takeover;
  terms.server_max_window_bits = std::min(bits_or_most(offer.server_bits), options.window_bits);
  terms.client_max_window_bits = bits_or_most(offer.client_bits);
  choice.answer = kDeflateName;
  if (terms.server_no_context_takeover) choice.answer += "; server_no_context_takeover";
  if (terms.client_no_context_takeover) choice.answer += "; client_no_context_takeover";
  if (offer.server_bits != 0 || terms.server_max_window_bits < kMostWindowBits) {
    choice.answer += fmt::format("; server_max_window_bits={}", terms.server_max_window_bits);
  }
  if (offer.client_bits != 0) choice.answer += fmt::format("; client_max_window_bits={}", offer.client_bits);
  return choice;
}

}  // namespace

std::optional<WebSocketDeflateChoice> choose_websocket_deflate(std::string_view offers,
                                                               const WebSocketDeflateOptions& options) {
  if (!options.enabled) return std::nullopt;
  std::optional<WebSocketDeflateChoice> choice;
  ExtensionReader reader(offers);
  while (reader.next()) {
    if (choice || reader.name() != kDeflateName) continue;
    if (const auto offer = read_deflate_parameters(reader.parameters(), true)) {
      choice = answer_deflate_offer(*offer, options);
    }
  }
  if (reader.malformed()) choice.reset();
  return choice;
}

std::string websocket_deflate_offer(const WebSocketDeflateOptions& options) {
  std::string offer(kDeflateName);
  if (!options.context_takeover) offer += "; server_no_context_takeover; client_no_context_takeover";
  offer += "; client_max_window_bits";
  if (options.window_bits < kMostWindowBits) offer += fmt::format("={}", options.window_bits);
  return offer;
}

std::optional<WebSocketDeflateTerms> read_websocket_deflate_answer(std::string_view answer,
                                                                   const WebSocketDeflateOptions& options) {
  ExtensionReader reader(answer);
  if (!reader.next() || reader.name() != kDeflateName) return std::nullopt;
  const auto said = read_deflate_parameters(reader.parameters(), false);
  if (!said || reader.next() || reader.malformed()) return std::nullopt;
  // The answer must comply with the offer: with server_no_context_takeover, and with the largest window of the client
  // (RFC 7692 7.1.1.1 and 7.1.2.2).
  if (!options.context_takeover && !said->server_no_context_takeover) return std::nullopt;
  if (said->client_bits > options.window_bits) return std::nullopt;
  return WebSocketDeflateTerms{
      .server_no_context_takeover = said->server_no_context_takeover,
      .client_no_context_takeover = said->client_no_context_takeover || !options.context_takeover,
      .server_max_window_bits = bits_or_most(said->server_bits),
      .client_max_window_bits = bits_or_most(said->client_bits)};
}

}  // namespace peal
