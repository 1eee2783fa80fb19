// SPDX-License-Identifier: BSD-3-Clause
// Tracked: the data of a connection that needs more than a plain one. It holds the deadlines, the entry among the
// connections that may be evicted, the peer's address, and the pipe that joins it to another connection. The connection
// owns it.
#pragma once

#include <cstdint>
#include <memory>

#include <peal/net/connection.h>

namespace peal::detail {

class PipePair;
struct CapEntry;

// The state of a read window or a write window. While the window runs, the peer must send or take at least `least`
// bytes. Otherwise the connection is reset when the window ends.
struct ProgressWindow {
  TimePoint since = kNever;  // start of the period; kNever if none is running
  uint64_t bytes = 0;        // moved in total when the period began
  uint64_t least = 0;        // to be moved within the period

  bool runs() const { return since != kNever; }
};

struct Tracked {
  TimePoint active{};  // when bytes last arrived or were given to send()
  ProgressWindow read;
  ProgressWindow write;
  uint64_t write_acknowledged = 0;  // acknowledged_bytes() when `write` began
  uint64_t moved_bytes = 0;         // bytes that had left or passed the pipe at the last check
  bool was_queued = false;          // output was queued at the last check or later
  // The value of Connection::received_bytes() when queued output last paused receiving.
  uint64_t received_at_output_pause = 0;
  size_t gathered_bytes = 0;  // set by Connection::count_gathered()
  TimePoint due = kNever;     // when the timer runs check_deadlines()
  TimerId timer;
  std::unique_ptr<SocketAddress> peer;
  std::unique_ptr<CapEntry> cap_entry;
  // The pipe that the connection is in: set from the joining of the pipe until the connection is released.
  PipePair* pipe_pair = nullptr;
};

}  // namespace peal::detail
