// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/middleware/request_ids.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <string_view>
#include <utility>

#include <peal/base/bad_value.h>
#include <peal/wire/http/http_field.h>

namespace peal {
namespace {

bool is_id(std::string_view text) {
  constexpr std::string_view kOthers = "-_.:";
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [&](char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           kOthers.find(byte) != std::string_view::npos;
  });
}

// Writes the number in hexadecimal digits so that the last one ends before `end`. The text must hold zeros already:
// leading zeros are not written.
void write_hex(uint64_t number, char* end) {
  for (; number != 0; number >>= 4) *--end = "0123456789abcdef"[number & 15];
}

class RequestIds {
 public:
  explicit RequestIds(const RequestIdOptions& options) : options_(options), first_half_(options.seed) {
    const auto is_servers = [&](std::string_view own) { return same_field_name(options.field, own); };
    if (!is_sendable({options.field, ""}) || std::ranges::any_of(kServerFields, is_servers))
      throw_bad_value("'{}' cannot carry a request id: it is no field name, or the server sets it", options.field);
    if (options.seed != 0) return;
    std::random_device random;
    first_half_ = uint64_t{random()} << 32 | random();
  }

  void operator()(HttpExchange& exchange, HttpNext next) const {
    RequestId& id = exchange.attach(make(exchange.request()));
    exchange.set_field(options_.field, id.text);
    next(exchange);
  }

 private:
  RequestId make(const HttpRequestHead& head) const {
    if (options_.takes_clients) {
      const auto said = head.find(options_.field);
      if (said && is_id(*said)) return {std::string(*said)};
    }
    std::string text(32, '0');
    write_hex(first_half_, text.data() + 16);
    write_hex(count_.fetch_add(1, std::memory_order_relaxed), text.data() + 32);
    return {std::move(text)};
  }

  const RequestIdOptions options_;
  uint64_t first_half_;
  mutable std::atomic<uint64_t> count_ = 0;
};

}  // namespace

HttpMiddleware request_ids(const RequestIdOptions& options) {
  return [ids = std::make_shared<const RequestIds>(options)](HttpExchange& exchange, HttpNext next) {
    (*ids)(exchange, next);
  };
}

}  // namespace peal
