// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/parts/http_redirect.h>

#include <algorithm>
#include <array>
#include <span>

#include <peal/wire/http/http_field.h>

namespace peal::detail {
namespace {

constexpr std::array<std::string_view, 6> kOfBodies = {"Content-Type",     "Content-Encoding", "Content-Language",
                                                       "Content-Location", "Content-Range",    "Digest"};
constexpr std::array<std::string_view, 4> kOfOrigins = {"Authorization", "Proxy-Authorization", "Cookie", "Host"};
constexpr std::array<std::string_view, 1> kOfTls = {"Referer"};

void erase_fields(HttpClientRequest& request, std::span<const std::string_view> names) {
  std::erase_if(request.fields, [&](const HttpRequestField& field) {
    return std::ranges::any_of(names, [&](std::string_view name) { return same_field_name(field.name, name); });
  });
}

}  // namespace

std::string_view redirected_method(int status, std::string_view method) {
  if (status == 303 && method != "HEAD") return "GET";
  if ((status == 301 || status == 302) && method == "POST") return "GET";
  return method;
}

void redirect(HttpClientRequest& request, int status, const HttpUrl& from, const HttpUrl& to) {
  const std::string_view method = redirected_method(status, request.method);
  if (method != request.method) {
    request.method = method;
    request.body.clear();
    request.streamed = false;
    request.streamed_bytes.reset();
    erase_fields(request, kOfBodies);
  }
  request.target.clear();
  if (to.is_same_origin(from)) return;
  request.connect_to.clear();
  erase_fields(request, kOfOrigins);
  if (from.is_https() && !to.is_https()) erase_fields(request, kOfTls);
}

}  // namespace peal::detail
