// SPDX-License-Identifier: BSD-3-Clause
// panic_page: for who develops: what a handler threw, and where, in the browser that asked.
//
//   if (develops) router.error_page(peal::panic_page());
//
// It is for 500 after an exception alone, and shown only to clients on this machine and through no proxy that says it
// is one, unless asked for otherwise: others get the default page. The stack is there for a peal::Exception. The values
// of Cookie and Authorization are left out.
#pragma once

#include <peal/base/callback.h>
#include <peal/http/server/http_exchange.h>

namespace peal {

struct PanicPageOptions {
  bool loopback_only = true;
};

SharedCallback<void(HttpExchange&, int status)> panic_page(const PanicPageOptions& options = {});

}  // namespace peal
