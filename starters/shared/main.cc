// SPDX-License-Identifier: BSD-3-Clause
// The program: reads the options, serves clients on one loop for each thread, and ends at SIGTERM or SIGINT. The thread
// of main() serves no clients. It runs a loop of its own, which only waits for the signals.
//   first signal    drains: nobody new is accepted, and work in progress may finish until the deadline of --drain
//   second signal   ends at once
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include <peal/base/log.h>
#include <peal/base/memory/memory_budget.h>
#include <peal/inspect/inspector.h>
#include <peal/loop/loop.h>
#include <peal/loop/loop_group.h>
#include <peal/observe/stall_watchdog.h>
#include <peal/process/service_manager.h>

#include "options.h"
#include "service.h"

namespace {

constexpr uint64_t kBytesInMib = 1024 * 1024;

// Raises the soft limit of open fds to the hard limit, because the soft limit is only 1,024 on most systems. Returns
// whether the process may open one fd for each connection, and 100 for everything else.
bool has_enough_fds(size_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= connections + 100;
}

int failed(const std::string& what, std::error_code error) {
  fmt::print(stderr, "my_service: {}: {}\n", what, error.message());
  return 1;
}

// Makes SIGTERM and SIGINT drain the service and then stop `loop`, the loop of main().
peal::Result<void> drain_on_signals(peal::Loop& loop, app::Service& service, const peal::ServiceManager& manager,
                                    std::chrono::seconds deadline) {
  const auto drain = [&loop, &service, &manager, deadline, asked = std::make_shared<bool>()] {
    if (std::exchange(*asked, true)) return loop.stop();
    manager.stopping();
    PEAL_LOG_INFO("draining {} connections, for {} s at most", service.connections(), deadline.count());
    service.drain(deadline, [&loop](const peal::DrainReport& report) {
      PEAL_LOG_INFO("drained: {} finished, {} cut off", report.finished, report.forced);
      loop.stop();
    });
  };
  for (const int number : {SIGTERM, SIGINT}) {
    if (const auto handled = loop.on_signal(number, drain); !handled) return std::unexpected(handled.error());
  }
  return {};
}

int serve(const app::Options& options) {
  peal::Loop loop;
  const size_t processors = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 256);
  auto loops = peal::LoopGroup::start(options.threads > 0 ? options.threads : processors, {}, "my_service");
  if (!loops) return failed("cannot start the threads", loops.error());
  app::Service service(**loops, options.max_connections);
  // Logs the stack of a callback that blocks its loop for more than 100 ms.
  auto watchdog = peal::StallWatchdog::start();
  if (!watchdog) return failed("cannot watch for stalls", watchdog.error());
  for (size_t i = 0; i < (*loops)->size(); ++i) (*watchdog)->watch((**loops)[i]);
  // The inspector has a thread of its own, so it answers even if all other loops hang.
  auto inspector = peal::Inspector::start(options.inspect);
  if (!inspector) return failed("cannot show the inspector at " + options.inspect, inspector.error());
  (*inspector)->add(**watchdog);
  service.show_in(**inspector);

  const peal::ServiceManager manager;  // tells systemd about the start and the end; without systemd it does nothing
  const auto handled = drain_on_signals(loop, service, manager, options.drain);
  if (!handled) return failed("cannot handle signals", handled.error());
  const auto bound = service.listen(options.listen);
  if (!bound) return failed("cannot listen on " + options.listen, bound.error());
  fmt::print("listening on {}, inspected at http://{}/\n", bound->to_string(), (*inspector)->address().to_string());
  std::fflush(stdout);  // otherwise the line stays in the buffer if stdout is a pipe
  manager.ready();
  const auto ran = loop.run();
  return ran ? 0 : failed("cannot run the loop", ran.error());
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = app::read_options(argc, argv);
  if (!options) {
    fmt::print(stderr, "my_service: {}; see my_service --help\n", options.error());
    return 2;
  }
  if (options->help) {
    fmt::print("{}", app::usage());
    return 0;
  }
  if (!has_enough_fds(options->max_connections)) {
    fmt::print(stderr, "my_service: this process may not open fds for {} connections: raise the limit of ulimit -Hn\n",
               options->max_connections);
    return 1;
  }
  // peal does not read the memory limit of a container, so the program sets its own. Above the soft limit a loop reads
  // less and closes its largest connection now and then. Above the hard limit connections that need memory are closed.
  peal::MemoryBudget::set(
      {.soft_bytes = options->memory_mib * kBytesInMib / 2, .hard_bytes = options->memory_mib * kBytesInMib});
  return serve(*options);
}
