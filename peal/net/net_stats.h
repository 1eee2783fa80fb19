// SPDX-License-Identifier: BSD-3-Clause
// NetStats: plain counters of the connections that a Server or Client has on one loop.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace peal {

struct NetStats {
  uint64_t opened = 0;  // connections that have opened (on_open)
  uint64_t closed = 0;  // connections that have ended after they had opened (on_close)
  uint64_t connect_failed = 0;
  // Handshakes that failed or took longer than handshake_timeout, either of an accepted connection before on_open or
  // after start_layer().
  uint64_t handshakes_failed = 0;
  // Exceptions that a callback threw. Each exception ended the connection that the callback was called for.
  uint64_t exceptions = 0;
  // Calls through a ConnectionHandle whose connection had ended.
  uint64_t late_calls = 0;
  // Times that a connection was paused because it held memory and the process was above its soft mark
  // (memory_budget.h).
  uint64_t memory_pauses = 0;
  // Connections that ended with CloseReason::kMemoryBudget.
  uint64_t memory_closes = 0;
  // Calls through a ConnectionHandle, and accepted streams, that were refused because the loop's mailbox took no more
  // tasks or because memory was short.
  uint64_t lost_calls = 0;
  uint64_t idle_closes = 0;
  uint64_t slow_closes = 0;  // kReadTooSlow, kWriteTooSlow and kNeitherRead
  uint64_t evicted = 0;      // open connections that were closed to make room for new ones
  // Connections for which Connection::mark_refused() was called, because the peer sent a bad message or ended inside a
  // message.
  uint64_t bad_messages = 0;
  // Accepted connections that were closed before on_open because the server was full. Either no other connection was
  // idle, or the counted connection was in its handshake and was itself evicted for a still newer connection.
  uint64_t refused = 0;
  uint64_t drained = 0;  // connections that ended during a drain, but not by force
  // Connections that were ended by force during a drain: at the drain's deadline, by linger_timeout, by write_window,
  // or because the loop ended.
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

// Counts the connections that ended during a drain (Server::drain()), and the output that was lost.
struct DrainReport {
  uint64_t finished = 0;  // connections that ended by themselves or gracefully
  uint64_t forced = 0;    // connections that the deadline, linger_timeout, write_window or the end of the loop cut off
  // Bytes of output that were still in peal's queues when their connection was cut off.
  uint64_t lost_bytes = 0;
  // Bytes of output that the kernel had taken and the peer had not acknowledged when their connection was cut off
  // (SIOCOUTQ).
  uint64_t lost_in_kernel_bytes = 0;
};

}  // namespace peal
