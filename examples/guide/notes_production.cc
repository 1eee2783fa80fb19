// SPDX-License-Identifier: BSD-3-Clause
// Page 8 of the guide: the notebook over HTTP, ready for production. `notes_production --help` prints its flags. At the
// first SIGTERM the program finishes the requests in progress, and then ends. At a second SIGTERM, or at SIGINT, it
// ends immediately.
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
  bool debug = false;  // adds two routes whose answers take two seconds
};

constexpr std::string_view kUsage =
    "notes_production [--listen ADDRESS] [--inspect ADDRESS] [--drain SECONDS] [--max-connections N] [--debug]\n"
    "The environment variable NOTES_TOKEN holds the token that a client needs to delete notes.\n";

// Reads the flags. Returns false if they are wrong, or if the help was asked for.
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

// Quoted in docs: [fds]
// Raises the soft limit of open fds to the hard limit, because the soft limit is only 1,024 on most systems. The
// administrator sets the hard limit. Returns true if the process may now open one fd for each connection, and 100 for
// everything else.
bool has_enough_fds(size_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= connections + 100;
}
// End of quote: [fds]

// Quoted in docs: [options]
HttpServerOptions options(const Flags& flags) {
  HttpServerOptions options;
  options.max_connections = flags.max_connections;
  options.max_connections_per_address = std::max<size_t>(flags.max_connections / 10, 1);
  options.answer_timeout = seconds(10);   // no handler here needs longer; the default is 60 s
  options.limits.body_bytes = 16 * 1024;  // no request here has a longer body; the default is 1 MiB
  return options;
}
// End of quote: [options]

// Quoted in docs: [stall]
// Blocks the loop for two seconds. A real handler must never do this, because all other clients of the loop wait.
void stall(HttpExchange& exchange) {
  const TimePoint end = monotonic_now() + seconds(2);
  while (monotonic_now() < end) continue;
  exchange.respond(200, "text/plain", "that was long\n");
}

// Answers after two seconds without blocking the loop. The loop serves other clients while this coroutine sleeps.
Task<> wait(HttpExchange& exchange) {
  exchange.begin(200, "text/plain");
  exchange.write("one moment\n");
  co_await sleep(seconds(2));
  exchange.write("done\n");
  exchange.end();
}
// End of quote: [stall]

int failed(std::string_view what, std::error_code error) {
  PEAL_LOG_ERROR("{}: {}", what, error.message());
  return 1;
}

// Quoted in docs: [drain]
// Handles SIGTERM. The first SIGTERM drains the server, so that requests in progress can finish. Connections that are
// still open after `deadline` are cut off. The loop stops when all connections have ended. A second SIGTERM stops the
// loop immediately.
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
// End of quote: [drain]

int serve(const Flags& flags) {
  const char* token = std::getenv("NOTES_TOKEN");
  NotesApi api(token != nullptr ? token : "");
  Router router;
  api.add_routes(router);
  router.get("/healthz", [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "ok\n"); });
  if (flags.debug) router.get("/debug/stall", stall);
  if (flags.debug) router.get("/debug/wait", wait);

  // Quoted in docs: [watched]
  set_current_thread_name("notes");  // this name is shown by the log, top -H and the inspector
  Loop loop;
  loop.enable_flight_recorder(4096);
  HttpServer server(loop, std::move(router), options(flags));
  auto watchdog = StallWatchdog::start();
  if (!watchdog) return failed("cannot watch for stalls", watchdog.error());
  (*watchdog)->watch(loop);
  auto inspector = Inspector::attach(server, flags.inspect, {.name = "notes"});
  if (!inspector) return failed("cannot show a page at " + flags.inspect, inspector.error());
  (*inspector)->add(**watchdog);
  // End of quote: [watched]

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
  if (!read_flags(argc, argv, flags)) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  if (!has_enough_fds(flags.max_connections)) {
    fmt::print(stderr, "this process may not open fds for {} connections: see ulimit -Hn\n", flags.max_connections);
    return 1;
  }
  // Quoted in docs: [memory]
  // peal does not read the memory limit of a container, so the program sets its own limits. Above the soft limit, a
  // loop that allocates memory stops reading its connections that hold bytes. After each five seconds above the soft
  // limit, that loop closes its largest connection. Above the hard limit, a connection that needs more memory is
  // closed. A loop that allocates memory above the hard limit also closes its largest connections.
  MemoryBudget::set({.soft_bytes = uint64_t{256} << 20, .hard_bytes = uint64_t{512} << 20});
  // End of quote: [memory]
  return serve(flags);
}
