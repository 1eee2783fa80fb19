// SPDX-License-Identifier: BSD-3-Clause
// PipePair: the state that two piped connections share. Each connection calls the PipePair for its events. A PipePair
// belongs to the loop of its connections, and deletes itself when both have been released.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include <peal/base/callback.h>
#include <peal/net/parts/connection_set.h>
#include <peal/net/pipe.h>

namespace peal::detail {

class PipePair {
 public:
  // Does the work of pipe(): checks the connections `a` and `b`, and joins them.
  static Result<void> join(Connection& a, Connection& b, const PipeOptions& options,
                           Callback<void(PipeReport)> on_done);

  // Sends input that `from` has received to the other connection.
  void received(Connection& from, Buffer& bytes);
  // Must be called when the output queue of `to` has shrunk to `left_bytes`. If `to` accepts output again, the other
  // connection is read again.
  void drained(Connection& to, size_t left_bytes);
  void peer_ended(Connection& from);
  // Starts or stops the reading of both connections, as their states require now.
  void start_or_stop_reading();
  // Must be called when `side` begins to end. `hard` is true if `side` ends by an error or a reset. Ends the other
  // connection too.
  void ended(Connection& side, bool hard);
  // Returns how many bytes the pipe has moved so far, in both directions together.
  uint64_t moved_bytes();
  // Adds the bytes that the engine has spliced to the counters of both connections. Must be called while the streams of
  // both exist.
  void count_spliced();
  // Must be called when a connection of the pipe was released. The second call deletes this object.
  void side_released(Connection& side);

 private:
  struct Side {
    Connection* connection;  // null after the connection was released
    std::shared_ptr<ConnectionSet> set;
    bool forwarding = false;      // the engine moves this connection's input by splice(2)
    uint64_t received_bytes = 0;  // input that was passed on to the other side
    uint64_t spliced_bytes = 0;   // the part of received_bytes that was spliced
  };

  PipePair(Connection& a, Connection& b, bool splice, Callback<void(PipeReport)> on_done);
  void start();
  void start_or_stop_reading(Side& from, const Side& to);
  size_t index_of(const Connection& side) const { return sides_[0].connection == &side ? 0 : 1; }
  Side& other(const Connection& side) { return sides_[1 - index_of(side)]; }

  std::array<Side, 2> sides_;
  bool splice_;
  Callback<void(PipeReport)> on_done_;
  // Drains whose deadline has cut off the pipe. This object keeps them so that they call their on_done only after the
  // pipe's on_done was called.
  std::vector<std::shared_ptr<Drain>> drains_;
};

}  // namespace peal::detail
