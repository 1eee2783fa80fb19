// SPDX-License-Identifier: BSD-3-Clause
// Cross-origin resource sharing (the Fetch standard, 3.3): pages of other origins may call this server's routes, from
// a browser.
//
//   api.use(peal::cors({.origins = {"https://app.example"}, .headers = {"Content-Type"}, .credentials = true}));
//
// A preflight (OPTIONS with Origin and Access-Control-Request-Method) is answered here, 204, and goes no further; so
// this stands before authentication, which a preflight never has. Its origin not being one of these, it is 403. Other
// requests are passed on whatever their origin: what a browser does not show a page it has sent all the same, so this
// guards readers, not routes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <peal/http/server/http_handler.h>

namespace peal {

struct CorsOptions {
  // As a browser sends them, compared byte for byte: "https://app.example", "http://localhost:3000"; or one "*".
  std::vector<std::string> origins;
  std::vector<std::string> methods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
  // Fields that a page may send besides what any form can; "*": all but Authorization.
  std::vector<std::string> headers = {};
  // Fields of answers that a page may read besides the usual ones.
  std::vector<std::string> exposed = {};
  // With cookies and Authorization. Not for "*", which browsers refuse.
  bool credentials = false;
  // How long a browser remembers a preflight's answer.
  std::chrono::seconds max_age = std::chrono::minutes(10);
};

// std::invalid_argument: no origin; "*" beside other origins, or anywhere with credentials; what no field may hold.
HttpMiddleware cors(const CorsOptions& options);

}  // namespace peal
