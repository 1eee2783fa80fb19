// SPDX-License-Identifier: BSD-3-Clause
// SimOptions: the properties of a SimWorld's network and the probabilities of its faults. SimStats: counts of the
// traffic and of the faults that struck.
#pragma once

#include <chrono>
#include <cstdint>

#include <peal/base/clock.h>

namespace peal {

// The options of a simulated network. Every double is the probability of a fault, from 0 to 1.
struct SimOptions {
  // The travel time of every packet and datagram. Must be > 0, because otherwise time would stand still.
  Duration latency = std::chrono::microseconds(20);
  // The largest random delay that is added to the latency. The delay never changes the order of the bytes of a stream.
  Duration jitter = {};

  // The sizes of the buffers of a stream whose SocketOptions set none. The sender's send buffer plus the receiver's
  // receive buffer limit how many bytes may be sent and not yet read.
  uint32_t send_buffer_bytes = 64 * 1024;
  uint32_t receive_buffer_bytes = 64 * 1024;

  // A stream fails with ETIMEDOUT after this time without an acknowledgement (tcp(7), tcp_retries2).
  Duration give_up = std::chrono::seconds(924);
  // A connect fails with ETIMEDOUT after this time without an answer (tcp(7), tcp_syn_retries).
  Duration connect_give_up = std::chrono::seconds(127);

  double short_read = 0;   // per read: it returns fewer bytes than have arrived
  double short_write = 0;  // per write: it takes fewer bytes than there is room for
  double interrupted = 0;  // per read and write: EINTR, after which the engine tries again
  double again = 0;        // per read and write: EAGAIN without a reason; the engine tries again at most late_by later
  double late = 0;         // per event of a stream: the engine learns of it up to late_by later, after other events
  Duration late_by = std::chrono::milliseconds(1);  // the longest delay by again, late and overtaken_datagram

  double reset = 0;   // per packet: it is lost and both ends get an RST
  double vanish = 0;  // per packet: from then on nothing that either end sends arrives, and neither end gets an error
  double refuse = 0;  // per connect: it fails with ECONNREFUSED
  double unreachable = 0;  // per connect: it fails with EHOSTUNREACH
  double swallow = 0;      // per connect: it gets no answer and fails after connect_give_up
  double no_fd = 0;        // per bind, connect, accept and datagram socket: EMFILE

  double lose_datagram = 0;       // per datagram: it does not arrive
  double double_datagram = 0;     // per datagram: it arrives twice
  double overtaken_datagram = 0;  // per datagram: it arrives up to late_by later, so that others may overtake it

  double disk_error = 0;  // per call of a SimDisk: EIO

  // lose_unsynced and tear_unsynced apply when a SimMachine crashes, to each file with bytes that are not synced.
  double lose_unsynced = 1.0 / 3;  // all bytes that are not synced are lost
  double tear_unsynced = 1.0 / 2;  // if they are not all lost: only the first part of them is kept

  // Returns options with a probability for every fault. A run of some hundred packets meets several faults, but most
  // connections survive.
  static SimOptions hostile();
};

// Counters since the world was made. They count operations, and the faults that struck.
struct SimStats {
  uint64_t connects = 0;  // connects that were started
  uint64_t packets = 0;   // packets of streams that carry bytes
  uint64_t short_reads = 0;
  uint64_t short_writes = 0;
  uint64_t interrupted = 0;
  uint64_t again = 0;
  uint64_t late = 0;
  uint64_t resets = 0;
  uint64_t vanished = 0;
  uint64_t connects_failed = 0;  // connects that a fault made fail
  uint64_t no_fd = 0;
  uint64_t datagrams = 0;
  uint64_t datagrams_lost = 0;  // by a fault, a cut, a full receive buffer, or because no socket has that address
  uint64_t datagrams_doubled = 0;
  uint64_t datagrams_overtaken = 0;
  uint64_t disk_errors = 0;
  uint64_t unsynced_lost = 0;
  uint64_t unsynced_torn = 0;
};

}  // namespace peal
