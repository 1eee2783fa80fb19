// SPDX-License-Identifier: BSD-3-Clause
// PipePair: what two piped connections share. Each tells it what happens to it; it lives until the later of the two is
// released. Belongs to their loop.
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
  static Result<void> join(Connection& a, Connection& b, const PipeOptions& options,
                           Callback<void(PipeReport)> on_done);

  void received(Connection& from, Buffer& bytes);
  // Its output has moved on.
  void drained(Connection& to, size_t left_bytes);
  void peer_ended(Connection& from);
  // Both directions are read, or not, as they should be now.
  void start_or_stop_reading();
  // One begins to end; `hard`: by an error or a reset.
  void ended(Connection& side, bool hard);
  // In both directions, as of now.
  uint64_t moved_bytes();
  // Takes what was spliced into the counters of both; while their streams still live.
  void count_spliced();
  // It was released. The second time deletes this.
  void side_released(Connection& side);

 private:
  struct Side {
    Connection* connection;  // null once it is gone
    std::shared_ptr<ConnectionSet> set;
    bool forwarding = false;      // the engine moves what it receives
    uint64_t received_bytes = 0;  // passed on from here
    uint64_t spliced_bytes = 0;   // of those, by the engine
  };

  PipePair(Connection& a, Connection& b, bool splice, Callback<void(PipeReport)> on_done);
  void start();
  void start_or_stop_reading(Side& from, const Side& to);
  size_t index_of(const Connection& side) const { return sides_[0].connection == &side ? 0 : 1; }
  Side& other(const Connection& side) { return sides_[1 - index_of(side)]; }

  std::array<Side, 2> sides_;
  bool splice_;
  Callback<void(PipeReport)> on_done_;
  std::vector<std::shared_ptr<Drain>> drains_;  // that have cut it off; they report after on_done_
};

}  // namespace peal::detail
