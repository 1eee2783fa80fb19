// SPDX-License-Identifier: BSD-3-Clause
// CallStats: how one method of an RPC server, or one route of an HTTP server, was called. The inspector has pages and
// graphs of the same kind for both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/inspect/parts/snapshot.h>
#include <peal/observe/histogram.h>

namespace peal::detail {

struct CallCounts {
  uint64_t calls = 0;
  std::optional<uint64_t> client_errors;  // answers 4xx; empty if the protocol does not count them
  uint64_t server_errors = 0;             // answers 5xx, or calls that failed
};

// A method or a route of a snapshot.
struct CallView {
  std::string name;  // a method: "package.Service.Method"; a route: route_name()
  CallCounts counts;
  const Histogram& latency;  // of the snapshot, in nanoseconds
};

// CallStats has the same values as a CallView, and outlives the snapshot.
struct CallStats {
  std::string name;
  CallCounts counts;
  Histogram latency{{.lowest = 1'000, .significant_digits = 2}};
};

// Names a method or a route of a server.
struct CallsName {
  size_t server = 0;
  std::string name;

  bool operator==(const CallsName&) const = default;
};

// Returns the name of a route, such as "GET /users/{id}". A route that takes any method is "(any) /users/{id}". The
// name is "no route" for requests that no route took, whose pattern is empty.
std::string route_name(std::string_view method, std::string_view pattern);

// Returns the methods and the routes of a server, which must live as long as the result is used.
std::vector<CallView> calls_of(const ServerSnapshot& server);

// Returns the sum of all calls, without a name. Latencies whose options are not those of CallStats::latency are left
// out.
CallStats sum_of(const std::vector<CallView>& calls);

}  // namespace peal::detail
