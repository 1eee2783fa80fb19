// SPDX-License-Identifier: BSD-3-Clause
// The forms of a request target (RFC 9112 3.2) and the authority that one of them, or a Host field, holds.
#pragma once

#include <string_view>

#include <peal/wire/http/http_method.h>

namespace peal::detail {

// uri-host [":" port] (RFC 9110 7.2), which may be empty: a name, an IPv4 address or an IPv6 address in brackets; the
// port at most 65535, or left out behind its colon.
bool is_http_authority(std::string_view text);

struct HttpTargetParts {
  std::string_view path;
  std::string_view query;
  std::string_view authority;
};
// Takes a target apart that does not begin with '/' and is visible ASCII without '#': authority-form only of CONNECT,
// asterisk-form only of OPTIONS, else absolute-form with http or https. False where it is none.
bool split_http_target(HttpMethod method, std::string_view target, HttpTargetParts& parts);

}  // namespace peal::detail
