// SPDX-License-Identifier: BSD-3-Clause
// PipePair: the state that two piped connections share. Each connection calls it for every event of its own. It belongs
// to their loop, and deletes itself when the second of them is released.
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
  // Checks and joins `a` and `b`; see pipe().
  static Result<void> join(Connection& a, Connection& b, const PipeOptions& options,
                           Callback<void(PipeReport)> on_done);

  // Sends input of `from` to the other side.
  void received(Connection& from, Buffer& bytes);
  // Must be called when the output of `to` has shrunk to `left_bytes`: the other side may be read again.
  void drained(Connection& to, size_t left_bytes);
  void peer_ended(Connection& from);
  // Starts or stops reading of both sides, as their states require now.
  void start_or_stop_reading();
  // Must be called when one side begins to end; `hard` is true if it ends by an error or a reset. Ends the other side
  // too.
  void ended(Connection& side, bool hard);
  // Returns how many bytes were moved in both directions so far.
  uint64_t moved_bytes();
  // Adds the bytes that were spliced to the counters of both connections. Must be called while their streams exist.
  void count_spliced();
  // Must be called when a side was released. The second call deletes this object.
  void side_released(Connection& side);

 private:
  struct Side {
    Connection* connection;  // null after it was released
    std::shared_ptr<ConnectionSet> set;
    bool forwarding = false;      // the engine moves its input by splice(2)
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
  // Drains that have cut the pipe off. They are held, so that they report only after on_done.
  std::vector<std::shared_ptr<Drain>> drains_;
};

}  // namespace peal::detail
