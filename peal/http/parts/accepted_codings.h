// SPDX-License-Identifier: BSD-3-Clause
// accepted_codings(): the content codings that a request's Accept-Encoding fields accept (RFC 9110 12.5.3).
#pragma once

#include <peal/wire/content/content_coding.h>
#include <peal/wire/http/http_request_head.h>

namespace peal::detail {

// A request may have several Accept-Encoding fields: they count as one list.
inline AcceptedCodings accepted_codings(const HttpRequestHead& request) {
  AcceptedCodings accepted;
  for (const HttpField field : request.fields()) {
    if (same_field_name(field.name, "accept-encoding")) accepted.take(field.value);
  }
  return accepted;
}

}  // namespace peal::detail
