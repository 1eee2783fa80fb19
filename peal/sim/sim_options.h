// SPDX-License-Identifier: BSD-3-Clause
// SimOptions: how a SimWorld's network is, and what goes wrong in it how often; SimStats: how often it did.
#pragma once

#include <chrono>
#include <cstdint>

#include <peal/base/clock.h>

namespace peal {

// Probabilities are from 0 to 1.
struct SimOptions {
  Duration latency = std::chrono::microseconds(20);  // of everything that is sent; > 0, or time would stand still
  Duration jitter = {};                              // up to this much more; never against a stream's order
  uint32_t send_buffer_bytes = 64 * 1024;            // unless SocketOptions tell; with the peer's receive buffer it
  uint32_t receive_buffer_bytes = 64 * 1024;         // bounds what is sent and not yet read
  Duration give_up = std::chrono::seconds(924);  // ETIMEDOUT for who hears no acknowledgement (tcp(7), tcp_retries2)
  Duration connect_give_up = std::chrono::seconds(127);  // the same for connecting (tcp(7), tcp_syn_retries)

  double short_read = 0;   // of each: less is read than is there
  double short_write = 0;  // of each: less is taken than there is room for
  double interrupted = 0;  // of each read and write: EINTR, tried again
  double again = 0;        // of each read and write: EAGAIN although it could go on; it can a little later
  double late = 0;         // of each completion: told up to late_by later, others overtake it
  Duration late_by = std::chrono::milliseconds(1);
  double reset = 0;               // of each packet: both ends are told RST instead
  double vanish = 0;              // of each packet: from now on nothing arrives, and neither end is told
  double refuse = 0;              // of each connect: ECONNREFUSED
  double unreachable = 0;         // of each connect: EHOSTUNREACH
  double swallow = 0;             // of each connect: no answer until connect_give_up
  double no_fd = 0;               // of each bind, connect, accept and datagram socket: EMFILE
  double lose_datagram = 0;       // of each
  double double_datagram = 0;     // of each
  double overtaken_datagram = 0;  // of each: up to late_by later
  double disk_error = 0;          // of each call of a SimDisk: EIO

  // Asked only when a SimMachine crashes, of each file that was not synced.
  double lose_unsynced = 1.0 / 3;  // what was not synced is gone
  double tear_unsynced = 1.0 / 2;  // of the others: only a front part of it is kept

  // All of them, so that a run of some hundred packets meets several and most connections still live.
  static SimOptions hostile();
};

// How often the world did so.
struct SimStats {
  uint64_t connects = 0;  // asked for
  uint64_t packets = 0;   // of streams, with bytes
  uint64_t short_reads = 0;
  uint64_t short_writes = 0;
  uint64_t interrupted = 0;
  uint64_t again = 0;
  uint64_t late = 0;
  uint64_t resets = 0;
  uint64_t vanished = 0;
  uint64_t connects_failed = 0;  // by a fault
  uint64_t no_fd = 0;
  uint64_t datagrams = 0;
  uint64_t datagrams_lost = 0;  // a full receive buffer included
  uint64_t datagrams_doubled = 0;
  uint64_t datagrams_overtaken = 0;
  uint64_t disk_errors = 0;
  uint64_t unsynced_lost = 0;
  uint64_t unsynced_torn = 0;
};

}  // namespace peal
