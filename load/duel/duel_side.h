// SPDX-License-Identifier: BSD-3-Clause
// DuelSide: the connections of one contender during one bout, and what was measured on them. Use it on the thread of
// the duel's loop. The connections run on the generator's threads. Each of these threads has a Lane
// (load/session/lane.h) with its share of the connections.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <load/duel/duel_record.h>
#include <load/session/lane.h>
#include <peal/loop/loop_group.h>

namespace peal::load {

class DuelSide final : public LaneReports {
 public:
  // Prepares connections to options.target, but does not open them. The connections run on the event loops of `group`.
  // The caller must stop these loops before it destroys the DuelSide. `duel` is the loop of the thread that uses the
  // DuelSide.
  DuelSide(const LoadOptions& options, std::unique_ptr<Protocol> protocol, LoopGroup& group, Loop& duel);

  // connect() begins to open all connections and returns immediately. settled() returns true when each connection is
  // open or has failed to open.
  void connect();
  bool settled() const { return settled_ == lanes_.size(); }
  // Stops the attempts to open those connections that are not open yet. Soon after this call, settled() returns true.
  void give_up_connecting();
  // play() starts a slice: the connections send messages from now on. In an open loop, the send schedule begins at the
  // time `start`. In a closed loop, `start` has no effect. One of two functions ends the slice:
  // - pause() stops the sending. In an open loop, messages whose scheduled time has come are still sent. quiet()
  //   returns true when every message is answered and no connection is being opened again.
  // - cut() ends only the record of the slice: the connections continue to send, and later answers are counted in the
  //   next slice. quiet() returns true when all threads have handed over what they recorded in the slice. cut() may be
  //   called only in a closed loop.
  void play(TimePoint start);
  void pause();
  void cut();
  bool quiet() const { return cuts_left_ == 0; }
  // Call take() once after each slice, as soon as quiet() is true. It returns the record of the slice and adds the
  // slice's measurements to `all`.
  SliceRecord take(DuelSideRecord& all);
  // Returns true if no connection can send any more, because each has failed or was given up, and none is opened again.
  bool is_lost() const { return lost_lanes_ == lanes_.size(); }
  // Call leave() when the last slice is over. leave() closes all connections by RST, so that none stays in the state
  // TIME_WAIT. After leave(), stop and join the generator's threads (LoopGroup). Call collect() last, because it reads
  // data that these threads write. collect() adds to `all` the totals that take() has not added, such as the failures.
  void leave();
  void collect(DuelSideRecord& all);

 private:
  template <class Command>
  void tell_all(Command command);
  template <class Command>
  void end_slice(Command command);
  void on_settled(size_t) override { ++settled_; }
  void on_cut(size_t lane, Cut cut) override;
  void on_quiet(size_t) override {}
  void on_out_of_connections(size_t) override { ++lost_lanes_; }

  const LoadOptions options_;
  const std::unique_ptr<Protocol> protocol_;
  LoopGroup& group_;
  const RecordingParts parts_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  size_t settled_ = 0;
  size_t lost_lanes_ = 0;
  size_t cuts_left_ = 0;
  Recording slice_;  // the current slice, summed over all threads of the generator
  Duration longest_{};
  uint64_t offered_ = 0;
  uint64_t resumed_before_ = 0;  // resumed sessions of the layer that take() has already counted
};

// Adds a contender's totals of one restart (`restart`) to its totals of the whole duel (`all`).
void add_restart(const DuelSideRecord& restart, DuelSideRecord& all);

}  // namespace peal::load
