// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_method.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace peal {
namespace {

constexpr std::array<std::string_view, kHttpMethods> kMethodNames = {"GET",     "HEAD",    "POST",  "PUT",   "DELETE",
                                                                     "CONNECT", "OPTIONS", "TRACE", "PATCH", ""};

}  // namespace

std::string_view to_string(HttpMethod method) { return kMethodNames[static_cast<uint8_t>(method)]; }

HttpMethod http_method(std::string_view name) {
  const auto* found = std::ranges::find(kMethodNames, name);
  return static_cast<HttpMethod>(std::min<std::ptrdiff_t>(found - kMethodNames.begin(), kHttpMethods - 1));
}

}  // namespace peal
