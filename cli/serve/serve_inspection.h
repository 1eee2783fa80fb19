// SPDX-License-Identifier: BSD-3-Clause
// Inspection shows what a running `peal serve` does. It has a watchdog for callbacks that block, flight recorders, and
// a page about the server. It must not be destroyed before all loops have ended, because each loop collects its figures
// on its own thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/inspect/inspector.h>
#include <peal/loop/loop.h>
#include <peal/net/server.h>
#include <peal/observe/stall_watchdog.h>

namespace peal::cli {

class Inspection {
 public:
  // Starts a watchdog that logs callbacks which block a loop. The watchdog finds every callback that blocks for at
  // least 1.5 times `stalls`. It finds a callback that blocks for a shorter time only by chance. If `stalls` is 0, no
  // watchdog is started.
  //
  // Starts a flight recorder for each loop. A flight recorder keeps at least the last `recorded_events` events of its
  // loop. If `recorded_events` is 0, no flight recorder is started.
  Result<void> begin(Duration stalls, size_t recorded_events, std::span<Loop* const> loops);
  // Starts the web page of the inspector at `address`. `show_server` adds the server to the page. `on_drain` is
  // described at InspectorOptions::on_drain.
  //
  // A client can change something on the page, for example drain the server. The environment variable
  // PEAL_INSPECT_TOKEN holds the token that a client must send with a change. If the variable is not set, only clients
  // on this machine may make changes. The token is not passed as a command-line option, because every user of the
  // machine can read a command line.
  Result<void> show(const std::string& address, const std::function<void(Inspector&)>& show_server,
                    std::span<Loop* const> loops, std::function<void(Server&)> on_drain);

 private:
  std::unique_ptr<StallWatchdog> watchdog_;
  std::unique_ptr<Inspector> inspector_;
};

}  // namespace peal::cli
