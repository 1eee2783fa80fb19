// SPDX-License-Identifier: BSD-3-Clause
// Tracked: what is kept beside a connection that needs more than a plain one: its deadlines, its place among those that
// may be evicted, its peer, the pipe that joins it to another. It belongs to the connection.
#pragma once

#include <cstdint>
#include <memory>

#include <peal/net/connection.h>

namespace peal::detail {

class PipePair;
struct CapEntry;

// A period in which `least` bytes must be moved.
struct ProgressWindow {
  TimePoint since = kNever;  // kNever: none runs
  uint64_t bytes = 0;        // moved until then
  uint64_t least = 0;        // to be moved in it

  bool runs() const { return since != kNever; }
};

struct Tracked {
  TimePoint active{};  // when something arrived or was given to send()
  ProgressWindow read;
  ProgressWindow write;
  uint64_t write_acknowledged = 0;        // when `write` began
  uint64_t moved_bytes = 0;               // out, at the last look
  bool was_queued = false;                // something, at the last look or since
  uint64_t received_at_output_pause = 0;  // Connection::received_bytes() when full output paused receiving last
  size_t gathered_bytes = 0;              // Connection::count_gathered()
  TimePoint due = kNever;                 // when the timer will look
  TimerId timer;
  std::unique_ptr<SocketAddress> peer;
  std::unique_ptr<CapEntry> cap_entry;
  PipePair* pipe_pair = nullptr;  // good while it is piped
};

}  // namespace peal::detail
