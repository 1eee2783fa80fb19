// SPDX-License-Identifier: BSD-3-Clause
// panic_page(): an error page for development. It shows in the browser which exception a handler threw, and where.
//
//   if (develops) router.error_page(peal::panic_page());
//
// The page is shown only for an answer of 500 after an exception, and by default only to clients on this machine
// (is_from_here() of local_client.h). All other errors and clients get the default page. A stack trace is shown if the
// exception is a peal::Exception. The values of Cookie, Authorization and Proxy-Authorization are left out.
#pragma once

#include <peal/base/callback.h>
#include <peal/http/server/http_exchange.h>

namespace peal {

struct PanicPageOptions {
  // False shows the page to every client: exception texts and stack traces then leave the machine.
  bool loopback_only = true;
};

// Pass the result to HttpRouter::error_page(). It may be called on several loops at the same time.
SharedCallback<void(HttpExchange&, int status)> panic_page(const PanicPageOptions& options = {});

}  // namespace peal
