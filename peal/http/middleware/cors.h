// SPDX-License-Identifier: BSD-3-Clause
// cors(): middleware for cross-origin resource sharing (the Fetch standard, 3.3). It lets scripts of other origins call
// this server's routes from a browser and read the answers.
//
//   api.use(peal::cors({.origins = {"https://app.example"}, .headers = {"Content-Type"}, .credentials = true}));
//
// The middleware answers a preflight (OPTIONS with Origin and Access-Control-Request-Method) itself, without calling
// what follows: 204 if the origin is allowed, 403 otherwise. Add it before authentication, because a browser sends a
// preflight without credentials.
//
// All other requests are passed on, whatever their origin. A browser sends such a request in any case; without
// permission it only hides the answer from the script. So cors() decides who may read answers. It does not protect
// routes from being called.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <peal/http/server/http_handler.h>

namespace peal {

struct CorsOptions {
  // Origins whose scripts may read answers, as a browser sends them in Origin: "https://app.example",
  // "http://localhost:3000". They are compared byte for byte. A single "*" allows every origin.
  std::vector<std::string> origins;
  // Methods that scripts of the allowed origins may use.
  std::vector<std::string> methods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
  // Request fields that scripts of the allowed origins may set, besides those that the Fetch standard always allows.
  // "*" allows all except Authorization.
  std::vector<std::string> headers = {};
  // Fields of an answer that scripts of the allowed origins may read, besides those that the Fetch standard always
  // allows.
  std::vector<std::string> exposed = {};
  // True if requests may carry cookies and Authorization. Cannot be combined with "*": browsers refuse that.
  bool credentials = false;
  // How long a browser remembers a preflight's answer.
  std::chrono::seconds max_age = std::chrono::minutes(10);
};

// Throws std::invalid_argument in these cases:
//   - `origins` is empty, or has "*" beside other origins.
//   - `credentials` is set, and `origins`, `headers` or `exposed` is {"*"}.
//   - A text has characters that no field may hold.
//   - `max_age` is negative.
HttpMiddleware cors(const CorsOptions& options);

}  // namespace peal
