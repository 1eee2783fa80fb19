// SPDX-License-Identifier: BSD-3-Clause
// The guide, page 8: the notebook over HTTP, fit to be left alone. `notes_production --help` tells its flags. SIGTERM
// lets what is under way finish, a second one does not wait; SIGINT ends at once.
#include <getopt.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fmt/core.h>

#include <peal/base/memory/memory_budget.h>
#include <peal/base/this_thread.h>
#include <peal/http/server/http_server.h>
#include <peal/inspect/inspector.h>
#include <peal/observe/stall_watchdog.h>
#include <peal/process/service_manager.h>

#include "notes_api.h"

namespace {

using namespace peal;
using std::chrono::seconds;

struct Flags {
  std::string listen = "127.0.0.1:8000";
  std::string inspect = "127.0.0.1:9990";
  seconds drain{30};
  size_t max_connections = 10'000;
  bool debug = false;  // two routes that take long
};

constexpr std::string_view kUsage =
    "notes_production [--listen ADDRESS] [--inspect ADDRESS] [--drain SECONDS] [--max-connections N] [--debug]\n"
    "The token of those who may delete is NOTES_TOKEN of the environment.\n";

// False: it was called wrongly, or asked how to.
bool read_flags(int argc, char** argv, Flags& flags) {
  constexpr option kLong[] = {
      {"listen", required_argument, nullptr, 'l'}, {"inspect", required_argument, nullptr, 'i'},
      {"drain", required_argument, nullptr, 'd'},  {"max-connections", required_argument, nullptr, 'm'},
      {"debug", no_argument, nullptr, 'D'},        {}};
  for (int flag = 0; (flag = ::getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
    switch (flag) {
      case 'l': flags.listen = optarg; break;
      case 'i': flags.inspect = optarg; break;
      case 'd': flags.drain = seconds(std::atoi(optarg)); break;
      case 'm': flags.max_connections = std::strtoul(optarg, nullptr, 10); break;
      case 'D': flags.debug = true; break;
      default: return false;
    }
  }
  return optind == argc && flags.drain >= seconds(0) && flags.max_connections > 0;
}

// [fds]
// One fd for each connection, and some for everything else. The soft limit is 1,024 by habit; the hard one is what the
// administrator means.
bool has_enough_fds(size_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= connections + 100;
}
// [fds]

// [options]
HttpServerOptions options(const Flags& flags) {
  HttpServerOptions options;
  options.max_connections = flags.max_connections;
  options.max_connections_per_address = std::max<size_t>(flags.max_connections / 10, 1);
  options.answer_timeout = seconds(10);   // no answer of ours takes so long; the default is 60
  options.limits.body_bytes = 16 * 1024;  // nor has any request of ours such a body; 1 MiB
  return options;
}
// [options]

// [stall]
// What a loop must never do: everybody else on it waits.
void stall(HttpExchange& exchange) {
  const TimePoint end = monotonic_now() + seconds(2);
  while (monotonic_now() < end) continue;
  exchange.respond(200, "text/plain", "that was long\n");
}

// What takes long and holds nobody up.
Task<> wait(HttpExchange& exchange) {
  exchange.begin(200, "text/plain");
  exchange.write("one moment\n");
  co_await sleep(seconds(2));
  exchange.write("done\n");
  exchange.end();
}
// [stall]

int failed(std::string_view what, std::error_code error) {
  PEAL_LOG_ERROR("{}: {}", what, error.message());
  return 1;
}

// [drain]
// Once: lets what is under way finish, and ends. Twice: ends.
Result<SignalId> drain_on_sigterm(Loop& loop, HttpServer& server, const ServiceManager& manager, seconds deadline) {
  return loop.on_signal(SIGTERM, [&loop, &server, &manager, deadline, asked = false]() mutable {
    if (std::exchange(asked, true)) return loop.stop();
    manager.stopping();
    PEAL_LOG_INFO("draining {} connections, for {} s at most", server.connections(), deadline.count());
    server.drain(deadline, [&loop](const DrainReport& report) {
      PEAL_LOG_INFO("drained: {} finished, {} cut off, {} bytes lost", report.finished, report.forced,
                    report.lost_bytes + report.lost_in_kernel_bytes);
      loop.stop();
    });
  });
}
// [drain]

int serve(const Flags& flags) {
  const char* token = std::getenv("NOTES_TOKEN");
  NotesApi api(token != nullptr ? token : "");
  Router router;
  api.add_routes(router);
  router.get("/healthz", [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "ok\n"); });
  if (flags.debug) router.get("/debug/stall", stall);
  if (flags.debug) router.get("/debug/wait", wait);

  // [watched]
  set_current_thread_name("notes");  // so the log, top -H and the inspector call this loop
  Loop loop;
  loop.enable_flight_recorder(4096);
  HttpServer server(loop, std::move(router), options(flags));
  auto watchdog = StallWatchdog::start();
  if (!watchdog) return failed("cannot watch for stalls", watchdog.error());
  (*watchdog)->watch(loop);
  auto inspector = Inspector::attach(server, flags.inspect, {.name = "notes"});
  if (!inspector) return failed("cannot show a page at " + flags.inspect, inspector.error());
  (*inspector)->add(**watchdog);
  // [watched]

  const ServiceManager manager;
  manager.watch(loop);
  const auto terminated = drain_on_sigterm(loop, server, manager, flags.drain);
  if (!terminated) return failed("cannot handle SIGTERM", terminated.error());
  const auto interrupted = loop.on_signal(SIGINT, [&loop] { loop.stop(); });
  if (!interrupted) return failed("cannot handle SIGINT", interrupted.error());

  const Result<SocketAddress> bound = server.listen(flags.listen);
  if (!bound) return failed("cannot listen on " + flags.listen, bound.error());
  PEAL_LOG_INFO("serving {}, inspected at http://{}/", bound->to_string(), (*inspector)->address().to_string());
  manager.ready();
  const Result<void> ran = loop.run();
  return ran ? 0 : failed("cannot run the loop", ran.error());
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  if (!read_flags(argc, argv, flags)) return fmt::print(stderr, "{}", kUsage), 2;
  if (!has_enough_fds(flags.max_connections)) {
    fmt::print(stderr, "this process may not open fds for {} connections: see ulimit -Hn\n", flags.max_connections);
    return 1;
  }
  // [memory]
  // A container's limit is not looked at: say it. Beyond the first mark peers that hold much are not read, beyond the
  // second they are cut off.
  MemoryBudget::set({.soft_bytes = uint64_t{256} << 20, .hard_bytes = uint64_t{512} << 20});
  // [memory]
  return serve(flags);
}
