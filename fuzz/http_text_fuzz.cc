// SPDX-License-Identifier: BSD-3-Clause
// URLs and request heads from any text. What is accepted must be safe to send. A URL that is written as text must be
// read as the same URL again, and so must a URL to which a reference was resolved.
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
    PEAL_ASSERT(again.has_value(), "the URL is not accepted again: {}", again.error());
    PEAL_ASSERT(again->host == url->host && again->port == url->port && again->target == url->target,
                "{} is read differently the second time", url->authority());
    const auto text = peal::compose_http_request({.target = url->target, .host = url->authority()});
    PEAL_ASSERT(text.has_value(), "no request can be composed: {}", text.error());
  }
  static const peal::HttpUrl base = peal::HttpUrl::parse("http://h/a/b?c").value();
  if (const auto url = base.resolve(input)) {
    const auto again = peal::HttpUrl::parse(url->to_string());
    PEAL_ASSERT(again.has_value() && again->target == url->target, "{} is read differently the second time",
                url->to_string());
  }
  // Splits the input at NUL into five texts: method, target, host, and the name and the value of a field. A line end in
  // one of them must not get into the request, which has at most five lines.
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
  PEAL_ASSERT(lines <= 5, "the request has {} lines", lines);
  return 0;
}
