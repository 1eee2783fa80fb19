// SPDX-License-Identifier: BSD-3-Clause
// Plain counters of a Server's or Client's connections on one loop.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace peal {

struct NetStats {
  uint64_t opened = 0;  // on_open was due
  uint64_t closed = 0;  // on_close was due
  uint64_t connect_failed = 0;
  // Of accepted connections, before on_open, and of start_layer(): by the peer, or handshake_timeout.
  uint64_t handshakes_failed = 0;
  uint64_t exceptions = 0;     // left a callback; each closed its connection
  uint64_t late_calls = 0;     // through a handle whose connection had gone
  uint64_t memory_pauses = 0;  // times one that held bytes was not read because the process was above its soft mark
  uint64_t memory_closes = 0;  // ended with CloseReason::kMemoryBudget
  uint64_t lost_calls = 0;     // through a handle whose loop refused the post
  uint64_t idle_closes = 0;
  uint64_t slow_closes = 0;   // CloseReason::kReadTooSlow, kWriteTooSlow and kNeitherRead
  uint64_t evicted = 0;       // to make room for another
  uint64_t bad_messages = 0;  // Connection::mark_refused(): CloseReason::kBadMessage, or kTruncated inside a message
  uint64_t refused = 0;  // closed before on_open, the server being full: nobody was idle, or it shook hands for longest
  uint64_t drained = 0;  // ended while the server drained, in time
  uint64_t drain_forced = 0;

  NetStats& operator+=(const NetStats& other) {
    for (uint64_t NetStats::* counter :
         {&NetStats::opened, &NetStats::closed, &NetStats::connect_failed, &NetStats::handshakes_failed,
          &NetStats::exceptions, &NetStats::late_calls, &NetStats::memory_pauses, &NetStats::memory_closes,
          &NetStats::lost_calls, &NetStats::idle_closes, &NetStats::slow_closes, &NetStats::evicted,
          &NetStats::bad_messages, &NetStats::refused, &NetStats::drained, &NetStats::drain_forced}) {
      this->*counter += other.*counter;
    }
    return *this;
  }
};

// What became of the connections that were open, or shook hands, when Server::drain() was called.
struct DrainReport {
  uint64_t finished = 0;    // ended by themselves, the graceful end included
  uint64_t forced = 0;      // cut off: by the deadline, linger_timeout, the write window or the end of the loop
  uint64_t lost_bytes = 0;  // of output, in our queues
  uint64_t lost_in_kernel_bytes = 0;  // sent, and unacknowledged by the peer when it was cut off (SIOCOUTQ)
};

}  // namespace peal
