// SPDX-License-Identifier: BSD-3-Clause
// ConnectionsView: the connections of one server on one loop, for whoever looks in from outside (peal/inspect).
//
// Server::views() gives one for each loop. Copyable; any thread may keep it, and for longer than the server: then it
// shows nothing. What is said of connections is asked on the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <peal/loop/mailbox.h>
#include <peal/net/connection_facts.h>
#include <peal/net/net_stats.h>
#include <peal/observe/flight_recorder.h>

namespace peal {

namespace detail {
class ConnectionSet;
}

enum class EndHow : uint8_t {
  kDrain,  // as when its server drains: once what is under way is done
  kAbort,  // at once, by RST
};

class ConnectionsView {
 public:
  explicit ConnectionsView(std::shared_ptr<detail::ConnectionSet> set) : set_(std::move(set)) {}

  // Any thread.
  const std::shared_ptr<Mailbox>& mailbox() const;
  // Open, being handed over or shaking hands. Any thread.
  size_t count() const;

  // The rest: on the loop's thread.
  NetStats stats() const;
  // Of ConnectionOptions::layer, with all who use it; nothing without one, and once the server is gone.
  std::optional<LayerStats> layer_stats() const;
  // At most `most`, those with the most queued bytes first. A look at all of them, a few system calls for each told.
  std::vector<ConnectionFacts> list(size_t most) const;
  std::optional<ConnectionFacts> find(uint32_t slot, uint32_t generation) const;
  // What the loop's flight recorder still has of it, oldest first; also of one that has ended. Nothing without one.
  std::vector<FlightEvent> flight(uint32_t slot, uint32_t generation, size_t most) const;
  // False: there is no such connection any more.
  bool end(uint32_t slot, uint32_t generation, EndHow how) const;

 private:
  std::shared_ptr<detail::ConnectionSet> set_;
};

}  // namespace peal
