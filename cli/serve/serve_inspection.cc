// SPDX-License-Identifier: BSD-3-Clause
#include <cli/serve/serve_inspection.h>

#include <cstdlib>
#include <utility>

#include <peal/base/log.h>

namespace peal::cli {

Result<void> Inspection::begin(Duration stalls, size_t recorded_events, std::span<Loop* const> loops) {
  if (stalls > Duration::zero()) {
    auto started = StallWatchdog::start({.threshold = stalls});
    if (!started) return std::unexpected(started.error());
    watchdog_ = std::move(*started);
  }
  for (Loop* loop : loops) {
    if (watchdog_) watchdog_->watch(*loop);
    if (recorded_events == 0) continue;
    loop->post([loop, recorded_events] { loop->enable_flight_recorder(recorded_events); });
  }
  return {};
}

Result<void> Inspection::show(const std::string& address, const std::function<void(Inspector&)>& show_server,
                              std::span<Loop* const> loops, std::function<void(Server&)> on_drain) {
  const char* token = std::getenv("PEAL_INSPECT_TOKEN");
  auto started = Inspector::start(address, {.token = token != nullptr ? token : "", .on_drain = std::move(on_drain)});
  if (!started) return std::unexpected(started.error());
  inspector_ = std::move(*started);
  show_server(*inspector_);
  for (Loop* loop : loops) inspector_->add(*loop);
  if (watchdog_) inspector_->add(*watchdog_);
  PEAL_LOG_INFO("the inspector listens on {}", inspector_->address().to_string());
  return {};
}

}  // namespace peal::cli
