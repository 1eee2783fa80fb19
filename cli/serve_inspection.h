// SPDX-License-Identifier: BSD-3-Clause
// Inspection: what shows a live server's insides, as `peal serve` is asked: a stall watchdog, flight recorders, and a
// page about all that. It lives as long as the loops run; each loop is asked on its own thread.
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
  // `stalls` of 0: no watchdog; `recorded_events` of 0: no flight recorders.
  Result<void> begin(Duration stalls, size_t recorded_events, std::span<Loop* const> loops);
  // Who may act besides this machine has the token of the environment: in a command line anybody could read it.
  // `show_server` adds the server to the page.
  Result<void> show(const std::string& address, const std::function<void(Inspector&)>& show_server,
                    std::span<Loop* const> loops, std::function<void(Server&)> on_drain);

 private:
  std::unique_ptr<StallWatchdog> watchdog_;
  std::unique_ptr<Inspector> inspector_;
};

}  // namespace peal::cli
