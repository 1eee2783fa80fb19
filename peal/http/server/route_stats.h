// SPDX-License-Identifier: BSD-3-Clause
// RouteFigures: how often the routes of an HttpServer were used on one loop, how long their requests took, and which
// requests took longest. HttpServer::measure_routes() begins to measure; nothing is measured before.
//
//   server.measure_routes();
//   ...
//   for (const auto& view : server.route_views()) peal::add_routes(sum, view().routes);  // each on its loop's thread
//
// To measure costs at most 40 instructions for each request that is answered at once, also with one request a turn. A
// request that is answered in a later turn costs about 150. The end of a request is the end of the loop's turn, at
// which the loop reads the clock for Loop::measure_turns(), about 150 instructions a turn. Each route that had requests
// has the memory of a Histogram. A server that does not measure pays nothing.
//
// These are plain structs for one thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/clock.h>
#include <peal/observe/histogram.h>

namespace peal {

// The RouteStats::pattern of the routes that are not measured one by one.
inline constexpr std::string_view kMoreRoutes = "(more routes)";

// The requests that one route of a Router took, on one loop.
struct RouteStats {
  std::string method;  // as it was added to the router; empty: the route takes any method
  // Such as "/users/{id:uint}". Empty: requests that no route took (404, 405, refused heads). kMoreRoutes: all routes
  // but the first 500 of the router, together.
  std::string pattern;

  uint64_t requests = 0;              // those that were answered or abandoned
  std::array<uint64_t, 6> answers{};  // final answers, by the first digit of their status; 101 is in answers[1]
  uint64_t abandoned = 0;             // requests whose connection ended before the answer was complete
  uint64_t response_body_bytes = 0;   // of complete answers, without the framing of chunks

  // The time from the begin of the turn that read the head to the end of the turn in which the answer was complete, in
  // nanoseconds, to two significant digits. It has neither abandoned requests nor EventStream answers. An answer of the
  // current turn is added when the turn ends, so this histogram may have a few values fewer than there are answers.
  Histogram latency{{.lowest = 1'000, .significant_digits = 2}};

  // Adds the counters of `other`, and leaves the name unchanged. Throws std::invalid_argument if the latencies have
  // different HistogramOptions.
  void add(const RouteStats& other);
};

// One of the requests that took longest.
struct SlowRequest {
  std::chrono::system_clock::time_point began;  // the wall clock's time of the turn that read the head
  Duration took{};                              // as RouteStats::latency; for an abandoned request, until its end
  std::string method;
  std::string target;        // as the client sent it, cut after 256 bytes; it may have any bytes that a target may have
  std::string route;         // the pattern of the route; empty: no route took the request
  std::string route_method;  // RouteStats::method of that route: a GET route also takes HEAD
  int status = 0;            // 0: the request was abandoned
  std::string client;  // the peer's address with its port; "unix:" for a unix socket; empty if it is not known any more
};

// The figures of one loop.
struct RouteFigures {
  // The routes that had requests, in the order in which they were added to the router. Then, if there were such
  // requests, those that no route took.
  std::vector<RouteStats> routes;

  // The slowest requests, the slowest first. They are at most 16, and ended in the last 5 to 10 minutes: they are
  // collected for 5 minutes, and kept for 5 more. If one turn reads and answers several requests, those that only
  // waited behind a slow one are left out. Requests that took less than 1 ms and EventStream answers are not listed.
  std::vector<SlowRequest> slowest;
};

// Adds each route in `more` to the route of the same method and pattern in `sum`. Routes that `sum` does not have are
// appended. Throws std::invalid_argument as RouteStats::add() does.
void add_routes(std::vector<RouteStats>& sum, const std::vector<RouteStats>& more);

}  // namespace peal
