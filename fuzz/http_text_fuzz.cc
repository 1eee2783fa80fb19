// SPDX-License-Identifier: BSD-3-Clause
// URLs and request heads made of any text: what is taken is safe to send, and a URL put together again reads the same,
// also one that a reference leads to.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/http/http_request_text.h>
#include <peal/wire/uri/http_url.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto url = peal::HttpUrl::parse(input)) {
    const auto again = peal::HttpUrl::parse(url->scheme + "://" + url->authority() + url->target);
    PEAL_ASSERT(again.has_value(), "{}", again.error());
    PEAL_ASSERT(again->host == url->host && again->port == url->port && again->target == url->target,
                "{} reads otherwise", url->authority());
    const auto text = peal::compose_http_request({.target = url->target, .host = url->authority()});
    PEAL_ASSERT(text.has_value(), "{}", text.error());
  }
  static const peal::HttpUrl base = peal::HttpUrl::parse("http://h/a/b?c").value();
  if (const auto url = base.resolve(input)) {
    const auto again = peal::HttpUrl::parse(url->to_string());
    PEAL_ASSERT(again.has_value() && again->target == url->target, "{} reads otherwise", url->to_string());
  }
  // Four texts, cut where NUL stands, or at the end: a line end in any of them but the body must not get through.
  std::string_view rest = input;
  const auto next = [&] {
    const size_t end = std::min(rest.find('\0'), rest.size());
    const std::string part(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
  };
  peal::HttpRequest request{.method = next(), .target = next(), .host = next()};
  request.fields.push_back({.name = next(), .value = next()});
  const auto text = peal::compose_http_request(request);
  const auto lines = text ? std::ranges::count(*text, '\n') : 0;
  PEAL_ASSERT(lines <= 5, "{} lines of one field", lines);
  return 0;
}
