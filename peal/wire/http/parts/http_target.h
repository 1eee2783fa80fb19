// SPDX-License-Identifier: BSD-3-Clause
// Functions that check and split a request target (RFC 9112 3.2) and the authority in a target or a Host field.
#pragma once

#include <string_view>

#include <peal/wire/http/http_method.h>

namespace peal::detail {

// Returns true if `text` is a host with an optional port: uri-host [":" port] (RFC 9110 7.2). The host is a name, an
// IPv4 address or an IPv6 address in brackets, and may be empty. The port is at most 65535; the digits after the colon
// may be missing.
bool is_http_authority(std::string_view text);

struct HttpTargetParts {
  std::string_view path;
  std::string_view query;
  std::string_view authority;
};

// Splits a target that does not begin with '/' or belongs to CONNECT. The caller has checked that all bytes of the
// target are in kTargetBytes. Returns false unless the target has one of these forms:
// - authority-form, for CONNECT;
// - asterisk-form, for OPTIONS;
// - absolute-form with http or https, for all methods except CONNECT.
bool split_http_target(HttpMethod method, std::string_view target, HttpTargetParts& parts);

}  // namespace peal::detail
