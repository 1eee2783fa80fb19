// SPDX-License-Identifier: BSD-3-Clause
// What a request says in its Accept-Encoding fields.
#pragma once

#include <peal/wire/content/content_coding.h>
#include <peal/wire/http/http_request_head.h>

namespace peal::detail {

inline AcceptedCodings accepted_codings(const HttpRequestHead& request) {
  AcceptedCodings accepted;
  for (const HttpField field : request.fields()) {
    if (same_field_name(field.name, "accept-encoding")) accepted.take(field.value);
  }
  return accepted;
}

}  // namespace peal::detail
